"""A fitted machine as formulas and tables of numbers, which other languages can be written from."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from sklearn.utils.validation import check_is_fitted

from mercer.kernels import (
    RBF,
    Exponential,
    Kernel,
    Laplacian,
    Linear,
    Matern,
    Polynomial,
    Precomputed,
    Sigmoid,
)
from mercer.kernels.base import Constant, Exp, Normalized, Power, Product, Sum
from mercer.linear import (
    ElasticNet,
    Lasso,
    LinearRegression,
    LogisticRegression,
    PenaltyRegression,
    QuantileRegression,
    Ridge,
)
from mercer.machines import (
    SVC,
    SVR,
    KernelLogistic,
    KernelMachine,
    KernelRidge,
    KernelRidgeClassifier,
    LaplacianRidge,
    LaplacianRidgeClassifier,
    LinearSVC,
    NuSVC,
    NuSVR,
    OneClassSVM,
    Perceptron,
)

EXPANSIONS = (
    *(SVC, NuSVC, SVR, NuSVR, OneClassSVM, Perceptron, LaplacianRidge, LaplacianRidgeClassifier),
    *(KernelRidge, KernelRidgeClassifier, KernelLogistic, KernelMachine),
)
LINEAR = (
    *(LinearSVC, LogisticRegression, LinearRegression, Ridge, Lasso, ElasticNet),
    *(QuantileRegression, PenaltyRegression),
)
SHARED = {
    "model": """\
model : estimator
    A fitted `SVC`, `NuSVC`, `SVR`, `NuSVR`, `OneClassSVM`, `KernelRidge`,
    `KernelRidgeClassifier`, `KernelLogistic`, `KernelMachine`, `Perceptron`, `LaplacianSVC`,
    `LaplacianRidge` or `LaplacianRidgeClassifier` with a kernel of inner products or distances,
    or a linear model.
path : str or Path
    Where to.
""",
}


class Formula(NamedTuple):
    """An operation on formulas; a leaf is a number or a statistic of x and a centre s."""

    name: str  # add, multiply, power, exp, tanh, number; inner, squared, l1, own_x, own_s
    parts: tuple[Formula, ...] = ()
    value: float = 0.0

    def statistics(self) -> set[str]:
        """Return the names of the statistics that it reads."""
        if not self.parts:
            return set() if self.name == "number" else {self.name}
        return set().union(*(part.statistics() for part in self.parts))


INNER = Formula("inner")  # x·s
SQUARED = Formula("squared")  # ‖x − s‖²
L1 = Formula("l1")  # Σ|xⱼ − sⱼ|
ZERO = Formula("number", value=0.0)
BETWEEN = {"inner": INNER, "squared": SQUARED, "l1": L1}
OF_X = {"inner": Formula("own_x"), "squared": ZERO, "l1": ZERO}  # k(x, x)
OF_S = {"inner": Formula("own_s"), "squared": ZERO, "l1": ZERO}


def number(value: float) -> Formula:
    """Return a constant."""
    return Formula("number", value=float(value))


def add(a: Formula, b: Formula) -> Formula:
    """Return a + b."""
    return Formula("add", (a, b))


def multiply(a: Formula, b: Formula) -> Formula:
    """Return a b."""
    return Formula("multiply", (a, b))


def power(a: Formula, exponent: float) -> Formula:
    """Return aᵉ."""
    return Formula("power", (a,), float(exponent))


def exp(a: Formula) -> Formula:
    """Return eᵃ."""
    return Formula("exp", (a,))


def formula_of(kernel: Kernel, of: dict[str, Formula] = BETWEEN) -> Formula:
    """Return a kernel as a formula of statistics of pairs, or of one row with itself."""
    if isinstance(kernel, (Sum, Product)):
        join = add if isinstance(kernel, Sum) else multiply
        return join(formula_of(kernel.left, of), formula_of(kernel.right, of))
    if type(kernel) is Constant:
        return number(kernel.value)
    if type(kernel) is Power:
        return power(formula_of(kernel.kernel, of), kernel.exponent)
    if type(kernel) is Exp:
        return exp(formula_of(kernel.kernel, of))
    if type(kernel) is Normalized:
        own = multiply(formula_of(kernel.kernel, OF_X), formula_of(kernel.kernel, OF_S))
        return multiply(formula_of(kernel.kernel), power(own, -0.5)) if of is BETWEEN else number(1)
    return _leaf(kernel, of)


def _leaf(kernel: Any, of: dict[str, Formula]) -> Formula:
    if type(kernel) is Linear:
        return add(of["inner"], number(kernel.bias))
    if type(kernel) in (Polynomial, Sigmoid):
        inner = add(multiply(number(kernel.scale), of["inner"]), number(kernel.bias))
        if type(kernel) is Sigmoid:
            return Formula("tanh", (inner,))
        return power(inner, kernel.degree)
    if type(kernel) in (RBF, Exponential, Laplacian, Matern) and kernel.metric is None:
        gamma = float(kernel.gamma)
        if type(kernel) is RBF:
            return exp(multiply(number(-gamma), of["squared"]))
        if type(kernel) is Matern:
            return _matern(multiply(number(kernel._rate), power(of["squared"], 0.5)), kernel.nu)
        if type(kernel) is Laplacian or float(kernel.p) == 1.0:
            radius = of["l1"]
        elif float(kernel.p) == 2.0:
            radius = power(of["squared"], 0.5)
        else:
            raise _unknown(kernel)
        scaled = power(multiply(number(gamma), radius), kernel.exponent)
        return exp(multiply(number(-1.0), scaled))
    raise _unknown(kernel)


def _matern(r: Formula, nu: float) -> Formula:
    decay = exp(multiply(number(-1.0), r))
    if nu == 0.5:
        return decay
    factor = number(1.0) if nu == 1.5 else add(number(1.0), multiply(number(1.0 / 3.0), r))
    return multiply(add(number(1.0), multiply(r, factor)), decay)


def _unknown(kernel: Any) -> Exception:
    return ValueError(
        f"kernels that can be exported are Linear, Polynomial, Sigmoid, RBF, Exponential, "
        f"Laplacian and Matern (p of 1 or 2, without a metric), their sums, products, powers, exp "
        f"and normalized; got {kernel!r}"
    )


class Odds(NamedTuple):
    """How values become probabilities: p = σ(af + s), a of each side of 0; else σ or softmax."""

    slopes: np.ndarray | None = None  # (t, 2)
    shifts: np.ndarray | None = None  # (t,), of LIBSVM


class MachineFormula(NamedTuple):
    """f(x) = Σᵢ αᵢ k(x, sᵢ) + b, a column of α for each value, and what values mean."""

    kernel: Formula
    centres: np.ndarray  # (n, d)
    coefs: np.ndarray  # (n, t)
    offsets: np.ndarray  # (t,)
    classes: np.ndarray | None  # of a classifier; of novelty detection −1, 1
    pairs: list[tuple[int, int]]  # of values that are votes: positive for the first
    above: str = ">"  # how one value compares with 0 where it means the last class
    ties: bool = False  # whether sums of values tell apart classes with as many votes
    odds: Odds | None = None

    @classmethod
    def of(cls, model: Any) -> MachineFormula:
        """Return a fitted model; raise where it has no such form."""
        if not isinstance(model, (*EXPANSIONS, *LINEAR)):
            known = ", ".join(machine.__name__ for machine in (*EXPANSIONS, *LINEAR))
            raise TypeError(f"model must be one of {known}; got {type(model).__name__}")
        check_is_fitted(model)
        if getattr(model, "multilabel_", False):
            raise ValueError("model must give a row one label; it was fitted to a table of labels")
        kernel, centres, coefs = (_linear if isinstance(model, LINEAR) else _expanded)(model)
        by_pairs = bool(getattr(model, "_by_pairs", False))
        novelty = isinstance(model, OneClassSVM)
        return cls(
            kernel,
            centres,
            coefs,
            np.broadcast_to(np.float64(model.intercept_), coefs.shape[1]).copy(),
            np.array([-1, 1]) if novelty else getattr(model, "classes_", None),
            model._problems() if by_pairs else [],
            ">=" if novelty else ">",
            by_pairs and getattr(model, "break_ties", False),
            _odds(model),
        )

    @property
    def agrees(self) -> bool:
        """Whether probabilities are moved until the predicted class is the likeliest."""
        odds = self.odds
        return odds is not None and odds.slopes is not None and odds.shifts is None


def _expanded(model: Any) -> tuple[Formula, np.ndarray, np.ndarray]:
    kernel = model.kernel_
    leaves = kernel.leaves()
    if kernel.domain != "vectors" or any(isinstance(leaf, Precomputed) for leaf in leaves):
        raise _unknown(kernel)
    centres, coefs = model._expansion()
    rows = centres.rows(np.dtype(np.float64))
    rows = rows.toarray() if centres.is_sparse else np.asarray(rows)
    return formula_of(kernel), rows, np.asarray(coefs, dtype=np.float64)


def _linear(model: Any) -> tuple[Formula, np.ndarray, np.ndarray]:
    """Return w·x as a machine whose centres are the weights."""
    weights = np.atleast_2d(np.asarray(model.coef_, dtype=np.float64))
    return INNER, weights, np.eye(len(weights))


def _odds(model: Any) -> Odds | None:
    if isinstance(model, (KernelLogistic, LogisticRegression)):
        return Odds()
    if not (getattr(model, "probability", False) and hasattr(model, "slopes_")):
        return None
    shifts = getattr(model, "shifts_", None)
    return Odds(np.asarray(model.slopes_), None if shifts is None else np.asarray(shifts))
