"""Ridge regression on a centred table: by a factor for one λ, by a decomposition for many."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import eigh
from scipy.linalg.lapack import dpocon, dpotrf, dpotrs

from mercer._floats import EPS
from mercer.linear._base import DenseDesign, all_targets, thin_svd
from mercer.linear._sparse import prove_ridge
from mercer.result import Certificate, Solution, Status
from mercer.solvers.ridge_loo import LooErrors

CLEAR_EIGENVALUES = 1e-4  # ratio of eigenvalues of XᵀX that have 12 digits
FACTORED_CONDITION = 1e-8  # reciprocal condition of a matrix that is factored


class RowSpectrum(NamedTuple):
    """The decomposition U diag(s) Vᵀ of the weighted, centred rows, and the targets in it.

    ``outside`` is the share of each row that is neither in U nor in the intercept, ``rest`` the
    part of the targets there: computed from what is left, so that nothing cancels where λ is small.
    """

    U: np.ndarray  # (n, r)
    s: np.ndarray  # (r,)
    Vt: np.ndarray  # (r, d)
    target: np.ndarray  # UᵀY, (r, t)
    rest: np.ndarray  # (n, t)
    outside: np.ndarray  # (n,)

    @classmethod
    def of(cls, design: DenseDesign, intercept: bool) -> RowSpectrum:
        X, Y = design.weighted()
        U, s, Vt = _by_squares(X) or thin_svd(X)
        keep = s > max(X.shape) * EPS * s.max(initial=0.0)
        U, s, Vt = U[:, keep], s[keep], Vt[keep]
        target = U.T @ Y
        if len(s) == len(X) - intercept:  # U and the intercept span everything
            return cls(U, s, Vt, target, np.zeros_like(Y), np.zeros(len(X)))
        held = np.einsum("ik,ik->i", U, U)
        if intercept:
            held = held + design.weight / design.weight.sum()
        return cls(U, s, Vt, target, Y - U @ target, np.maximum(1.0 - held, 0.0))

    def coef(self, lam: float) -> np.ndarray:
        """Return the coefficients (d, t) for λ ≥ 0."""
        return self.Vt.T @ ((self.s / (self.s**2 + lam))[:, None] * self.target)

    def errors(self, lams: np.ndarray, weight: np.ndarray) -> LooErrors:
        """Return the leave-one-out errors rᵢ / (1 − hᵢ), h the leverages: exact for every λ."""
        with np.errstate(divide="ignore", invalid="ignore"):
            left = lams / (self.s[:, None] ** 2 + lams)  # (r, L): what shrinking leaves
            room = self.outside[:, None] + self.U**2 @ left  # 1 − h, (n, L)
            loo, gcv = np.empty(len(lams)), np.empty(len(lams))
            for k in range(len(lams)):
                r = self.rest + self.U @ (left[:, k, None] * self.target)  # √w (y − f), (n, t)
                loo[k] = np.sum((r / room[:, k, None]) ** 2)
                gcv[k] = np.sum(r**2) / np.mean(room[:, k]) ** 2
        scale = weight.sum() * self.target.shape[1]
        return LooErrors(lams, _numbers(loo / scale), _numbers(gcv / scale))

    def each_target(self) -> list[RowSpectrum]:
        """Return what is known of each target alone."""
        targets = zip(self.target.T, self.rest.T, strict=True)
        return [self._replace(target=t[:, None], rest=r[:, None]) for t, r in targets]

    def errors_of_each(self, lams: np.ndarray, weight: np.ndarray) -> LooErrors:
        """Return the errors of targets that have a λ each."""
        pairs = zip(self.each_target(), lams, strict=True)
        found = [target.errors(np.array([lam]), weight) for target, lam in pairs]
        return LooErrors(*(np.concatenate(figures) for figures in zip(*found, strict=True)))

    @property
    def top(self) -> float:
        """The largest squared singular value; 1 if there is none."""
        return float(self.s[0] ** 2) if len(self.s) else 1.0


def _by_squares(X: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray] | None:
    """Return the decomposition of a tall table from XᵀX, or None if that loses digits."""
    n, d = X.shape
    if n <= 2 * d:
        return None
    squares, V = eigh(X.T @ X, overwrite_a=True, check_finite=False)
    if not squares[0] > CLEAR_EIGENVALUES * squares[-1]:
        return None
    s, V = np.sqrt(squares[::-1]), V[:, ::-1]
    return (X @ V) / s, s, V.T


def _numbers(errors: np.ndarray) -> np.ndarray:
    """Return errors with 0/0 as infinite: a row that alone determines its fit predicts nothing."""
    return np.where(np.isnan(errors), np.inf, errors)


def solve_factored(design: DenseDesign, lam: float) -> Solution | None:
    """Return the coefficients for one λ > 0 by a factor of the smaller of XᵀX + λ and XXᵀ + λ.

    None if that loses too many digits, for which a step of refinement does not make up.
    """
    X, Y = design.weighted()
    wide = X.shape[0] < X.shape[1]
    M = X @ X.T if wide else X.T @ X
    norm = float(np.trace(M)) ** 0.5
    M[np.diag_indices_from(M)] += lam
    size = float(np.abs(M).sum(axis=0).max())
    factor, failed = dpotrf(M, lower=1, overwrite_a=1)
    share = 0.0 if failed else float(dpocon(factor, size, uplo="L")[0])
    if not share > FACTORED_CONDITION:
        return None
    target = X.T @ Y
    coef = X.T @ dpotrs(factor, Y, lower=1)[0] if wide else dpotrs(factor, target, lower=1)[0]
    rest = target - X.T @ (X @ coef) - lam * coef
    if not wide:
        coef = coef + dpotrs(factor, rest, lower=1)[0]
        rest = target - X.T @ (X @ coef) - lam * coef
    certificate = _certificate(design, rest, target, norm, {"condition_estimate": 1.0 / share})
    return Solution(coef, Status.OPTIMAL, certificate) if certificate.ok else None


def solve_spectral(design: DenseDesign, spectrum: RowSpectrum, lam: float) -> Solution:
    """Return the coefficients (d, t) for one λ, proved."""
    coef = spectrum.coef(lam)
    X, Y = design.weighted()
    s = spectrum.s if len(spectrum.s) else np.ones(1)
    condition = float((s[0] ** 2 + lam) / (s[-1] ** 2 + lam))
    parts = {"condition_estimate": condition, "rank": len(spectrum.s)}
    residual, norm = X.T @ (Y - X @ coef) - lam * coef, float(np.linalg.norm(X))
    certificate = _certificate(design, residual, X.T @ Y, norm, parts)
    status = Status.OPTIMAL if certificate.ok else Status.ROUNDING
    return Solution(coef, status, certificate)


def solve_each(design: DenseDesign, spectrum: RowSpectrum, lams: np.ndarray) -> Solution:
    """Return the coefficients (d, t) for a λ of each target, proved one by one."""
    targets = [design._replace(Y=y[:, None]) for y in design.Y.T]
    parts = zip(targets, spectrum.each_target(), lams, strict=True)
    return all_targets([solve_spectral(target, known, lam) for target, known, lam in parts])


def _certificate(
    design: DenseDesign,
    residual: np.ndarray,
    target: np.ndarray,
    norm: float,
    parts: dict[str, Any],
) -> Certificate:
    rounding = 64 * EPS * norm * float(np.linalg.norm(design.weighted_targets()))
    rows = f"{design.X.shape[0]} rows, {design.X.shape[1]} columns"
    return prove_ridge(residual, target, rounding, parts, rows)
