"""Docstrings write |x| as on paper; in reStructuredText that would be a substitution."""

import re

BARS = re.compile(r"(?<![\\`|])\|(?=\S)([^|`]*)\|(?!\|)")


def escape_bars(app, what, name, obj, options, lines):
    lines[:] = [BARS.sub(r"\\|\1\\|", line) for line in lines]


def setup(app):
    app.connect("autodoc-process-docstring", escape_bars, priority=900)  # after numpydoc
    return {"parallel_read_safe": True, "parallel_write_safe": True}
