"""Ridge regression for every λ from one singular value decomposition, and its proof."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import eigh
from scipy.linalg.lapack import dpocon, dpotrf, dpotrs

from mercer._floats import EPS, TINY
from mercer.linear._base import Rows, thin_svd
from mercer.result import Certificate, Solution, Status

TOLERANCE = 1e-8
GRID = (1e-9, 10.0)  # of the largest squared singular value: what is tried first
BOUNDS = (1e-13, 1e6)  # the same: where a search ends
CLEAR = 1e-4  # ratio of eigenvalues of XᵀX that have 12 digits
FACTORED = 1e-8  # reciprocal condition of a matrix that is factored
N_GRID = 30  # values in the grid
N_MORE = 10  # values that a grid is extended by


class LooErrors(NamedTuple):
    """Mean squared errors of every λ that was tried, over rows (by weight) and targets."""

    lams: np.ndarray
    loo: np.ndarray
    gcv: np.ndarray

    @property
    def best(self) -> float:
        """The λ of the smallest leave-one-out error."""
        return float(self.lams[self.loo.argmin()])


class Spectrum(NamedTuple):
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
    def of(cls, rows: Rows, intercept: bool) -> Spectrum:
        X, Y = rows.weighted()
        U, s, Vt = _by_squares(X) or thin_svd(X)
        keep = s > max(X.shape) * EPS * s.max(initial=0.0)
        U, s, Vt = U[:, keep], s[keep], Vt[keep]
        target = U.T @ Y
        if len(s) == len(X) - intercept:  # U and the intercept span everything
            return cls(U, s, Vt, target, np.zeros_like(Y), np.zeros(len(X)))
        held = np.einsum("ik,ik->i", U, U)
        if intercept:
            held = held + rows.weight / rows.weight.sum()
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
    if not squares[0] > CLEAR * squares[-1]:
        return None
    s, V = np.sqrt(squares[::-1]), V[:, ::-1]
    return (X @ V) / s, s, V.T


def _numbers(errors: np.ndarray) -> np.ndarray:
    """Return errors with 0/0 as infinite: a row that alone determines its fit predicts nothing."""
    return np.where(np.isnan(errors), np.inf, errors)


def search(spectrum: Spectrum, weight: np.ndarray) -> LooErrors:
    """Try a grid of λ, and go on beyond a border at which the best lies."""
    lams = spectrum.top * np.geomspace(*GRID, N_GRID)
    ratio, errors = lams[1] / lams[0], spectrum.errors(lams, weight)
    lowest, highest = (bound * spectrum.top for bound in BOUNDS)
    while True:
        more = _beyond(errors, ratio)
        more = more[(more >= lowest) & (more <= highest)]
        if not len(more):
            return errors
        errors = _merged(errors, spectrum.errors(more, weight))


def _beyond(errors: LooErrors, ratio: float) -> np.ndarray:
    if errors.best == errors.lams[0]:
        return errors.best / ratio ** np.arange(N_MORE, 0, -1)
    if errors.best == errors.lams[-1]:
        return errors.best * ratio ** np.arange(1, N_MORE + 1)
    return np.empty(0)


def _merged(a: LooErrors, b: LooErrors) -> LooErrors:
    lams, loo, gcv = (np.concatenate(pair) for pair in zip(a, b, strict=True))
    order = lams.argsort()
    return LooErrors(lams[order], loo[order], gcv[order])


def solve_one(rows: Rows, lam: float) -> Solution | None:
    """Return the coefficients for one λ > 0 by a factor of the smaller of XᵀX + λ and XXᵀ + λ.

    None if that loses too many digits, for which a step of refinement does not make up.
    """
    X, Y = rows.weighted()
    wide = X.shape[0] < X.shape[1]
    M = X @ X.T if wide else X.T @ X
    norm = float(np.trace(M)) ** 0.5
    M[np.diag_indices_from(M)] += lam
    size = float(np.abs(M).sum(axis=0).max())
    factor, failed = dpotrf(M, lower=1, overwrite_a=1)
    share = 0.0 if failed else float(dpocon(factor, size, uplo="L")[0])
    if not share > FACTORED:
        return None
    target = X.T @ Y
    coef = X.T @ dpotrs(factor, Y, lower=1)[0] if wide else dpotrs(factor, target, lower=1)[0]
    rest = target - X.T @ (X @ coef) - lam * coef
    if not wide:
        coef = coef + dpotrs(factor, rest, lower=1)[0]
        rest = target - X.T @ (X @ coef) - lam * coef
    certificate = _certificate(rows, rest, target, norm, {"condition_estimate": 1.0 / share})
    return Solution(coef, Status.OPTIMAL, certificate) if certificate.ok else None


def solve_ridge_rows(rows: Rows, spectrum: Spectrum, lam: float) -> Solution:
    """Return the coefficients (d, t) for one λ, proved."""
    coef = spectrum.coef(lam)
    certificate = prove_ridge(rows, coef, lam, spectrum)
    status = Status.OPTIMAL if certificate.ok else Status.ROUNDING
    return Solution(coef, status, certificate)


def prove_ridge(rows: Rows, coef: np.ndarray, lam: float, spectrum: Spectrum) -> Certificate:
    """Prove Xᵀ(Y − Xc) = λc, relative to XᵀY."""
    X, Y = rows.weighted()
    residual = X.T @ (Y - X @ coef) - lam * coef
    s = spectrum.s if len(spectrum.s) else np.ones(1)
    parts = {
        "condition_estimate": float((s[0] ** 2 + lam) / (s[-1] ** 2 + lam)),
        "rank": len(spectrum.s),
    }
    return _certificate(rows, residual, X.T @ Y, float(np.linalg.norm(X)), parts)


def _certificate(
    rows: Rows, residual: np.ndarray, target: np.ndarray, norm: float, parts: dict[str, Any]
) -> Certificate:
    rounding = 64 * EPS * norm * float(np.linalg.norm(rows.weighted_targets()))
    scale = max(float(np.linalg.norm(target)), rounding / TOLERANCE, TINY)
    value = float(np.linalg.norm(residual)) / scale
    about = f"(XᵀX + λ) w = Xᵀy on {rows.X.shape[0]} rows, {rows.X.shape[1]} columns"
    return Certificate("relative residual", value, TOLERANCE, about, {"residual": value, **parts})
