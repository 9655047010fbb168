"""All monomials of rows: a tree in which a child has one factor more than its parent."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from mercer._compiled import compiled


class Tree(NamedTuple):
    """The monomials of fewer than ``degree`` factors, level by level.

    The children of x_i…x_j are x_i…x_j x_j, x_i…x_j x_{j+1}, …: neighbours in the order of all
    monomials, so that one number says where they begin.
    """

    last: np.ndarray  # the last factor
    run: np.ndarray  # how often it occurs
    level: np.ndarray  # how many factors there are
    first_child: np.ndarray  # the number of the first child among all monomials

    @property
    def size(self) -> int:
        return len(self.last)


def grow(d: int, degree: int) -> Tree:
    """Return the tree of monomials in d variables that have children: fewer than ``degree``."""
    last, run = np.array([0]), np.array([0])
    lasts, runs, levels, firsts, start = [], [], [], [], 1
    for q in range(degree):
        widths = d - last
        firsts.append(start + np.cumsum(widths) - widths)
        lasts.append(last)
        runs.append(run)
        levels.append(np.full(len(last), q))
        start += int(widths.sum())
        if q < degree - 1:  # the last level has no children: it is never listed
            last, run = _children(last, run, widths)
    parts = (np.concatenate(part or [last[:0]]) for part in (lasts, runs, levels, firsts))
    return Tree(*(part.astype(np.int64) for part in parts))


def _children(
    last: np.ndarray, run: np.ndarray, widths: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    begins = np.repeat(np.cumsum(widths) - widths, widths)
    offset = np.arange(int(widths.sum())) - begins
    return np.repeat(last, widths) + offset, np.where(offset == 0, np.repeat(run, widths) + 1, 1)


def expand_dense(X: np.ndarray, tree: Tree, degree: int, scale: float, bias: float) -> np.ndarray:
    """Return the weighted monomials of dense rows, shape (m, p)."""
    weights = level_weights(degree, bias)
    total = count_all(tree, X.shape[1])
    skip = 0 if bias else tree.size
    out = np.empty((X.shape[0], total - skip), X.dtype)
    _fill_dense(X, *tree, degree, scale, weights, skip, out)
    return out


def expand_sparse(X: Any, tree: Tree, degree: int, scale: float, bias: float) -> sp.csr_array:
    """Return the weighted monomials of sparse rows: products of nonzeros alone."""
    X = X.copy() if not X.has_canonical_format else X
    X.sum_duplicates()
    lowest, skip = (0, 0) if bias else (degree, tree.size)
    counts = np.empty(X.shape[0], np.int64)
    indptr, indices = X.indptr.astype(np.int64), X.indices.astype(np.int64)
    count_sparse(indptr, degree, lowest, counts)
    starts = np.concatenate([[0], np.cumsum(counts)])
    columns, values = np.empty(starts[-1], np.int64), np.empty(starts[-1], X.dtype)
    nodes = (tree.last, tree.run, tree.first_child)
    weights = level_weights(degree, bias)
    fill_sparse(
        indptr,
        indices,
        X.data,
        *nodes,
        degree,
        scale,
        weights,
        lowest,
        skip,
        starts,
        columns,
        values,
    )
    shape = (X.shape[0], count_all(tree, X.shape[1]) - skip)
    return sp.csr_array((values, columns, starts), shape=shape)


def count_all(tree: Tree, d: int) -> int:
    """Return the number of monomials of up to ``degree`` factors."""
    return int(tree.first_child[-1] + d - tree.last[-1]) if tree.size else 1


def level_weights(degree: int, bias: float) -> np.ndarray:
    """Return √c^(n−q) for q = 0, …, n."""
    return np.array([np.sqrt(float(bias) ** (degree - q)) for q in range(degree + 1)])


@compiled()
def _fill_dense(
    X: Any,
    last: Any,
    run: Any,
    level: Any,
    first_child: Any,
    degree: int,
    scale: float,
    weights: Any,
    skip: int,
    out: Any,
) -> None:
    """Write the monomials of each row; those that have children are kept in float64."""
    d, inner = X.shape[1], len(last)
    value = np.empty(max(inner, 1))
    for i in range(X.shape[0]):
        value[0] = 1.0
        for j in range(inner):
            q = level[j]
            # a factor more: √(n!/(α!(n−q)!) s^q) of the child over that of its parent
            step = value[j] * np.sqrt((degree - q) * scale)
            place, v0 = first_child[j], last[j]
            again = step * X[i, v0] / np.sqrt(run[j] + 1.0)
            if q + 1 < degree:
                value[place] = again
                for v in range(v0 + 1, d):
                    value[place + v - v0] = step * X[i, v]
            else:
                out[i, place - skip] = again
                for v in range(v0 + 1, d):
                    out[i, place - skip + v - v0] = step * X[i, v]
        if skip == 0:
            for j in range(inner):
                out[i, j] = weights[level[j]] * value[j]
            if degree == 0:
                out[i, 0] = 1.0


@compiled()
def count_sparse(indptr: Any, degree: int, lowest: int, counts: Any) -> None:
    """Write how many monomials of ``lowest`` to ``degree`` factors each row of nonzeros has."""
    for i in range(len(counts)):
        width = indptr[i + 1] - indptr[i]
        total, term = 0, 1  # term: the number of monomials of exactly q factors
        for q in range(degree + 1):
            if q >= lowest:
                total += term
            term = term * (width + q) // (q + 1)
        counts[i] = total


@compiled()
def fill_sparse(
    indptr: Any,
    indices: Any,
    data: Any,
    last: Any,
    run: Any,
    first_child: Any,
    degree: int,
    scale: float,
    weights: Any,
    lowest: int,
    skip: int,
    starts: Any,
    columns: Any,
    out: Any,
) -> None:
    """Write the monomials of the nonzeros of each row, level by level."""
    widest = 0
    for i in range(len(starts) - 1):
        widest = max(widest, starts[i + 1] - starts[i])
    # of one level: the monomial, the position of its last factor in the row, its value
    node, place = np.empty(widest + 1, np.int64), np.empty(widest + 1, np.int64)
    value = np.empty(widest + 1)
    next_node, next_place = np.empty(widest + 1, np.int64), np.empty(widest + 1, np.int64)
    next_value = np.empty(widest + 1)
    for i in range(len(starts) - 1):
        begin, end, at = indptr[i], indptr[i + 1], starts[i]
        node[0], place[0], value[0], width = 0, begin, 1.0, 1
        for q in range(degree + 1):
            if q >= lowest:
                for t in range(width):
                    columns[at] = node[t] - skip
                    out[at] = weights[q] * value[t]
                    at += 1
            if q == degree:
                break
            grown = 0
            for t in range(width):
                j = node[t]
                step = value[t] * np.sqrt((degree - q) * scale)
                for p in range(place[t], end):
                    v = indices[p]
                    same = q > 0 and v == last[j]
                    next_node[grown] = first_child[j] + v - last[j]
                    next_place[grown] = p
                    next_value[grown] = step * data[p] / np.sqrt(run[j] + 1.0 if same else 1.0)
                    grown += 1
            node, next_node = next_node, node
            place, next_place = next_place, place
            value, next_value = next_value, value
            width = grown
