"""Random projection: distances survive in far fewer columns."""

from __future__ import annotations

from collections.abc import Callable
from numbers import Real
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from scipy.optimize import brentq
from sklearn.utils import check_random_state

from mercer._array import format_bytes, largest_size, parse_memory, ranges
from mercer._estimator import TableTransformer
from mercer._floats import LARGEST
from mercer._sklearn import Interval, StrOptions
from mercer._state import Attribute, Either, Floats, SizeOf, Sparse
from mercer.result import Certificate, Solution, Status
from mercer.spectral._base import COUNT

FAILURE_PROBABILITY = 1e-6  # that a given number of columns breaks its promise
MOST_ROWS = 64  # whose distances are measured, 2016 pairs
DENSE_SHARE = 0.05  # of entries, from which a product with dense rows is faster as a dense one
SPARSE_DENSITY = 1.0 / 3.0  # the sparsest for which the lemma's bound is that of normal entries


class RandomProjection(TableTransformer):
    """Random projection z = Rx that keeps all distances within a factor 1 ± ε.

    By the lemma of Johnson and Lindenstrauss 4 ln n / (ε²/2 − ε³/3) columns are enough for
    (1 − ε)‖x − y‖² ≤ ‖Rx − Ry‖² ≤ (1 + ε)‖x − y‖² of all pairs of n rows, with probability at
    least 1/n and in practice nearly 1, however many columns the rows have.

    Parameters
    ----------
    n_components : int or "auto", default="auto"
        Columns of the result, at most those of X. "auto" takes what the lemma asks for; if X has
        no more columns than that, there is nothing to gain and R is the identity.
    eps : float, default=0.1
        ε in (0, 1), used by "auto".
    kind : {"gaussian", "sign", "sparse", "orthogonal"}, default="gaussian"
        Entries of R: normal, ±1, ±1 in every third cell and else 0, or an orthonormal basis of a
        random subspace; all scaled so that squared distances are kept on average.
    random_state : int, RandomState instance or None, default=None
        Seeds the draw.

    Attributes
    ----------
    components_ : array or sparse array of shape (k, d)
        R.
    n_components_ : int
        k.
    certificate_ : Certificate
        The worst ``distortion`` |‖Rx − Ry‖²/‖x − y‖² − 1| that was measured on the pairs of up to
        64 training rows, against ``promised``: ε, or what a given k exceeds with a probability
        of at most 1e-6.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import RandomProjection
    >>> X = np.random.default_rng(0).normal(size=(20, 3000))
    >>> projection = RandomProjection(eps=0.3, random_state=0).fit(X)
    >>> projection.transform(X).shape, projection.certificate_.distortion < 0.3
    ((20, 332), True)
    """

    fitted_state: ClassVar[dict[str, Attribute]] = {
        "n_components_": SizeOf("components"),
        "components_": Either(Floats("components", "columns"), Sparse("components", "columns")),
    }

    accepts_sparse = True
    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "n_components": [COUNT, StrOptions({"auto"})],
        "eps": [Interval(Real, 0, 1, closed="neither")],
        "kind": [StrOptions({"gaussian", "sign", "sparse", "orthogonal"})],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        n_components: int | str = "auto",
        *,
        eps: float = 0.1,
        kind: str = "gaussian",
        random_state: Any = None,
    ):
        self.n_components = n_components
        self.eps = eps
        self.kind = kind
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None) -> RandomProjection:
        """Draw R for rows of this width and measure it on them; ``y`` is not used."""
        self._validate_params()
        X = self._fit_table(X)
        random = check_random_state(self.random_state)
        k = self._count(*X.shape)
        if self.n_components == "auto" and k == X.shape[1]:
            self.components_: Any = sp.eye_array(k, format="csr")
        else:
            self.components_ = _draw(self.kind, k, X.shape[1], random)
        self.n_components_ = k
        proof = self._measured(X, random)
        self._accept(Solution(k, Status.OPTIMAL if proof.ok else Status.DISTORTED, proof))
        return self

    def _count(self, n: int, d: int) -> int:
        if self.n_components == "auto":
            return max(1, min(d, johnson_lindenstrauss_dimension(n, self.eps)))
        k = int(self.n_components)
        if k > d:
            raise ValueError(
                f"n_components must be at most the number of columns of X, n_features={d}; got "
                f"n_components={k}"
            )
        return k

    def _measured(self, X: Any, random: Any) -> Certificate:
        n, k = X.shape[0], self.n_components_
        auto = self.n_components == "auto"
        promised = float(self.eps) if auto else promised_distortion(n, k)
        worst, pairs = _distortion(X, self.components_, random)
        parts = {"distortion": worst, "promised": promised, "pairs": pairs, "n_components": k}
        about = f"squared distances of {pairs} pairs of rows, {X.shape[1]} columns → {k}"
        return Certificate("distortion", worst, promised, about, parts)

    def transform(self, X: Any) -> np.ndarray:
        """Return the projected rows, shape (m, k)."""
        X = self._new_table(X)
        return _times(X, self.components_).astype(X.dtype, copy=False)

    def inverse_transform(self, X: Any) -> np.ndarray:
        """Return the shortest rows with these projections (least squares), shape (m, d)."""
        R = self.components_.toarray() if sp.issparse(self.components_) else self.components_
        scores = np.asarray(X, dtype=np.float64)
        return np.linalg.lstsq(R, scores.T, rcond=None)[0].T

    @property
    def _n_features_out(self) -> int:
        return self.n_components_


# -------------------------------------------------------------------- the lemma
def johnson_lindenstrauss_dimension(n: int, eps: float) -> int:
    """Return 4 ln n / (ε²/2 − ε³/3), rounded down: columns that keep n points within 1 ± ε.

    Examples
    --------
    >>> from mercer.spectral.random_projection import johnson_lindenstrauss_dimension
    >>> johnson_lindenstrauss_dimension(1000, 0.1)
    5920
    """
    if n < 1 or not 0.0 < eps < 1.0:
        raise ValueError(f"n must be at least 1 and eps in (0, 1); got n={n!r} and eps={eps!r}")
    return int(4.0 * np.log(n) / (eps**2 / 2.0 - eps**3 / 3.0))


def promised_distortion(n: int, k: int, failure: float = FAILURE_PROBABILITY) -> float:
    """Return the ε that k columns exceed on n points with a probability of at most ``failure``.

    A squared distance changes by more than a factor 1 ± ε with a probability of at most
    2 exp(−k(ε²/2 − ε³/3)/2); there are fewer than n²/2 of them. The lemma is ``failure`` → 1.
    Beyond ε = 1 only stretching is left to bound, by the tail of the χ² distribution:
    ε − ln(1 + ε) in place of ε²/2 − ε³/3.
    """
    needed = (4.0 * np.log(n) - 2.0 * np.log(failure)) / k
    if needed <= 1.0 / 6.0:
        return float(brentq(lambda e: e**2 / 2.0 - e**3 / 3.0 - needed, 0.0, 1.0))
    if needed <= 1.0 - np.log(2.0):
        return 1.0
    return float(brentq(lambda e: e - np.log1p(e) - needed, 1.0, 4.0 * needed + 4.0))


# -------------------------------------------------------------------- the draw
def _draw(kind: str, k: int, d: int, random: Any) -> Any:
    needed, budget = 8 * k * d, parse_memory(None)
    if needed > budget:
        raise ValueError(
            f"n_components={k} of {d} columns need a matrix of {format_bytes(needed)}, the budget "
            f"is {format_bytes(budget)}: take fewer components or a larger eps"
        )
    return _KINDS[kind](k, d, random)


def _gaussian(k: int, d: int, random: Any) -> np.ndarray:
    return random.standard_normal((k, d)) / np.sqrt(k)


def _sign(k: int, d: int, random: Any) -> np.ndarray:
    return (2.0 * random.randint(0, 2, (k, d)) - 1.0) / np.sqrt(k)


def _sparse(k: int, d: int, random: Any) -> sp.csr_array:
    size = 1.0 / np.sqrt(SPARSE_DENSITY * k)
    parts = []
    for rows in ranges(k, max(1, 2**22 // d)):  # in parts: the dense draw is never whole
        draw = random.random_sample((rows.stop - rows.start, d))
        signs = (draw < SPARSE_DENSITY / 2.0).astype(np.float64) - (draw > 1 - SPARSE_DENSITY / 2.0)
        parts.append(sp.csr_array(size * signs))
    return sp.vstack(parts, format="csr")


def _orthogonal(k: int, d: int, random: Any) -> np.ndarray:
    # the span of normal vectors has no preferred direction; the signs of R do not matter to it
    Q = np.linalg.qr(random.standard_normal((d, k)))[0]
    return np.sqrt(d / k) * Q.T


_KINDS: dict[str, Callable[[int, int, Any], Any]] = {
    "gaussian": _gaussian,
    "sign": _sign,
    "sparse": _sparse,
    "orthogonal": _orthogonal,
}


# -------------------------------------------------------------------- the proof
def _distortion(X: Any, R: Any, random: Any) -> tuple[float, int]:
    """Return the worst |‖Rx − Ry‖²/‖x − y‖² − 1| of some rows, and of how many pairs."""
    chosen = np.sort(random.permutation(X.shape[0])[:MOST_ROWS])
    scale = min(float(largest_size(X)) or 1.0, LARGEST)  # squares must neither overflow nor vanish
    rows = X[chosen].astype(np.float64) / scale
    first, second = np.triu_indices(len(chosen), 1)
    Z = _times(rows, R)
    kept = _squares(Z[first] - Z[second])
    lengths = np.concatenate(
        [
            _squares(rows[first[part]] - rows[second[part]])
            for part in ranges(len(first), max(1, 2**22 // X.shape[1]))
        ]
        or [np.empty(0)]
    )
    apart = lengths > 0.0
    change = np.abs(kept[apart] / lengths[apart] - 1.0)
    return float(change.max(initial=0.0)), int(apart.sum())


def _times(X: Any, R: Any) -> np.ndarray:
    """Return X Rᵀ as an array; BLAS takes a sparse R with many entries if the rows are dense."""
    if sp.issparse(R) and not sp.issparse(X) and R.nnz > DENSE_SHARE * R.shape[0] * R.shape[1]:
        R = R.toarray()
    product = X.astype(np.float64, copy=False) @ R.T
    return product.toarray() if sp.issparse(product) else np.asarray(product)


def _squares(D: Any) -> np.ndarray:
    if sp.issparse(D):
        return np.asarray(D.multiply(D).sum(axis=1)).ravel()
    return np.einsum("ij,ij->i", D, D)
