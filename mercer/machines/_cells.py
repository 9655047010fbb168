"""Support vector machines by cells: one exact machine for each part of the space.

The kernel k(x, y)·[x and y lie in one cell] is positive semidefinite where k is, and the problem of
all rows with it, and an offset for each cell, falls into one problem for each cell. So the sum of
their duality gaps is the gap of the whole.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from sklearn.base import clone

from mercer._array import n_threads, run_tiles
from mercer._floats import LEAST_DIVISOR
from mercer._limits import Limits
from mercer._state import COLUMNS, Attribute, Floats, Integers, Maybe
from mercer.kernels.sample import Sample
from mercer.machines._margin import merged
from mercer.machines._pairs import Pairs
from mercer.result import Certificate, Solution, Status

SPLIT_ROWS = 2000  # by which the direction of a cut is found


@dataclass(frozen=True)
class CellTree:
    """Cuts of the space in two, again and again: cell c of 2ᴸ by the order of a heap.

    Parameters
    ----------
    directions : array of shape (2ᴸ − 1, d)
        The vector v of each cut.
    thresholds : array of shape (2ᴸ − 1,)
        Where v·x is at most this, a row goes left.
    """

    directions: np.ndarray
    thresholds: np.ndarray

    @classmethod
    def grown(cls, X: np.ndarray, cell_size: int) -> CellTree:
        """Cut rows in halves along the direction in which they vary most, until cells are small."""
        levels = max(0, int(np.ceil(np.log2(max(len(X) / cell_size, 1.0)))))
        directions = np.zeros((2**levels - 1, X.shape[1]))
        thresholds = np.zeros(2**levels - 1)
        parts = [np.arange(len(X))]
        for cut in range(len(thresholds)):
            rows = parts[cut]
            directions[cut] = _widest(X, rows)
            places = _places(X[rows], directions[cut])
            thresholds[cut] = np.median(places) if len(rows) else 0.0
            left = places <= thresholds[cut]
            parts += [rows[left], rows[~left]]
        return cls(directions, thresholds)

    @property
    def n_cells(self) -> int:
        """The number of cells."""
        return len(self.thresholds) + 1

    def cells_of(self, X: np.ndarray) -> np.ndarray:
        """Return the number of each row's cell."""
        node = np.zeros(len(X), np.intp)
        while len(X) and node[0] < len(self.thresholds):
            for cut in np.unique(node):
                own = np.flatnonzero(node == cut)
                right = _places(X[own], self.directions[cut]) > self.thresholds[cut]
                node[own] = 2 * cut + 1 + right
        return node - len(self.thresholds)


def _places(X: np.ndarray, direction: np.ndarray) -> np.ndarray:
    """Return v·x, to the last bit the same however many rows there are.

    A median is the place of a row: a product by BLAS would now and then put it on the other side.
    """
    places = np.zeros(len(X))
    for column, v in zip(X.T, direction, strict=True):
        places += column * v
    return places


def _widest(X: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Return the direction in which rows vary most, a unit vector."""
    some = X[rows[:: max(1, len(rows) // SPLIT_ROWS)]].astype(np.float64)
    if len(some) < 2:
        return np.eye(1, X.shape[1])[0]
    return np.linalg.eigh(np.cov(some.T).reshape(X.shape[1], -1))[1][:, -1]


@dataclass(frozen=True)
class Cell:
    """The machine of a cell in the terms of all classes."""

    support: np.ndarray  # numbers of rows
    codes: np.ndarray  # their classes
    coefs: np.ndarray  # (rows of dual_coef_, n_support)
    intercept: np.ndarray  # (n_problems,)
    squared_norm: np.ndarray  # (n_problems,)
    steps: np.ndarray  # (n_problems,)
    certificate: Certificate | None
    status: Status


def solve_cells(
    machine: Any, X: np.ndarray, y: np.ndarray, weight: np.ndarray, tree: CellTree, limits: Limits
) -> list[Cell]:
    """Return the machines of all cells, solved side by side."""
    cells = tree.cells_of(X)
    order = np.argsort(cells, kind="stable")
    groups = np.split(order, np.cumsum(np.bincount(cells, minlength=tree.n_cells))[:-1])
    found: list[Cell | None] = [None] * tree.n_cells

    def solve(number: int, worker: int) -> None:
        rows = groups[number][weight[groups[number]] > 0]
        found[number] = _solved(machine, X, y, weight, rows, limits)

    run_tiles(solve, range(tree.n_cells), n_threads(), limits.interrupt)
    return found  # type: ignore[return-value]


def _solved(
    machine: Any, X: np.ndarray, y: np.ndarray, weight: np.ndarray, rows: np.ndarray, limits: Limits
) -> Cell:
    present = np.unique(y[rows])
    codes = np.searchsorted(machine.classes_, present)
    whole = machine._problems()
    if len(present) < 2:
        return _constant(whole, codes, machine._n_coef_rows)
    options = {"kernel": machine.kernel_, "lam": None, "class_weight": None, "route": "exact"}
    own = clone(machine).set_params(**options, C=1.0)
    training = own._prepare(X[rows], y[rows], weight[rows])
    solutions = own._solve(training, limits)
    own._store(training, solutions)
    return _in_all_classes(own, solutions, rows, codes, whole, machine._n_coef_rows)


def _constant(problems: Pairs, present: np.ndarray, n_rows: int) -> Cell:
    """Return the machine of a cell with one class, or none: it votes for that class."""
    empty, zeros = np.empty(0, np.intp), np.zeros(len(problems))
    votes = _absent(problems, present)
    return Cell(empty, empty, np.zeros((n_rows, 0)), votes, zeros, zeros, None, Status.OPTIMAL)


def _absent(problems: Pairs, present: np.ndarray) -> np.ndarray:
    """Return ±1 where one class of a pair is not there, else 0."""
    known = set(present.tolist())
    return np.array([float(plus in known) - float(minus in known) for plus, minus in problems])


def _in_all_classes(
    own: Any,
    solutions: list[Any],
    rows: np.ndarray,
    codes: np.ndarray,
    problems: Pairs,
    n_rows: int,
) -> Cell:
    """Return the machine of a cell with its classes in their places among all."""
    place = {pair: number for number, pair in enumerate(problems)}
    intercept = _absent(problems, codes)
    norms, steps = np.zeros(len(problems)), np.zeros(len(problems))
    support_codes = codes[np.repeat(np.arange(len(codes)), own.n_support_)]
    coefs = np.zeros((n_rows, len(own.support_)))
    signed = own._problem_coefs()
    for number, (plus, minus) in enumerate(own._problems()):
        pair = (int(codes[plus]), int(codes[minus]))
        turned = 1.0 if pair in place else -1.0  # of two classes the second is the positive one
        first, second = pair if pair in place else pair[::-1]
        where = place[first, second]
        intercept[where] = turned * solutions[number].intercept
        norms[where], steps[where] = (
            solutions[number].squared_norm,
            solutions[number].stats["steps"],
        )
        if n_rows == 1:
            coefs[0] = turned * signed[number]
        else:
            for code, row in ((first, second - 1), (second, first)):
                of_class = support_codes == code
                coefs[row, of_class] = turned * signed[number][of_class]
    return Cell(
        rows[own.support_],
        support_codes,
        coefs,
        intercept,
        norms,
        steps,
        merged(solutions).certificate,
        next((s.status for s in solutions if not s.status.ok), Status.OPTIMAL),
    )


def merged_proof(cells: list[Cell], tolerance: float, n: int) -> Solution:
    """Return the proof of the whole: gaps add up; every cell must be within the tolerance."""
    proofs = [cell.certificate for cell in cells if cell.certificate is not None]
    sums = {name: float(sum(p.parts[name] for p in proofs)) for name in ("primal", "dual", "gap")}
    value = float(np.max([proof.value for proof in proofs], initial=0.0))
    parts = {
        **sums,
        "relative_gap": sums["gap"] / max(abs(sums["primal"]), abs(sums["dual"]), LEAST_DIVISOR),
        "worst_cell": value,
        "cells": len(cells),
        "constant_cells": len(cells) - len(proofs),
        "route": "cells",
        "storage": "dense",
    }
    about = (
        f"the problem of {n:,} rows with the kernel k(x, y)·[same cell] and an offset for each of "
        f"{len(cells):,} cells; each was solved and proved by itself, and gaps add up"
    )
    status = next((cell.status for cell in cells if not cell.status.ok), Status.OPTIMAL)
    proof = Certificate("relative gap, pair violation", value, tolerance, about, parts)
    return Solution(None, status, proof)


class InCells:
    """What a classifier of margins does by cells.

    Its support vectors are those of all cells; ``support_cells_`` says whose each is.
    """

    fitted_state: ClassVar[dict[str, Attribute]] = {
        "cell_directions_": Maybe(Floats("cuts", COLUMNS)),
        "cell_thresholds_": Maybe(Floats("cuts")),
        "cell_intercepts_": Maybe(Floats("cells", "problems")),
        "support_cells_": Maybe(Integers("support", below="cells")),
    }

    route: str = "auto"
    cell_directions_: np.ndarray | None = None
    cell_thresholds_: np.ndarray | None = None
    cell_intercepts_: np.ndarray | None = None
    support_cells_: np.ndarray | None = None

    def _in_cells(self) -> bool:
        return self.cell_thresholds_ is not None

    def _forget_cells(self) -> None:
        for name in InCells.fitted_state:
            setattr(self, name, None)

    def _store_cells(self: Any, cells: list[Cell], tree: CellTree, sample: Sample) -> None:
        """Store support vectors by class, whose they are, and the offsets of all cells."""
        numbers = np.concatenate([np.full(len(c.support), i) for i, c in enumerate(cells)])
        codes = np.concatenate([cell.codes for cell in cells])
        order = np.argsort(codes, kind="stable")
        self.n_support_ = np.bincount(codes, minlength=len(self.classes_)).astype(np.int32)
        self._keep_support(sample, np.concatenate([cell.support for cell in cells])[order])
        self.dual_coef_ = np.hstack([cell.coefs for cell in cells])[:, order]
        self.support_cells_ = numbers[order].astype(np.int32)
        self.cell_intercepts_ = np.array([cell.intercept for cell in cells])
        self.cell_directions_, self.cell_thresholds_ = tree.directions, tree.thresholds
        self.intercept_ = np.zeros(self.cell_intercepts_.shape[1])
        self.n_iter_ = np.maximum(np.sum([cell.steps for cell in cells], axis=0), 1).astype(int)
        norms = np.sum([cell.squared_norm for cell in cells], axis=0)
        margins = np.divide(1.0, np.sqrt(norms), out=np.full(len(norms), np.inf), where=norms > 0)
        self.margin_ = margins[0] if len(margins) == 1 else margins

    def _decision_in_cells(
        self: Any, rows: Sample, decide: Callable[[Any, Sample], np.ndarray]
    ) -> np.ndarray:
        """Return decision values of rows, each by the machine of its cell."""
        cells = CellTree(self.cell_directions_, self.cell_thresholds_).cells_of(rows.data)
        values = np.empty((len(rows), self.cell_intercepts_.shape[1]))
        for cell in np.unique(cells):
            own = np.flatnonzero(cells == cell)
            values[own] = decide(self._machine_of(cell), rows[own])
        return values

    def _machine_of(self: Any, cell: int) -> Any:
        """Return the machine of one cell."""
        chosen = self.support_cells_ == cell
        code = np.repeat(np.arange(len(self.n_support_)), self.n_support_)
        own = copy.copy(self)
        own._forget_cells()
        own.support_, own.support_vectors_ = self.support_[chosen], self.support_vectors_[chosen]
        own.dual_coef_, own.intercept_ = self.dual_coef_[:, chosen], self.cell_intercepts_[cell]
        own.n_support_ = np.bincount(code[chosen], minlength=len(self.n_support_)).astype(np.int32)
        return own
