"""Support vector machines that are told shares of points: ν-classification and ν-regression."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from numbers import Real
from typing import Any, ClassVar

import numpy as np

from mercer._docstrings import described
from mercer._sklearn import Interval
from mercer._state import Attribute, Either, Floats
from mercer.gram import Gram
from mercer.machines._classifier import Training
from mercer.machines._voting import VotingMachine
from mercer.machines.svr import SHARED, RegressionMachine
from mercer.margin import MarginProblem, NuProblem
from mercer.solvers import MarginSolution, solve_nu


class NuSVC(VotingMachine):
    """Support vector classifier by a share ν: min ½‖f‖² − νnρ + Σᵢ max(0, ρ − yᵢ(f(xᵢ) + b)).

    At most a share ν of the points lies inside the margin or on the wrong side, and at least a
    share ν are support vectors. What is kept is f/ρ: the machine `SVC` with ``C=1/ρ``, as in LIBSVM
    and scikit-learn. Of several classes each pair has its ρ.

    Parameters
    ----------
    kernel : Kernel, str or callable, default="rbf"
        The kernel.
    nu : float, default=0.5
        ν in (0, 1]. Where one class has few points it must be smaller: at most twice the share of
        the smaller class (of its weight, with weights). Where classes overlap, too small a ν leaves
        no margin, which a warning tells; the certificate says how large it must be.
    tol, probability, multiclass, decision_function_shape, break_ties, max_iter, time_limit, memory
        As for `SVC`; violations are in the unit of the margin ρ.

    Attributes
    ----------
    support_, support_vectors_, n_support_, dual_coef_, intercept_, coef_, margin_
        As for `SVC`.
    C_ : float or array
        1/ρ of each problem: `SVC` with this ``C`` is the same machine.
    certificate_ : Certificate
        Duality gap of the ν-problem itself (in the unit of f, not f/ρ), ``rho``, both sums, and
        the KKT conditions.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from mercer import NuSVC
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = NuSVC(nu=0.2).fit(X, y)
    >>> bool((model.slack(X, y) > 1e-3).mean() <= 0.2 <= len(model.support_) / len(X))
    True
    >>> model.certificate_.ok
    True
    """

    fitted_state: ClassVar[dict[str, Attribute]] = {
        "C_": Either(Floats(), Floats("problems")),
    }

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **VotingMachine._parameter_constraints,
        "nu": [Interval(Real, 0, 1, closed="right")],
    }

    def __init__(
        self,
        kernel: Any = "rbf",
        *,
        nu: float = 0.5,
        tol: float = 1e-3,
        probability: bool = False,
        multiclass: str = "ovo",
        decision_function_shape: str = "ovr",
        break_ties: bool = False,
        max_iter: int = -1,
        time_limit: float | None = None,
        memory: Any = None,
    ):
        self.kernel = kernel
        self.nu = nu
        self.tol = tol
        self.probability = probability
        self.multiclass = multiclass
        self.decision_function_shape = decision_function_shape
        self.break_ties = break_ties
        self.max_iter = max_iter
        self.time_limit = time_limit
        self.memory = memory

    class_weight = None  # weights of rows say the same, and how large ν may be then

    def _bound(self, weight: np.ndarray) -> float:
        return 1.0

    def _prepare(self, X: Any, y: Any, sample_weight: Any) -> Training:
        training = super()._prepare(X, y, sample_weight)
        for pair in self._problems():
            problem = NuProblem.classify(self._problem_of(training, *pair)[1], self.nu)
            most = self.nu * problem.largest / problem.size
            if self.nu > most * (1.0 + 1e-12):
                raise ValueError(
                    f"nu={self.nu} is infeasible for {self._name(*pair)}: twice the share of the "
                    f"smaller class is {most:.6g}; choose nu ≤ {most:.6g}"
                )
        return training

    @property
    def _solve_one(self) -> Callable[..., MarginSolution]:
        return self._solve_pair

    def _solve_pair(
        self,
        K: Gram,
        index: np.ndarray,
        problem: MarginProblem,
        *,
        start: Any = None,
        about: str = "",
        **options: Any,
    ) -> MarginSolution:
        shares = NuProblem.classify(problem, self.nu)
        # folds may have a little less of the smaller class
        shares = shares._replace(size=min(shares.size, shares.largest))
        return solve_nu(K, index, shares, about=about, **options)

    def _finish(self, training: Training, solutions: list[Any]) -> None:
        inverse = np.array([1.0 / solution.price for solution in solutions])
        self.C_ = inverse[0] if len(inverse) == 1 else inverse
        super()._finish(training, solutions)


@described(SHARED)
class NuSVR(RegressionMachine):
    """Support vector regression by a share ν: the width ε of the tube is a part of the solution.

    min ½‖f‖² + C (νnε + Σᵢ max(0, |yᵢ − f(xᵢ) − b| − ε)) over f, b and ε ≥ 0: at most a share ν of
    the targets lies outside the tube, and at least a share ν are support vectors. `SVR` with
    ``epsilon=model.epsilon_`` is the same machine.

    Parameters
    ----------
    [kernel]
    nu : float, default=0.5
        ν in (0, 1].
    C : float, default=1.0
        Bound of the coefficients, C > 0.
    [end]

    Attributes
    ----------
    [fitted]
    epsilon_ : float
        ε, half the width of the tube.
    certificate_ : Certificate
        Duality gap of the ν-problem itself, ``epsilon``, both sums, and the KKT conditions.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import NuSVR
    >>> X = np.linspace(0, 3, 40)[:, None]
    >>> noise = np.random.default_rng(0).uniform(-0.3, 0.3, 40)
    >>> model = NuSVR(nu=0.2, C=10.0).fit(X, np.sin(X[:, 0]) + noise)
    >>> 0.15 < model.epsilon_ < 0.3, model.certificate_.ok
    (True, True)
    """

    fitted_state: ClassVar[dict[str, Attribute]] = {
        "epsilon_": Floats(),
    }

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **RegressionMachine._parameter_constraints,
        "nu": [Interval(Real, 0, 1, closed="right")],
        "C": [Interval(Real, 0, None, closed="neither")],
    }

    def __init__(
        self,
        kernel: Any = "rbf",
        *,
        nu: float = 0.5,
        C: float = 1.0,
        tol: float = 1e-3,
        max_iter: int = -1,
        time_limit: float | None = None,
        memory: Any = None,
    ):
        super().__init__(kernel, tol, max_iter, time_limit, memory)
        self.nu = nu
        self.C = C

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> NuSVR:
        """Fit the machine to rows X and numbers y."""
        self._validate_params()
        sample, y, weight = self._fit_rows(X, y, sample_weight, y_numeric=True)
        problem = NuProblem.regress(np.asarray(y, dtype=np.float64), self.C * weight, self.nu)
        solution = solve_nu(
            self._gram(sample),
            np.arange(len(sample)),
            problem,
            tol=self.tol,
            limits=self._limits(),
            exact=cache(lambda: self._gram(sample, dtype=np.float64)),
        )
        self.epsilon_ = float(solution.price)
        self._keep_machine(sample, solution)
        return self
