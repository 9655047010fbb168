"""Quantile regression as a linear program, with and without λ‖w‖₁.

min Σ w ρ(y − Xw − b) + λ‖w‖₁ with ρ(r) = max(qr, (q − 1)r). The dual has a box and an equation for
each coefficient, as that of least absolute errors has:

    max yᵀu   subject to  −(1 − q)w ≤ u ≤ qw,  |Xᵀu| ≤ λ,  Σu = 0

|w| of a coefficient is the absolute error of one more row with a target of 0, so that λ is the
bound of d more multipliers v, with Xᵀu + v = 0.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from mercer._floats import TINY
from mercer.linear._base import DenseDesign
from mercer.linear._programs import (
    ProgramFit,
    gap_certificate,
    imbalance_of,
    in_columns,
    perfect_fit,
    residuals,
    rounding,
    solve_box_program,
    status_of,
    with_constant,
)
from mercer.linear._sparse import SparseDesign
from mercer.optimize import linear_program
from mercer.result import Certificate, Solution

ZERO = 1e-12  # of the largest coefficient, in units of the columns: what is 0 at a vertex


def solve_quantile(design: DenseDesign, q: float, lam: float, intercept: bool) -> Solution:
    """Minimise on a dense table; λ is in the unit of its columns."""
    y = design.Y[:, 0]
    fit = _penalised(design, y, q, lam, intercept) if lam > 0.0 else _plain(design, y, q, intercept)
    proof = prove_quantile(design, y, q, lam, fit, intercept)
    stats = {"steps": max(fit.steps, 1)}
    return Solution(fit.coef, status_of(proof, fit), proof, fit.offset, stats=stats)


def _plain(design: DenseDesign, y: np.ndarray, q: float, intercept: bool) -> ProgramFit:
    basis = design.basis()
    perfect = perfect_fit(basis, y, 0.0)
    if perfect is not None:
        return perfect
    top, unit = float(design.weight.max()), float(np.abs(y).max())
    w = design.weight / top
    found = solve_box_program(with_constant(basis, intercept), y / unit, (1.0 - q) * w, w)
    coef, offset = in_columns(basis, found.beta * unit, intercept)
    dual = (found.x - (1.0 - q) * w) * top
    return ProgramFit(coef, offset, dual, found.steps, found.interrupted)


def _penalised(
    design: DenseDesign, y: np.ndarray, q: float, lam: float, intercept: bool
) -> ProgramFit:
    n, d = design.X.shape
    norms = np.sqrt(np.einsum("ij,ij->j", design.X, design.X))
    scale = np.where(norms > 0.0, norms, 1.0)
    top, unit = float(design.weight.max()), float(np.abs(y).max()) or 1.0
    w, bound = design.weight / top, lam / scale / top
    one = np.full((n, int(intercept)), n**-0.5)
    B = np.block([[design.X / scale, one], [np.eye(d), np.zeros((d, int(intercept)))]])
    gains = np.append(y / unit, np.zeros(d))
    start = np.append((1.0 - q) * w, bound)
    found = solve_box_program(B, gains, start, np.append(w, 2.0 * bound), balanced=True)
    beta = found.beta[:d]
    coef = np.where(np.abs(beta) > ZERO * np.abs(beta).max(initial=0.0), beta, 0.0) * unit / scale
    offset = float(found.beta[d]) * unit * n**-0.5 if intercept else 0.0
    dual = (found.x[:n] - (1.0 - q) * w) * top
    return ProgramFit(coef, offset, dual, found.steps, found.interrupted)


def prove_quantile(
    design: DenseDesign, y: np.ndarray, q: float, lam: float, fit: ProgramFit, intercept: bool
) -> Certificate:
    """Prove that Σ w ρ(r) + λ‖w‖₁ is the least, from multipliers u of the residuals.

    The gap is Σ [w ρ(r) − ur] + Σ [λ|w| − w xᵀu], sums of terms that are never negative if u is in
    its box and |Xᵀu| ≤ λ, to which it is shrunk; Xᵀu must be 0 where λ is.
    """
    w, r, coef = design.weight, residuals(design, y, fit), fit.coef
    u = np.clip(fit.dual, -(1.0 - q) * w, q * w)
    slopes = u @ design.X
    if lam > 0.0:
        shrink = min(1.0, lam / max(float(np.abs(slopes).max(initial=0.0)), TINY))
        u, slopes = shrink * u, shrink * slopes
    cost = w * np.maximum(q * r, (q - 1.0) * r)
    primal = float(cost.sum()) + lam * float(np.abs(coef).sum())
    gap = float((cost - u * r).clip(0.0).sum())
    if lam > 0.0:
        gap += float((lam * np.abs(coef) - coef * slopes).clip(0.0).sum())
        size = abs(fit.offset) + float(np.abs(y).max())
        imbalance = abs(float(u.sum())) * size if intercept else 0.0
    else:
        imbalance = imbalance_of(design, y, u, fit, intercept)
    if primal < max(gap, imbalance):  # a perfect fit: u = 0 proves more
        gap, imbalance = primal, 0.0
    noise = rounding(design.X, y, coef) * float(w.sum())
    about = f"least Σ w max(qr, (q − 1)r){' + λ‖w‖₁' if lam > 0.0 else ''} with q = {q:g}"
    return gap_certificate((primal, gap, noise), imbalance, fit, about)


# ---------------------------------------------------------------- large and sparse
def solve_sparse_quantile(design: SparseDesign, q: float, lam: float, intercept: bool) -> Solution:
    """Minimise by HiGHS, which has proofs of its own: w = p − m with p, m ≥ 0."""
    n, d = design.X.shape
    X = sp.csr_array(sp.diags_array(1.0 / design.root) @ design.X)
    one = sp.csr_array(np.ones((n, int(intercept))))
    table = sp.hstack([X, -X, one, sp.eye_array(n), -sp.eye_array(n)], "csr")
    weight, price = design.root**2, lam / design.norms
    cost = np.concatenate([price, price, one.sum(axis=0) * 0.0, q * weight, (1.0 - q) * weight])
    bounds: list[Any] = [(0, None)] * (2 * d) + [(None, None)] * int(intercept)
    bounds += [(0, None)] * (2 * n)
    target = design.Y[:, 0] / design.root
    found = linear_program(cost, A_eq=table, b_eq=target, bounds=bounds)
    coef = found.value[:d] - found.value[d : 2 * d]
    offset = float(found.value[2 * d] + design.mean @ coef) if intercept else 0.0
    stats = {"steps": max(int(found.stats["iterations"]), 1)}
    return Solution(coef, found.status, found.certificate, offset, stats=stats)
