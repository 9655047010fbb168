"""Linear discriminant analysis: classification and projection by the class means."""

from __future__ import annotations

from typing import Any, ClassVar, NamedTuple

import numpy as np
from scipy.linalg import eigh, svd

from mercer._floats import EPS, TINY, safe_unit
from mercer._labels import class_codes, class_priors, estimated_covariance
from mercer._sklearn import HasMethods, StrOptions
from mercer._state import Attribute, Floats
from mercer.result import Solution
from mercer.solvers import fix_signs
from mercer.solvers.eigen import status_of
from mercer.spectral._base import (
    COUNT,
    SHARE,
    LinearProjection,
    NearestMean,
    eigen_proof,
    off_identity,
    within_classes,
)
from mercer.spectral._covariance import Covariance, deviations, ledoit_wolf, no_zero, project


class LDA(NearestMean, LinearProjection):
    """Linear discriminant analysis: nearest class mean where the within-class covariance is I.

    The directions w maximise wᵀS_b w / wᵀS_w w, so that S_b w = λ S_w w and WᵀS_wW = I, with
    S_w = Σ_i (x_i − μ_c)(x_i − μ_c)ᵀ / n and S_b = Σ_c π_c (μ_c − μ)(μ_c − μ)ᵀ. In these
    coordinates z, a row belongs to the class with the largest log π_c − ½‖z − z_c‖².

    The columns of X may be collinear or more than the rows: S_w is whitened on its range, with each
    column in the unit of its deviation within classes.

    Parameters
    ----------
    n_components : int or None, default=None
        How many directions, at most C − 1 (fewer are kept if there are fewer); None means all.
        With fewer than there are both the projection and the classifier are the rank-reduced ones.
    priors : array of shape (n_classes,), default=None
        π, positive, with sum 1; None means the shares of the classes in y.
    shrinkage : float in [0, 1], "auto" or None, default=None
        None is the maximum likelihood S_w above, in which every row counts the same. A number s
        takes S_w = Σ_c π_c C_c, the covariances of the classes weighted by their priors, and then
        (1 − s) S_w + s tr(S_w)/d I. "auto" shrinks each class by the rule of Ledoit and Wolf, in
        the units of its columns.

    covariance : covariance estimator or None, default=None
        An estimator whose ``fit`` leaves ``covariance_``, such as those of `sklearn.covariance`: a
        copy is fitted to each class, and S_w = Σ_c π_c C_c. Takes the place of ``shrinkage``.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
        The labels.
    means_, priors_ : array of shape (n_classes, d), (n_classes,)
        μ_c and π_c.
    mean_, xbar_ : array of shape (d,)
        μ = Σ_c π_c μ_c.
    components_, scalings_ : array of shape (k, d), (d, k)
        The directions W.
    eigenvalues_ : array of shape (k,)
        λ, the variance between classes in units of that within, falling.
    explained_variance_ratio_ : array of shape (k,)
        Shares of the variance between classes.
    class_scores_ : array of shape (n_classes, k)
        z_c, the projected class means.
    coef_, intercept_ : array of shape (n_classes, d), (n_classes,)
        The decision function is X coef_ᵀ + intercept_; one row if there are two classes.
    covariance_ : array of shape (d, d)
        S_w, computed when asked for.
    certificate_ : Certificate
        Eigen residual, orthogonality error, the discarded share of the variance between classes.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import LDA
    >>> X = np.array([[-2.0, 0.0], [-1.0, 1.0], [-1.0, -1.0], [2.0, 0.0], [1.0, 1.0], [1.0, -1.0]])
    >>> lda = LDA().fit(X, ["left", "left", "left", "right", "right", "right"])
    >>> lda.predict([[0.5, 3.0]])
    array(['right'], dtype='<U5')
    >>> lda.transform(X).shape
    (6, 1)
    >>> lda.certificate_.ok
    True
    """

    by_columns = True

    fitted_state: ClassVar[dict[str, Attribute]] = {
        "means_": Floats("classes", "columns"),
        "eigenvalues_": Floats("components"),
        "explained_variance_ratio_": Floats("components"),
        "_factor": Floats("axes", "columns"),
        "_ridge": Floats("columns"),
    }

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "n_components": [COUNT, None],
        "priors": ["array-like", None],
        "shrinkage": [SHARE, StrOptions({"auto"}), None],
        "covariance": [HasMethods("fit"), None],
    }

    def __init__(
        self,
        n_components: int | None = None,
        *,
        priors: Any = None,
        shrinkage: Any = None,
        covariance: Any = None,
    ):
        self.n_components = n_components
        self.priors = priors
        self.shrinkage = shrinkage
        self.covariance = covariance

    def fit(self, X: Any, y: Any) -> LDA:
        """Find the directions and the class means of rows X with labels y."""
        self._validate_params()
        X, y = self._fit_table(X, y, ensure_min_samples=2)
        self.classes_, codes = class_codes(y)
        counts = np.bincount(codes)
        self.priors_ = class_priors(self.priors, counts)
        rows, self.means_ = within_classes(X, codes)
        self.mean_ = self.priors_ @ self.means_
        if self.covariance is None:
            self._solve(self._within(rows, codes, counts))
        else:
            self._solve(self._estimated(X, codes))
        return self

    def _within(self, rows: np.ndarray, codes: np.ndarray, counts: np.ndarray) -> Within:
        """Return the within-class covariance as weighted rows in their units, and its floor."""
        spread = deviations(rows, np.abs(self.means_).max(axis=0))
        rows[:, spread == 0.0] = 0.0
        if not spread.any():
            raise ValueError(
                "X must vary within the classes: every row equals the mean of its class"
            )
        shrink = self.shrinkage
        if shrink is None or shrink == 0.0:
            share = 1.0 / counts.sum() if shrink is None else (self.priors_ / counts)[codes]
            return Within.of(rows, share, no_zero(spread), 0.0, len(counts))
        if shrink == "auto":
            return self._shrunk_by_class(rows, codes, counts, spread)
        share = self.priors_ / counts
        unit = _root_mean_square(rows, share[codes])
        return Within.of(
            rows, (1.0 - shrink) * share[codes], np.full(len(spread), unit), shrink, len(counts)
        )

    def _estimated(self, X: np.ndarray, codes: np.ndarray) -> Within:
        """Return the sum of the covariances that an estimator finds in the classes."""
        if self.shrinkage is not None:
            raise ValueError(
                f"covariance and shrinkage exclude one another; got {self.covariance!r} and "
                f"{self.shrinkage!r}"
            )
        S = np.zeros((X.shape[1], X.shape[1]))
        for c, share in enumerate(self.priors_):
            S += share * estimated_covariance(self.covariance, X[codes == c])
        unit = no_zero(np.sqrt(np.diagonal(S)))
        values, V = eigh(S / unit / unit[:, None])
        return Within(np.sqrt(values.clip(0.0))[:, None] * V.T, unit, 0.0, groups=0)

    def _shrunk_by_class(
        self, rows: np.ndarray, codes: np.ndarray, counts: np.ndarray, spread: np.ndarray
    ) -> Within:
        scale = np.array([safe_unit(size) for size in spread])
        keep, floors = ledoit_wolf(rows / scale, codes)  # (C,), (C, d)
        share = (self.priors_ * keep / counts)[codes]
        floor = self.priors_ @ floors
        if not floor.any():
            return Within.of(rows, share, no_zero(spread), 0.0, len(counts))
        return Within.of(rows, share, scale * np.sqrt(floor), 1.0, len(counts))

    def _solve(self, within: Within) -> None:
        S = Covariance.of(within.rows, within.floor, groups=within.groups)
        self._factor = S.axes.sizes[:, None] * S.axes.vectors.T * within.unit
        self._ridge = within.floor * within.unit**2
        shifts = (self.means_ - self.mean_) / within.unit
        B = np.sqrt(self.priors_)[:, None] * shifts  # S_b = BᵀB
        P, sizes, _ = svd(S.whiten(B.T), full_matrices=False, check_finite=False)
        k = self._count(sizes)
        W = fix_signs(S.whiten(P[:, :k]))
        self.eigenvalues_ = sizes[:k] ** 2
        total = max(float(sizes @ sizes), TINY)
        self.explained_variance_ratio_ = self.eigenvalues_ / total
        self.components_ = W.T / within.unit
        self.class_scores_ = shifts @ W
        self._accept(_proved(within, S, B, W, self.eigenvalues_, total))

    def _count(self, sizes: np.ndarray) -> int:
        most = min(len(self.classes_) - 1, len(sizes))
        found = int(np.sum(sizes[:most] > len(sizes) * EPS * sizes[0]))
        return found if self.n_components is None else min(found, self.n_components)

    def _discriminants(self, X: Any) -> np.ndarray:
        return self._projected(self._new_table(X))

    def _projected(self, X: Any) -> np.ndarray:
        return project(X, self.mean_, self.components_.T)

    @property
    def scalings_(self) -> np.ndarray:
        """The directions as columns."""
        return self.components_.T

    @property
    def xbar_(self) -> np.ndarray:
        """The mean of all classes."""
        return self.mean_

    @property
    def coef_(self) -> np.ndarray:
        """The weights of the decision function."""
        coef = self.class_scores_ @ self.components_
        return coef[1:] - coef[:1] if len(coef) == 2 else coef

    @property
    def intercept_(self) -> np.ndarray:
        """The offsets of the decision function."""
        means = self.class_scores_
        offset = np.log(self.priors_) - 0.5 * np.sum(means**2, axis=1)
        offset = offset[1:] - offset[:1] if len(offset) == 2 else offset
        return offset - self.coef_ @ self.mean_

    @property
    def covariance_(self) -> np.ndarray:
        """The within-class covariance."""
        return self._factor.T @ self._factor + np.diag(self._ridge)


class Within(NamedTuple):
    """Rows R with S_w = D (RᵀR + floor I) D, where D holds the units of the columns."""

    rows: np.ndarray  # (n, d)
    unit: np.ndarray  # (d,)
    floor: float
    groups: int  # within which rows are centred

    @classmethod
    def of(
        cls, rows: np.ndarray, share: Any, unit: np.ndarray, floor: float, groups: int
    ) -> Within:
        rows /= unit
        rows *= np.sqrt(share)[:, None] if np.ndim(share) else np.sqrt(share)
        return cls(rows, unit, float(floor), groups)

    def times(self, W: np.ndarray) -> np.ndarray:
        """Return (RᵀR + floor I) W."""
        return self.rows.T @ (self.rows @ W) + self.floor * W


def _proved(
    within: Within, S: Covariance, B: np.ndarray, W: np.ndarray, values: np.ndarray, total: float
) -> Solution:
    """Prove S_b w = λ S_w w on the range of S_w (residuals are whitened), and WᵀS_wW = I."""
    SW = within.times(W)
    largest = max(float(values.max(initial=0.0)), TINY)
    defect = S.whiten(B.T @ (B @ W) - SW * values)
    residual = float(np.linalg.norm(defect, axis=0).max(initial=0.0)) / largest
    proof = eigen_proof(
        residual,
        off_identity(W.T @ SW),
        f"S_b w = λ S_w w for {len(values)} directions of {len(B)} classes",
        rank=S.axes.rank if within.floor == 0.0 else B.shape[1],
        trace=total,
        discarded=max(1.0 - float(values.sum()) / total, 0.0),
        outside_range=_outside(S, B),
    )
    return Solution(W, status_of(proof), proof)


def _outside(S: Covariance, B: np.ndarray) -> float:
    """Return the share of the means' variance in directions without variance within classes."""
    whole = float(np.sum(B**2))
    if S.floor > 0 or whole == 0.0:
        return 0.0
    return max(1.0 - float(np.sum((B @ S.axes.vectors) ** 2)) / whole, 0.0)


def _root_mean_square(rows: np.ndarray, share: np.ndarray) -> float:
    """Return √(tr S / d) of S = Σᵢ shareᵢ xᵢxᵢᵀ."""
    largest = float(np.abs(rows).max())
    squares = np.einsum("ij,ij->i", rows / largest, rows / largest)
    return largest * float(np.sqrt(share @ squares / rows.shape[1]))
