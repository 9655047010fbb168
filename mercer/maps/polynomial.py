"""The explicit features of the polynomial kernel."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import combinations_with_replacement
from math import comb
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import check_is_fitted

from mercer._sklearn import Interval, _check_feature_names_in
from mercer._state import COLUMNS, Attribute, Integers, Lengths, SizeOf, StateError
from mercer.kernels import Polynomial
from mercer.kernels.sample import squared_norms
from mercer.maps._base import TableMap, inner_products, kernel_values, require_room, some_rows
from mercer.maps._monomials import expand_dense, expand_sparse, grow
from mercer.result import Certificate, Solution, Status

LARGEST_DEGREE = 1000


class MonomialCount(Integers):
    """How many monomials of the columns there are, up to a degree or of that degree."""

    def _check_values(self, values: np.ndarray, lengths: Lengths) -> None:
        d, n = lengths[COLUMNS] or 0, lengths["degree"] or 0
        if min(d, n) > LARGEST_DEGREE:  # of which nobody could count them
            raise StateError(f"is of the degree {n} in {d} columns")
        counts = (comb(d + n, n), comb(max(d + n - 1, 0), n))
        if int(values) not in counts:
            raise StateError(f"must be {counts[0]}; got {int(values)}")


class PolynomialMap(TableMap):
    """All monomials, weighted so that φ(x)·φ(y) = (a x·y + c)ⁿ.

    The feature of x₁^α₁ x₂^α₂ … with q = Σα ≤ n factors is
    √(n! / (α₁! α₂! … (n − q)!) · a^q c^(n−q)) · x₁^α₁ x₂^α₂ …; with c = 0 only q = n is left.

    Parameters
    ----------
    degree : int, default=2
        The exponent n ≥ 0.
    scale : float, default=1.0
        The factor a > 0.
    bias : float, default=1.0
        The offset c ≥ 0.
    memory : int, str or None, default=None
        The byte budget of the features; None is half of the free memory. What does not fit is an
        error that says how many columns there would be: `Polynomial` computes the same inner
        products without them.

    Attributes
    ----------
    n_output_features_ : int
        Columns: (d + n choose n), or (d + n − 1 choose n) with c = 0.
    certificate_ : Certificate
        The largest error of φ(x)·φ(y) on up to 256 rows, relative to the largest k(x, x).

    Examples
    --------
    >>> from mercer import PolynomialMap
    >>> phi = PolynomialMap(degree=2).fit([[1.0, 2.0]])
    >>> phi.get_feature_names_out().tolist()
    ['1', 'x0', 'x1', 'x0^2', 'x0 x1', 'x1^2']
    >>> x, y = phi.transform([[1.0, 2.0], [3.0, 4.0]])
    >>> round(float(x @ y), 6), (1.0 * 3.0 + 2.0 * 4.0 + 1.0) ** 2
    (144.0, 144.0)
    """

    fitted_state: ClassVar[dict[str, Attribute]] = {
        "degree": SizeOf("degree"),
        "n_output_features_": MonomialCount(),
    }

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "degree": [Interval(Integral, 0, None, closed="left")],
        "scale": [Interval(Real, 0, None, closed="neither")],
        "bias": [Interval(Real, 0, None, closed="left")],
    }

    def __init__(
        self,
        degree: int = 2,
        *,
        scale: float = 1.0,
        bias: float = 1.0,
        memory: int | str | None = None,
    ):
        self.degree = degree
        self.scale = scale
        self.bias = bias
        self.memory = memory

    def fit(self, X: Any, y: Any = None) -> PolynomialMap:
        """Count the monomials and compare inner products; ``y`` is not used."""
        self._validate_params()
        X = self._fit_table(X)
        d, n = X.shape[1], self.degree
        self.n_output_features_ = comb(d + n, n) if self.bias else comb(d + n - 1, n)
        # the tree up to one factor less is what any row needs, a sparse one too
        self._require_room(X[:1], 3 * comb(d + n - 1, max(n - 1, 0)))
        self._require_room(X, self.n_output_features_)
        self._require_finite(X)
        proof = self._compared(X[some_rows(X.shape[0])])
        self._accept(Solution(None, Status.OPTIMAL if proof.ok else Status.INACCURATE, proof))
        return self

    def _require_room(self, X: Any, columns: int) -> None:
        if sp.issparse(X):  # at most as many as the widest row has
            width = int(np.diff(X.indptr).max(initial=0))
            columns = 2 * comb(width + self.degree, self.degree)
        require_room(X.shape[0], columns, self.memory, f"degree={self.degree}")

    def transform(self, X: Any) -> Any:
        """Return the features of rows, shape (m, p); sparse if the rows are."""
        X = self._new_table(X)
        self._require_room(X, self.n_output_features_)
        self._require_finite(X)
        return self._expanded(X)

    def _expanded(self, X: Any) -> Any:
        tree = grow(X.shape[1], self.degree)
        expand = expand_sparse if sp.issparse(X) else expand_dense
        return expand(X, tree, self.degree, float(self.scale), float(self.bias))

    def _require_finite(self, X: Any) -> None:
        """Raise if some φ(x)·φ(x) overflows; if none does, no feature and no inner product does."""
        with np.errstate(over="ignore"):
            largest = np.float64(squared_norms(X).max())
            square = (self.scale * largest + self.bias) ** float(self.degree)
        if not square < np.finfo(X.dtype).max:
            raise ValueError(f"X is too large for degree={self.degree}: (a x·x + c)ⁿ overflows")

    def _compared(self, X: Any) -> Certificate:
        kernel = Polynomial(self.degree, scale=self.scale, bias=self.bias)
        K = kernel_values(kernel, X)
        F = inner_products(self._expanded(X.astype(np.float64)))
        error = float(np.abs(F - K).max()) / (float(np.abs(K).max()) or 1.0)
        parts = {"gram_error": error, "rows": len(K), "columns": self.n_output_features_}
        about = f"φ(x)·φ(y) = {kernel!r}, on {len(K)} rows"
        return Certificate("Gram error", error, 1e-10, about, parts)

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Return names such as "x0^2 x1"."""
        check_is_fitted(self)
        names = _check_feature_names_in(self, input_features)
        return np.array([_name(factors, names) for factors in self._monomials()], dtype=object)

    def _monomials(self) -> Iterator[tuple[int, ...]]:
        lowest = 0 if self.bias else self.degree
        for q in range(lowest, self.degree + 1):
            yield from combinations_with_replacement(range(self.n_features_in_), q)

    @property
    def _n_features_out(self) -> int:
        return self.n_output_features_


def _name(factors: tuple[int, ...], names: Any) -> str:
    powers = Counter(factors).items()
    return " ".join(names[i] if e == 1 else f"{names[i]}^{e}" for i, e in powers) or "1"
