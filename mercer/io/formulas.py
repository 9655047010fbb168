"""A fitted machine as formulas and tables of numbers, which other languages can be written from."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from sklearn.utils.validation import check_is_fitted

from mercer._floats import DOUBLE
from mercer.io.views import RowView
from mercer.kernels import (
    RBF,
    ChiSquared,
    Cosine,
    Exponential,
    Intersection,
    Kernel,
    Laplacian,
    Linear,
    Matern,
    Periodic,
    Polynomial,
    Precomputed,
    RationalQuadratic,
    Sigmoid,
)
from mercer.kernels.base import Constant, Exp, Normalized, Power, Product, Sum
from mercer.kernels.radial import finite_rate
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
    MetricRidge,
    MetricRidgeClassifier,
    NuSVC,
    NuSVR,
    OneClassSVM,
    Perceptron,
)

EXPANSIONS = (
    *(SVC, NuSVC, SVR, NuSVR, OneClassSVM, Perceptron, LaplacianRidge, LaplacianRidgeClassifier),
    *(KernelRidge, KernelRidgeClassifier, KernelLogistic, KernelMachine),
    *(MetricRidge, MetricRidgeClassifier),
)
LINEAR = (
    *(LinearSVC, LogisticRegression, LinearRegression, Ridge, Lasso, ElasticNet),
    *(QuantileRegression, PenaltyRegression),
)
SHARED = {
    "model": """\
model : estimator
    A fitted `SVC`, `NuSVC`, `SVR`, `NuSVR`, `OneClassSVM`, `KernelRidge`, `MetricRidge` and their
    classifiers, `KernelLogistic`, `KernelMachine`, `Perceptron`, `LaplacianSVC`, `LaplacianRidge`
    or `LaplacianRidgeClassifier` with a kernel of inner products or distances, also under a
    metric, or a linear model.
path : str or Path
    Where to.
""",
}


class Formula(NamedTuple):
    """An operation on formulas; a leaf is a number, or a statistic of z and the z of a centre."""

    name: str  # add, multiply, power, exp, tanh, number; or one of `DISTANCES` or `PRODUCTS`
    parts: tuple[Formula, ...] = ()
    value: float = 0.0  # of a number; the exponent of a power and of Lᵖ distances
    view: int = 0  # which z
    sides: str = "xs"  # a row and a centre, a row and itself ("xx"), a centre and itself ("ss")

    def statistics(self) -> set[Formula]:
        """Return the statistics that it reads."""
        if not self.parts:
            return set() if self.name == "number" else {self}
        return set().union(*(part.statistics() for part in self.parts))


DISTANCES = ("squared", "l1", "lp", "chi")  # Σ of (a − b)², |a − b|, |a − b|ᵖ, (a − b)²/(a + b)
PRODUCTS = ("inner", "least")  # Σ of ab, min(a, b)
OF_RADIAL = {"squared_distance": "squared", "l1": "l1", "lp": "lp"}


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
    return a if exponent == 1.0 else Formula("power", (a,), float(exponent))


def exp(a: Formula) -> Formula:
    """Return eᵃ."""
    return Formula("exp", (a,))


class KernelFormula:
    """A kernel as a formula, and the views of the rows that it needs.

    Parameters
    ----------
    kernel : Kernel
        A bound kernel.
    centres : array of shape (n, d)
        The rows that new ones are compared with.
    """

    def __init__(self, kernel: Kernel, centres: np.ndarray):
        self._centres = centres
        self.views = [RowView.given(centres.shape[1])]
        self.formula = self._of(kernel)

    def _of(self, kernel: Kernel, sides: str = "xs") -> Formula:
        if isinstance(kernel, (Sum, Product)):
            join = add if isinstance(kernel, Sum) else multiply
            return join(self._of(kernel.left, sides), self._of(kernel.right, sides))
        if type(kernel) is Constant:
            return number(kernel.value)
        if type(kernel) is Power:
            return power(self._of(kernel.kernel, sides), kernel.exponent)
        if type(kernel) is Exp:
            return exp(self._of(kernel.kernel, sides))
        if type(kernel) is Normalized:
            if sides != "xs":
                return number(1.0)
            own = multiply(self._of(kernel.kernel, "xx"), self._of(kernel.kernel, "ss"))
            return multiply(self._of(kernel.kernel), power(own, -0.5))
        return self._leaf(kernel, sides)

    def _leaf(self, kernel: Any, sides: str) -> Formula:
        if type(kernel) is Linear:
            return add(self._statistic("inner", sides), number(kernel.bias))
        if type(kernel) in (Polynomial, Sigmoid):
            inner = multiply(number(kernel.scale), self._statistic("inner", sides))
            inner = add(inner, number(kernel.bias))
            if type(kernel) is Sigmoid:
                return Formula("tanh", (inner,))
            return power(inner, kernel.degree)
        d = self._centres.shape[1]
        if type(kernel) is Cosine:
            return self._statistic("inner", sides, RowView.unit(d))
        if type(kernel) is Intersection:
            return self._statistic("least", sides)
        if type(kernel) is ChiSquared:
            return _decay(self._statistic("chi", sides), kernel.gamma)
        if type(kernel) is Periodic:
            distance = self._statistic("squared", sides, RowView.circles(kernel.period, d))
            return _decay(distance, kernel.gamma)
        if type(kernel) in (RBF, Exponential, Laplacian, Matern, RationalQuadratic):
            return self._radial(kernel, sides)
        raise _unknown(kernel)

    def _radial(self, kernel: Any, sides: str) -> Formula:
        view = None if kernel._map is None else RowView.metric(kernel._map, self._centres)
        distance = self._statistic(OF_RADIAL[kernel.statistic], sides, view, float(kernel.p))
        if type(kernel) is Matern:
            return _matern(multiply(number(kernel._rate), power(distance, 0.5)), kernel.nu)
        if type(kernel) is RationalQuadratic:
            rate = number(float(kernel.gamma) * kernel._unit / kernel.alpha)
            return power(add(number(1.0), multiply(rate, distance)), -kernel.alpha)
        return _decay(power(distance, kernel._power), finite_rate(kernel._rate, DOUBLE))

    def _statistic(
        self, name: str, sides: str, view: RowView | None = None, p: float = 0.0
    ) -> Formula:
        if name in DISTANCES and sides != "xs":
            return number(0.0)
        exponent = p if name == "lp" else 0.0
        return Formula(name, (), exponent, 0 if view is None else self._number(view), sides)

    def _number(self, view: RowView) -> int:
        for number_, known in enumerate(self.views):
            if known.same(view):
                return number_
        self.views.append(view)
        return len(self.views) - 1


def _decay(distance: Formula, rate: float) -> Formula:
    return exp(multiply(number(-rate), distance))


def _matern(r: Formula, nu: float) -> Formula:
    decay = _decay(r, 1.0)
    if nu == 0.5:
        return decay
    factor = number(1.0) if nu == 1.5 else add(number(1.0), multiply(number(1.0 / 3.0), r))
    return multiply(add(number(1.0), multiply(r, factor)), decay)


def _unknown(kernel: Any) -> Exception:
    return ValueError(
        f"kernels that can be exported are Linear, Polynomial, Sigmoid, Cosine, RBF, Exponential, "
        f"Laplacian, Matern, RationalQuadratic, Periodic, ChiSquared and Intersection, their sums, "
        f"products, powers, exp and normalized; got {kernel!r}"
    )


class Odds(NamedTuple):
    """How values become probabilities: p = σ(af + s), a of each side of 0; else σ or softmax."""

    slopes: np.ndarray | None = None  # (t, 2)
    shifts: np.ndarray | None = None  # (t,), of LIBSVM


class MachineFormula(NamedTuple):
    """f(x) = Σᵢ αᵢ k(x, sᵢ) + b, a column of α for each value, and what values mean."""

    kernel: Formula
    views: list[RowView]  # of the rows, by the numbers that the kernel's statistics name
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
        kernel, views, centres, coefs = (_linear if isinstance(model, LINEAR) else _expanded)(model)
        by_pairs = bool(getattr(model, "_by_pairs", False))
        novelty = isinstance(model, OneClassSVM)
        return cls(
            kernel,
            views,
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


Parts = tuple[Formula, list[RowView], np.ndarray, np.ndarray]


def _expanded(model: Any) -> Parts:
    kernel = model.kernel_
    leaves = kernel.leaves()
    if kernel.domain != "vectors" or any(isinstance(leaf, Precomputed) for leaf in leaves):
        raise _unknown(kernel)
    centres, coefs = model._expansion()
    rows = centres.rows(np.dtype(np.float64))
    rows = rows.toarray() if centres.is_sparse else np.asarray(rows)
    found = KernelFormula(kernel, rows)
    return found.formula, found.views, rows, np.asarray(coefs, dtype=np.float64)


def _linear(model: Any) -> Parts:
    """Return w·x as a machine whose centres are the weights."""
    weights = np.atleast_2d(np.asarray(model.coef_, dtype=np.float64))
    return Formula("inner"), [RowView.given(weights.shape[1])], weights, np.eye(len(weights))


def _odds(model: Any) -> Odds | None:
    if isinstance(model, (KernelLogistic, LogisticRegression)):
        return Odds()
    always = isinstance(model, MetricRidgeClassifier)
    if not (hasattr(model, "slopes_") and (always or getattr(model, "probability", False))):
        return None
    shifts = getattr(model, "shifts_", None)
    return Odds(np.asarray(model.slopes_), None if shifts is None else np.asarray(shifts))
