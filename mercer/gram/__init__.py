"""Gram matrices: the kernel on a sample, as an operator with a storage."""

from mercer.gram.base import CenteredGram, Centering, Gram, center_rows, fresh_array
from mercer.gram.cached import CachedGram
from mercer.gram.choose import gram
from mercer.gram.combine import combine_rows
from mercer.gram.pairs import PairBlocks
from mercer.gram.storages import BlockedGram, DenseGram, PrecomputedGram, TriangleGram

__all__ = [
    "BlockedGram",
    "CachedGram",
    "CenteredGram",
    "Centering",
    "DenseGram",
    "Gram",
    "PairBlocks",
    "PrecomputedGram",
    "TriangleGram",
    "center_rows",
    "combine_rows",
    "fresh_array",
    "gram",
]
