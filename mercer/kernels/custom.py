"""Kernels from what the user has: a function, a feature map, a matrix."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp

from mercer._array import as_table, count_rows, worst_asymmetry
from mercer._sklearn import StrOptions
from mercer.kernels.base import INDEFINITE, PSD, UNKNOWN, Kernel, Unary
from mercer.kernels.sample import Pair, Sample, inner, squared_norms

ASYMMETRY = {4: 1e-4, 8: 1e-7}  # relative, by bytes of a number: what is more is not rounding


def _objects(data: Any) -> Any:
    """Yield the objects of a sample: list items, or rows as plain arrays."""
    if sp.issparse(data):
        return (data[[i]].toarray().ravel() for i in range(data.shape[0]))
    return iter(data)


class FromFunction(Kernel):
    """A kernel from a Python function of two objects.

    Parameters
    ----------
    function : callable
        ``function(x, y) -> float`` for two objects (rows, strings, anything).
    definiteness : {"unknown", "psd", "indefinite"}, default="unknown"
        What you know of the function. ``"psd"`` includes symmetry: only one triangle of a Gram
        matrix is then computed. `check_kernel` helps to find out.

    Examples
    --------
    >>> from mercer.kernels import FromFunction
    >>> common = FromFunction(lambda a, b: float(len(set(a) & set(b))))
    >>> common(["kernel", "trick"])
    array([[5., 2.],
           [2., 5.]])
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "function": [callable],
        "definiteness": [StrOptions({PSD, INDEFINITE, UNKNOWN})],
    }

    definiteness: Any = UNKNOWN

    def __init__(self, function: Callable[[Any, Any], float], definiteness: str = UNKNOWN):
        self.function = function
        self.definiteness = definiteness

    @property
    def symmetric(self) -> bool:
        return self.definiteness == PSD

    def _fill(self, pair: Pair, out: np.ndarray) -> None:
        right = list(_objects(pair.Y.data))
        for i, x in enumerate(_objects(pair.X.data)):
            for j, y in enumerate(right):
                out[i, j] = self._value(x, y)

    def _diagonal(self, X: Sample) -> np.ndarray:
        return np.array([self._value(x, x) for x in _objects(X.data)], dtype=np.float64)

    def _value(self, x: Any, y: Any) -> float:
        value = np.asarray(self.function(x, y))
        if value.size != 1 or value.dtype.kind not in "fiub" or not np.isfinite(value).all():
            raise ValueError(
                f"function must return one finite number for two objects; "
                f"got {value!r} for {x!r} and {y!r}"
            )
        return float(value.item())


class FromFeatureMap(Kernel):
    """A kernel from a feature map: k(x, y) = φ(x)·φ(y).

    Parameters
    ----------
    phi : callable or transformer
        ``phi(x)`` returns the features of one object as a vector (or a number). A function that
        picks columns of a table (``X[:, 0]``) and an object with ``transform(X)`` are given all
        rows at once.

    Examples
    --------
    >>> from mercer.kernels import FromFeatureMap
    >>> k = FromFeatureMap(lambda x: [x[0] ** 2, x[1] ** 2, 2**0.5 * x[0] * x[1]])
    >>> k([[1.0, 2.0]], [[3.0, 4.0]]).round(6)
    array([[121.]])
    """

    releases_gil = True  # the features are computed once, under a lock

    def __init__(self, phi: Any):
        self.phi = phi

    @property
    def definiteness(self) -> str:
        return PSD

    def check(self) -> None:
        """Raise if ``phi`` is neither a function nor a transformer."""
        if not callable(self.phi) and not hasattr(self.phi, "transform"):
            raise TypeError(f"phi must be a function or have transform(X); got {self.phi!r}")

    def bind(self, X: Any, weights: np.ndarray | None = None) -> Kernel:
        self.check()
        return self

    def features(self, data: Any) -> np.ndarray:
        """Return the features of all objects, shape (n, p)."""
        if hasattr(self.phi, "transform"):
            features = self.phi.transform(data)
        else:
            features = _row_features(self.phi, data)
        if count_rows(features) != count_rows(data):
            raise ValueError(
                f"phi must give one row of features for each object; got "
                f"{count_rows(features)} for {count_rows(data)}"
            )
        return as_table(features, "phi(X)", type(self).__name__)

    def _fill(self, pair: Pair, out: np.ndarray) -> None:
        features = pair.derive(("features", self), self.features)
        inner(features.X.rows(pair.dtype), features.Y.rows(pair.dtype), out)

    def _diagonal(self, X: Sample) -> np.ndarray:
        return squared_norms(X.derive(("features", self), self.features).data)


def _stacked(rows: list[np.ndarray]) -> np.ndarray:
    lengths = sorted({len(row) for row in rows})
    if len(lengths) > 1:
        raise ValueError(
            f"phi must return the same number of features for every object; got {lengths}"
        )
    return np.array(rows)


def _row_features(phi: Callable[[Any], Any], data: Any) -> Any:
    """Apply φ to each object; one that picks columns, which a row does not have, to the table."""
    rows = _objects(data)
    first = next(rows)
    try:
        features = [np.ravel(phi(first))]
    except IndexError as error:
        if getattr(data, "ndim", 0) == 2 and "too many indices" in str(error):
            return np.asarray(phi(data)).reshape(count_rows(data), -1)
        raise
    return _stacked(features + [np.ravel(phi(x)) for x in rows])


class RankOne(FromFeatureMap):
    """The kernel k(x, y) = f(x) f(y) of a real function f: Gram matrices of rank at most one.

    Parameters
    ----------
    f : callable
        ``f(x) -> float`` for one object.
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {"f": [callable]}

    def __init__(self, f: Callable[[Any], float]):
        self.f = f

    @property
    def phi(self) -> Any:
        return self.f

    def features(self, data: Any) -> np.ndarray:
        features = super().features(data)
        if features.shape[1] != 1:
            raise ValueError(f"f must return one number; got {features.shape[1]} for each object")
        return features


def _require_symmetric(K: np.ndarray) -> None:
    """Raise if a matrix differs from its transpose by more than its rounding."""
    worst, i, j = worst_asymmetry(K)
    size = float(max(K.max(initial=0.0), -K.min(initial=0.0)))
    if worst > ASYMMETRY[K.dtype.itemsize] * size:
        raise ValueError(
            f"a precomputed training matrix must be symmetric; got K[{i}, {j}] = {K[i, j]:.6g} "
            f"and K[{j}, {i}] = {K[j, i]:.6g}, which differ most: correct the kernel, or fit to "
            f"(K + K.T) / 2 if the difference means nothing"
        )


class Precomputed(Kernel):
    """A kernel that is given as its matrix: rows are points, columns the training points.

    ``k(K)`` takes the square matrix of the training sample; ``k(K_new, K)`` the values of new
    points (rows) against the training points (columns).
    """

    domain = "vectors"
    releases_gil = True

    def check_pair(self, X: Sample, Y: Sample) -> None:
        n, m = Y.root.data.shape
        if n != m:
            raise ValueError(f"a precomputed training matrix must be square; got {n} × {m}")
        if X.root.data.shape[1] != n:
            raise ValueError(
                f"a precomputed matrix of new points must have {n} columns, one for each training "
                f"point; got {X.root.data.shape[1]}"
            )
        if sp.issparse(Y.data):
            raise TypeError("a precomputed matrix must be dense; got a sparse one")

    def check_training(self, X: Sample) -> None:
        self.check_pair(X, X)
        X.summary("symmetry", _require_symmetric)  # once, however often the sample is used

    @property
    def symmetric(self) -> bool:
        return False  # not known, and copying one triangle saves nothing

    def _fill(self, pair: Pair, out: np.ndarray) -> None:
        out[...] = pair.X.data[:, pair.Y.index]

    def _diagonal(self, X: Sample) -> np.ndarray:
        n, m = X.root.data.shape
        if n != m:
            raise ValueError(
                "a precomputed kernel does not know k(x, x) of new points, only their values "
                "against the training points"
            )
        return np.diagonal(X.root.data)[X.index]


class PowerSeries(Unary):
    """The series Σᵢ cᵢ k(x, y)ⁱ; coefficients ≥ 0 keep it positive semidefinite.

    Parameters
    ----------
    kernel : Kernel
        The kernel k.
    coefs : sequence of float
        c₀, c₁, c₂, …
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {"kernel": [Kernel], "coefs": ["array-like"]}

    def __init__(self, kernel: Kernel, coefs: Any):
        self.kernel = kernel
        self.coefs = coefs

    @property
    def definiteness(self) -> str:
        nonnegative = all(c >= 0 for c in self.coefs)
        return PSD if nonnegative and self.kernel.definiteness == PSD else UNKNOWN

    def _bound_values(self, X: Sample, weights: np.ndarray | None) -> dict[str, Any]:
        coefs = np.asarray(self.coefs)
        numbers = coefs.dtype.kind in "biuf" and coefs.ndim == 1 and coefs.size > 0
        if not (numbers and np.isfinite(coefs).all()):
            raise ValueError(f"coefs must be a list of finite numbers; got {self.coefs!r}")
        return {}

    def _apply(self, values: np.ndarray) -> None:
        base = values.copy()
        values[...] = self.coefs[-1]
        for c in self.coefs[-2::-1]:  # Horner
            values *= base
            values += values.dtype.type(c)
