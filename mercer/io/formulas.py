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
from mercer.machines import (
    SVC,
    SVR,
    KernelLogistic,
    KernelMachine,
    KernelRidge,
    KernelRidgeClassifier,
    NuSVC,
    NuSVR,
    OneClassSVM,
)

MACHINES = (
    *(SVC, NuSVC, SVR, NuSVR, OneClassSVM),
    *(KernelRidge, KernelRidgeClassifier, KernelLogistic, KernelMachine),
)


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


class MachineFormula(NamedTuple):
    """f(x) = Σᵢ αᵢ k(x, sᵢ) + b, a column of α for each value, and what values mean."""

    kernel: Formula
    centres: np.ndarray  # (n, d)
    coefs: np.ndarray  # (n, t)
    offsets: np.ndarray  # (t,)
    classes: np.ndarray | None  # of a classifier; of novelty detection −1, 1
    pairs: list[tuple[int, int]]  # of values that are votes: positive for the first
    above: str = ">"  # how one value compares with 0 where it means the last class

    @classmethod
    def of(cls, model: Any) -> MachineFormula:
        """Return a fitted model; raise where it has no such form."""
        if not isinstance(model, MACHINES):
            known = ", ".join(machine.__name__ for machine in MACHINES)
            raise TypeError(f"model must be one of {known}; got {type(model).__name__}")
        check_is_fitted(model)
        if model.kernel_.domain != "vectors" or any(
            isinstance(leaf, Precomputed) for leaf in model.kernel_.leaves()
        ):
            raise _unknown(model.kernel_)
        centres, coefs = model._expansion()
        by_pairs = bool(getattr(model, "_by_pairs", False))
        if by_pairs and getattr(model, "break_ties", False):
            raise ValueError("break_ties=True can't be exported: votes are counted")
        classes = getattr(model, "classes_", None)
        if isinstance(model, OneClassSVM):
            classes = np.array([-1, 1])
        rows = centres.rows(np.dtype(np.float64))
        return cls(
            formula_of(model.kernel_),
            rows.toarray() if centres.is_sparse else np.asarray(rows),
            np.asarray(coefs, dtype=np.float64),
            np.broadcast_to(np.float64(model.intercept_), coefs.shape[1]).copy(),
            classes,
            model._problems() if by_pairs else [],
            ">=" if isinstance(model, OneClassSVM) else ">",
        )
