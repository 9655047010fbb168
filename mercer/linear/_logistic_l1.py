"""Logistic regression with λ‖w‖₁, as a problem of Newton's method on a set of columns."""

from __future__ import annotations

import numpy as np

from mercer._limits import Limits
from mercer.linear._logistic import LogisticDesign, scaled
from mercer.losses import Logistic, Risk, ScalarRisk, SoftmaxRisk
from mercer.optimize._l1_newton import L1Newton, L1Problem
from mercer.result import Solution


def likelihood_risk(codes: np.ndarray, weight: np.ndarray, n_classes: int) -> Risk:
    """Return minus the log-likelihood: of one function for two classes, else one for each."""
    if n_classes == 2:
        return ScalarRisk(Logistic(), 2.0 * codes - 1.0, weight)
    return SoftmaxRisk(codes, weight, n_classes)


def solve_l1(
    design: LogisticDesign,
    codes: np.ndarray,
    weight: np.ndarray,
    n_classes: int,
    l1: float,
    unit: float,
    *,
    tol: float,
    limits: Limits,
) -> Solution:
    """Minimise the likelihood with λ‖w‖₁ and the ridge of the design; the value is θ.

    ``unit`` is that of the weights, in which the figures of the proof are given.
    """
    risk = likelihood_risk(codes, weight, n_classes)
    scale = design.scale[:, 0]
    kinks = l1 / design.unit / scale
    if design.intercept:
        kinks[-1] = 0.0
    table = scaled(design.A, scale)
    problem = L1Problem(table, risk, kinks, design.penalty[:, 0], design.intercept)
    about = f"likelihood of {n_classes} classes with λ‖w‖₁; the gap is relative to its value at 0"
    return L1Newton(problem).solution(tol, limits, about, unit)
