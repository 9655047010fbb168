"""Estimators that seek their functions in the span of landmarks of rows that are read in blocks."""

from __future__ import annotations

import sys
from collections import Counter
from hashlib import sha256
from os import PathLike
from typing import Any, NamedTuple

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.random import sample_without_replacement

from mercer._array import as_index, parse_memory
from mercer._estimator import KernelEstimator, check_weights, is_precomputed
from mercer.kernels import Kernel
from mercer.kernels.sample import Sample
from mercer.rows import Block, Rows, map_reduce
from mercer.rows import open as open_rows
from mercer.rows.checkpoint import Checkpoint, Passes
from mercer.solvers.ridge_route import RidgeRoute, choose_route
from mercer.solvers.row_problem import Encode, RowProblem
from mercer.solvers.span import Span

SAMPLE_ROWS = 2**15  # rows of a file that γ="scale" and the like are bound to


class Prepared(NamedTuple):
    """What a fit in passes starts from."""

    points: Sample  # the landmarks
    numbers: np.ndarray  # theirs among the rows
    problem: RowProblem
    shift: np.ndarray
    passes: Passes


class InSpan(KernelEstimator):
    """An estimator that may learn from `Rows`, with landmarks among them."""

    landmarks: Any
    random_state: Any
    memory: Any
    checkpoint: str | PathLike[str] | None = None

    def _span_route(
        self, asked: str, n: int, n_columns: int, *, in_memory: bool, fewer: int = 0, **work: Any
    ) -> RidgeRoute:
        """Choose the route of a fit: the number of landmarks, passes, bytes."""
        given = self.landmarks
        number = None if given is None else int(given) if np.ndim(given) == 0 else len(given)
        number = fewer or number
        known: dict[str, Any] = {"n_targets": 1, "several": False, **work}
        budget = parse_memory(self.memory)
        return choose_route(
            asked, n, n_columns, number, in_memory=in_memory, budget=budget, **known
        )

    def _span_of(self, points: Sample) -> Span:
        """Return the span of landmarks, after the kernel has been bound."""
        return Span(self.kernel_, points, parse_memory(self.memory))

    def _with_target(self, X: Rows, y: Any) -> Rows:
        rows = X.with_target(y)
        if not rows.has_target:
            raise ValueError(
                f"{type(self).__name__} requires y to be passed: these rows have no target; open "
                f"them with target='name of a column', or pass y"
            )
        return rows

    def _blocks_of(self, X: Any, y: Any = None, **checks: Any) -> Rows:
        """Return rows with their targets, if there are any, whatever they come as."""
        if isinstance(X, Rows):
            return X.with_target(y)
        sample, y, _ = self._fit_rows(X, *([] if y is None else [y]), **checks)
        if is_precomputed(self.kernel_) or self.kernel_.domain != "vectors":
            raise TypeError(f"landmarks need a kernel on rows of numbers; got {self.kernel_!r}")
        return open_rows(sample.data, None if y is None else np.asarray(y))

    def _keep_columns(self, rows: Rows) -> None:
        self.n_features_in_ = rows.n_columns
        if rows.columns is not None:
            self.feature_names_in_ = np.asarray(rows.columns, dtype=object)
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_

    def _random_numbers(self, n: int, m: int) -> np.ndarray:
        """Return m of n numbers, drawn at random, sorted."""
        random = check_random_state(self.random_state)
        return np.sort(sample_without_replacement(n, min(m, n), random_state=random))

    def _prepared(
        self, rows: Rows, m: int, weight: np.ndarray | None, targets: tuple[Encode, int]
    ) -> Prepared:
        """Draw m landmarks, and bind the kernel to some of the rows."""
        kernel = self._kernel_of_rows()
        passes = Passes(rows.check_unchanged, self._checkpoint_of(rows, weight))
        index, some = passes.once(
            lambda: (self._numbers(rows.n, m), self._random_numbers(rows.n, SAMPLE_ROWS))
        )
        both = rows.take_both(np.concatenate([index, some]))
        m = len(index)
        sample = kernel.sample(both.X[m:])
        self.kernel_ = kernel.bind(sample, None if weight is None else weight[some])
        own = np.ones(len(some)) if weight is None else weight[some]
        Y, w = targets[0](own if both.y is None else both.y[m:], own)
        shift = w @ Y / w.sum() if w.any() else Y.mean(axis=0)
        problem = RowProblem(rows, self.kernel_, targets[0], weight, targets[1])
        given = self.landmarks if np.ndim(self.landmarks) == 2 else both.X[:m]
        points = self.kernel_.sample(given, "landmarks")
        self.kernel_.check_pair(sample, points)
        return Prepared(points, index, problem, shift, passes)

    def _kernel_of_rows(self) -> Kernel:
        kernel = self._given_kernel()
        if kernel.domain != "vectors" or is_precomputed(kernel):
            raise TypeError(f"rows in blocks need a kernel on rows of numbers; got {kernel!r}")
        return kernel

    def _numbers(self, n: int, m: int) -> np.ndarray:
        """Return the numbers of the landmarks among rows in blocks; none if they are given."""
        if np.ndim(self.landmarks) == 1:
            return as_index(self.landmarks, n, "landmarks")
        return np.empty(0, np.intp) if np.ndim(self.landmarks) == 2 else self._random_numbers(n, m)

    def _checkpoint_of(self, rows: Rows, weight: np.ndarray | None) -> Checkpoint | None:
        if self.checkpoint is None:
            return None
        left_out = ("checkpoint", "memory", "kernel")
        given = self.get_params(deep=False)
        params = {name: _known_by(v) for name, v in given.items() if name not in left_out}
        about = {
            "version": sys.modules["mercer"].__version__,
            "rows": rows.fingerprint(),
            "weights": _known_by(weight),
            "kernel": repr(self._given_kernel()),
            "estimator": type(self).__name__,
            "parameters": repr(sorted(params.items())),
        }
        return Checkpoint(self.checkpoint, about)

    def _weights_of_rows(self, sample_weight: Any, n: int) -> np.ndarray | None:
        return None if sample_weight is None else check_weights(sample_weight, n)


def _known_by(value: Any) -> str:
    """Return a text that tells a parameter from others; arrays are known by all of their bytes."""
    if value is None or np.ndim(value) == 0:
        return repr(value)
    array = np.ascontiguousarray(value)
    return f"{array.dtype} {array.shape} {sha256(array.tobytes()).hexdigest()}"


def no_targets(y: np.ndarray, weight: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return targets of rows whose own do not matter."""
    return np.zeros((len(weight), 1)), weight


def class_totals(rows: Rows, weight: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
    """Return the classes of the targets, sorted, and the weight of each: one pass over these."""

    def count(block: Block, state: None) -> Counter[Any]:
        y = block.read_target()
        check_classification_targets(y)
        labels, codes = np.unique(y, return_inverse=True)
        own = None if weight is None else weight[block.start : block.stop]
        return Counter(dict(zip(labels.tolist(), np.bincount(codes, own).tolist(), strict=True)))

    totals = map_reduce(count, rows.blocks())
    classes = np.unique(np.array(list(totals)))
    if len(classes) < 2:
        raise ValueError(
            f"y must hold at least two classes; got {len(classes)} class: {classes.tolist()}"
        )
    return classes, np.array([totals[label] for label in classes.tolist()], dtype=np.float64)
