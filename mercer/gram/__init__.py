"""Gram matrices: the kernel on a sample, as an operator with a storage."""

from mercer.gram.base import (
    SINGLE_RANGE,
    CenteredGram,
    Centering,
    Gram,
    center_rows,
    fresh_array,
    require_finite,
)
from mercer.gram.choose import gram
from mercer.gram.combine import PairBlocks, combine_rows
from mercer.gram.storages import BlockedGram, CachedGram, DenseGram, PrecomputedGram, TriangleGram

__all__ = [
    "SINGLE_RANGE",
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
    "require_finite",
]
