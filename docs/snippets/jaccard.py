"""A kernel on objects of one's own: the whole of it."""

import numpy as np

from mercer.kernels import Kernel


class Jaccard(Kernel):
    """Jaccard kernel of sets k(x, y) = |x ∩ y| / |x ∪ y|: the share of what two have in common."""

    @property
    def definiteness(self):
        return "psd"

    def _fill(self, pair, out):
        sets = pair.derive("sets", lambda rows: [frozenset(row) for row in rows])
        for i, x in enumerate(sets.X.data):
            out[i] = [len(x & y) / max(len(x | y), 1) for y in sets.Y.data]

    def _diagonal(self, X):
        sets = X.derive("sets", lambda rows: [frozenset(row) for row in rows])
        return np.array([float(len(x) > 0) for x in sets.data])
