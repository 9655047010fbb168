"""From the columns of a table and their states to one matrix; sparse tables stay sparse."""

from __future__ import annotations

import itertools
import warnings
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import check_array

from mercer._words import count, hint, listing
from mercer.tables.columns import READABLE_SHARE, Column
from mercer.tables.frames import Table
from mercer.tables.kinds import KINDS
from mercer.tables.numeric import State

SPARSE_TERMS = 200
"""With more terms than this the matrix is sparse: nearly all weights of words are 0."""


def used(states: list[State]) -> list[State]:
    """Return the states of the columns that are not left out."""
    return [state for state in states if state["kind"] in KINDS]


def is_wide(states: list[State]) -> bool:
    """Whether the texts have so many terms that the matrix is sparse."""
    return sum(len(state["terms"]) for state in states if "terms" in state) > SPARSE_TERMS


def feature_names(states: list[State]) -> list[str]:
    """Return the names of the columns of the matrix, all different."""
    return _distinct([name for s in used(states) for name in KINDS[s["kind"]].features(s)])


def read_by_name(table: Table, states: list[State]) -> list[Column]:
    """Return the columns that are used, wherever they stand."""
    names = table.names or []
    place = {name: i for i, name in enumerate(names)}
    needed = [state["name"] for state in used(states)]
    gone = [name for name in needed if name not in place]
    if gone:
        what = f"the column {gone[0]!r}" if len(gone) == 1 else f"the columns {listing(gone)}"
        also = hint(gone[0], names)
        raise ValueError(f"the table lacks {what}, which the model learned from; {also}")
    return [table.read(place[name], name) for name in needed]


def encode(states: list[State], columns: list[Column], sparse: bool) -> tuple[Any, dict[str, int]]:
    """Return the matrix and how many values of each column could not be read."""
    pairs = zip(used(states), columns, strict=True)
    encoded = [(state["name"], *KINDS[state["kind"]].encode(state, c)) for state, c in pairs]
    return _join([block for _, block, _ in encoded], sparse), {n: u for n, _, u in encoded if u}


def _join(blocks: list[Any], sparse: bool) -> Any:
    if sparse:
        return sp.hstack([sp.csr_array(block) for block in blocks], format="csr")
    return np.hstack([block.toarray() if sp.issparse(block) else block for block in blocks])


def warn_of_unread(states: list[State], unread: dict[str, int], n_rows: int) -> None:
    """Warn of values that could not be read, where fit met none or they are many."""
    for state in used(states):
        n = unread.get(state["name"], 0)
        if n > (1.0 - READABLE_SHARE) * n_rows or (n and not state.get("unread")):
            warnings.warn(
                f"{count(n, 'value')} of column {state['name']!r} could not be read as a "
                f"{state['kind']} and {'is' if n == 1 else 'are'} taken as missing",
                UserWarning,
                stacklevel=3,
            )


def _distinct(names: list[str]) -> list[str]:
    """Return the names, with a number after those that were there before."""
    taken: dict[str, None] = {}
    for name in names:
        again = (f"{name} ({i})" for i in itertools.count(2))
        taken[name if name not in taken else next(n for n in again if n not in taken)] = None
    return list(taken)


# ---------------------------------------------------------------- sparse tables
def learn_sparse(X: Any) -> State:
    """Return the largest |value| of each column, 1 for a column of zeros."""
    X = _checked(X)
    largest = np.asarray(abs(X).max(axis=0).toarray(), dtype=np.float64).ravel()
    return {
        "name": "all columns",
        "kind": "sparse",
        "words": f"{count(X.shape[1], 'sparse column')} divided by the largest absolute value",
        "largest": np.where(largest > 0, largest, 1.0),
    }


def encode_sparse(state: State, X: Any) -> sp.csr_array:
    """Return X with every column in [−1, 1]."""
    scaled = sp.csr_array(_checked(X), dtype=np.float64, copy=True)
    scaled.data /= state["largest"][scaled.indices]
    return scaled


def _checked(X: Any) -> sp.csr_array:
    if not sp.issparse(X):
        X = sp.csr_array(check_array(X, dtype=np.float64, input_name="X"))
    return sp.csr_array(check_array(X, accept_sparse="csr", dtype="numeric", input_name="X"))
