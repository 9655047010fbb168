"""What must hold of objects of scikit-learn before they are used.

Some of them build sparse tables from numbers in their state, and neither they nor SciPy look
whether these numbers lie within the table: compiled code then writes where they point to. Others
divide by a parameter. What only Python and NumPy read is taken as it is.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from sklearn.feature_extraction import DictVectorizer, FeatureHasher
from sklearn.feature_extraction.text import CountVectorizer, HashingVectorizer
from sklearn.preprocessing import MultiLabelBinarizer, OneHotEncoder

from mercer._state import Integers, Labels, Lengths, StateError, check_parameters


def check_foreign(made: Any) -> None:
    """Raise `StateError` if an object of scikit-learn would lead compiled code astray."""
    for cls, check in _CHECKS.items():
        if isinstance(made, cls):
            check(made)


# ---------------------------------------------------------------- columns of words
def _numbers_columns(name: str) -> Callable[[Any], None]:
    """Return a check that a mapping gives its keys the columns 0, 1, …, each once."""

    def check(made: Any) -> None:
        columns = vars(made).get(name)
        if columns is None:  # not fitted
            return
        given = columns.values() if isinstance(columns, Mapping) else ()
        numbers = [int(v) for v in given if isinstance(v, (int, np.integer))]
        if not isinstance(columns, Mapping) or sorted(numbers) != list(range(len(columns))):
            raise StateError(f"{type(made).__name__}.{name} must number its columns 0, 1, …")

    return check


# ---------------------------------------------------------------- columns of levels
def _check_levels(encoder: OneHotEncoder) -> None:
    """Check that each column has as many outputs as it has levels, less what is dropped."""
    state = vars(encoder)
    if "categories_" not in state:  # not fitted
        return
    count = len(state["categories_"])
    drop = state.get("_drop_idx_after_grouping")
    rare, groups = state.get("_infrequent_indices"), state.get("_default_to_infrequent_mappings")
    columns = [_column_of(part, count) for part in (drop, rare, groups)]
    found = [
        _outputs(levels, *parts)
        for levels, *parts in zip(state["categories_"], *columns, strict=True)
    ]
    if list(state["_n_features_outs"]) != found or state["n_features_in_"] != count:
        raise StateError(f"OneHotEncoder must have {found} columns for its levels")


def _column_of(part: Any, count: int) -> list[Any]:
    """Return what a list says of each column; None says nothing of any."""
    columns = [None] * count if part is None else list(part)
    if len(columns) != count:
        raise StateError(f"OneHotEncoder must say something of {count} columns")
    return columns


def _outputs(levels: Any, drop: Any, rare: Any, groups: Any) -> int:
    """Return the number of outputs of a column."""
    lengths: Lengths = {}
    Labels("levels").check(levels, lengths)
    if levels.dtype.kind not in "OUS" and (levels[1:] < levels[:-1]).any():
        raise StateError("OneHotEncoder.categories_ must rise")  # they are searched by halves
    if (rare is None) != (groups is None):
        raise StateError("OneHotEncoder must group rare levels, or have none")
    lengths["outputs"] = len(levels)
    if groups is not None:
        Integers("rare", below="levels").check(rare, lengths)
        Integers("levels", below="levels").check(groups, lengths)
        lengths["outputs"] = int(groups.max(initial=-1)) + 1
    if drop is not None:
        Integers(below="outputs").check(drop, lengths)
    return (lengths["outputs"] or 0) - (drop is not None)


_CHECKS: dict[type, Callable[[Any], None]] = {
    CountVectorizer: _numbers_columns("vocabulary_"),
    DictVectorizer: _numbers_columns("vocabulary_"),
    MultiLabelBinarizer: _numbers_columns("_cached_dict"),
    OneHotEncoder: _check_levels,
    FeatureHasher: check_parameters,
    HashingVectorizer: check_parameters,
}
