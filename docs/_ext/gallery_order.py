"""The order of the examples: what the others build upon first, then by name."""

FIRST = ["plot_kernels_1d.py"]


class BasicsFirst:
    """Sort key for sphinx-gallery."""

    def __init__(self, src_dir):
        self.src_dir = src_dir

    def __call__(self, filename):
        rank = FIRST.index(filename) if filename in FIRST else len(FIRST)
        return rank, filename
