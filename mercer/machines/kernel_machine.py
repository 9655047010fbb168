"""The representer theorem as an estimator: any convex loss, any kernel."""

from __future__ import annotations

from dataclasses import replace
from functools import cache, partial
from typing import Any, ClassVar

import numpy as np
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.utils import ClassifierTags, RegressorTags
from sklearn.utils.metaestimators import available_if

from mercer._array import parse_memory
from mercer._labels import class_codes, labels_of
from mercer._limits import Limits
from mercer._state import Attribute, Labels, Maybe
from mercer.gram import Gram
from mercer.kernels.sample import Sample
from mercer.losses import Loss, ScalarRisk, Squared, as_loss
from mercer.losses.base import CLASSIFY, REGRESS
from mercer.losses.names import NAMES
from mercer.machines._margin import (
    RiskEstimator,
    against_rest,
    merged,
    require_weights,
    used_rows,
)
from mercer.margin import MarginProblem
from mercer.result import Solution, Status
from mercer.solvers import solve_margin, solve_ridge
from mercer.solvers.box import solve_box
from mercer.solvers.primal import gap_in_time, guide_in_time, solve_primal

SYSTEM_ROWS = 3000  # whose linear system is solved within a second


class KernelMachine(RiskEstimator):
    """Kernel machine with any convex loss: min over f and b of Σᵢ wᵢ ℓ(yᵢ, f(xᵢ) + b) + λ‖f‖².

    By the representer theorem f(x) = Σᵢ αᵢ k(x, xᵢ). The loss decides what the machine is: with
    "squared" it is `KernelRidge`, with "hinge" `SVC` with C = 1/(2λ), with "epsilon_insensitive"
    `SVR`, with "logistic" `KernelLogistic`. A loss for labels makes it a classifier (several
    classes: one against the rest), a loss for numbers a regressor.

    Parameters
    ----------
    loss : Loss or str, default="squared"
        The loss: "squared", "huber", "absolute", "epsilon_insensitive", "quantile", "logistic",
        "hinge", "squared_hinge", or an object of `mercer.losses`, one's own too.
    kernel : Kernel, str or callable, default="rbf"
        The kernel.
    lam : float, default=1.0
        λ > 0, the weight of ‖f‖².
    fit_intercept : bool, default=True
        Whether to fit the offset b, which is not penalised.
    tol : float, default=1e-6
        The relative duality gap that is proved. It is about the square of the relative error of
        f, so that this is three digits; small problems are solved to rounding.
    max_iter : int, default=-1
        Most steps, Newton's for smooth losses and coordinate steps for others; −1 is no limit.
    time_limit : float or None, default=None
        Seconds; then the best so far is kept, with a warning.
    memory : int, str or None, default=None
        The byte budget; None is half of the free memory.

    Attributes
    ----------
    dual_coef_ : array of shape (n_support,) or (n_support, n_classes)
        α of the rows that take part.
    support_, support_vectors_ : array
        The numbers of these rows, and the rows.
    intercept_ : float or array of shape (n_classes,)
        b.
    classes_ : array
        The labels, of a classifier.
    certificate_ : Certificate
        Primal, dual, relative duality gap, norm of the gradient.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import KernelMachine
    >>> from mercer.losses import Quantile
    >>> X = np.linspace(0, 3, 60)[:, None]
    >>> y = np.sin(X[:, 0]) + np.tile([0.0, 0.0, 1.0], 20)
    >>> model = KernelMachine(Quantile(0.5), "rbf", lam=1e-3).fit(X, y)
    >>> model.predict([[1.5]]).round(1), model.certificate_.ok
    (array([1.]), True)
    """

    fitted_state: ClassVar[dict[str, Attribute]] = {
        "classes_": Maybe(Labels("classes")),
    }

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **RiskEstimator._parameter_constraints,
        "loss": [str, Loss],
    }
    named_parts = {**RiskEstimator.named_parts, "loss": as_loss}

    def __init__(
        self,
        loss: Any = "squared",
        kernel: Any = "rbf",
        *,
        lam: float = 1.0,
        fit_intercept: bool = True,
        tol: float = 1e-6,
        max_iter: int = -1,
        time_limit: float | None = None,
        memory: Any = None,
    ):
        self.loss = loss
        self.kernel = kernel
        self.lam = lam
        self.fit_intercept = fit_intercept
        self.tol = tol
        self.max_iter = max_iter
        self.time_limit = time_limit
        self.memory = memory

    @property
    def _kind(self) -> str:
        loss = NAMES.get(self.loss.lower()) if isinstance(self.loss, str) else self.loss
        return getattr(loss, "kind", REGRESS)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        if self._kind == CLASSIFY:
            tags.estimator_type, tags.classifier_tags = "classifier", ClassifierTags()
        else:
            tags.estimator_type, tags.regressor_tags = "regressor", RegressorTags()
        return tags

    # ------------------------------------------------------------ fit
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> KernelMachine:
        """Fit the machine to rows X and labels or numbers y."""
        self._check_loss()
        self._validate_params()
        loss, limits = as_loss(self.loss), self._limits()
        loss.check()
        numbers = {} if loss.kind == CLASSIFY else {"y_numeric": True}
        sample, y, weight = self._fit_rows(X, y, sample_weight, **numbers)
        targets = self._targets(loss, y, weight)
        rows, used = used_rows(sample, weight)
        solve = self._solver(loss, rows, limits)
        solutions = [
            solve(ScalarRisk(loss, target[used], weight[used]), about) for target, about in targets
        ]
        self._keep(sample, used, _side_by_side(solutions))
        return self

    def _check_loss(self) -> None:
        loss = as_loss(self.loss)
        if not loss.smooth and loss.tube(np.ones(1)) is None:
            raise ValueError(
                f"loss {loss!r} has smooth=False and no method tube(y): KernelMachine minimises "
                f"smooth losses, and losses with two slopes, which tube(y) returns"
            )

    def _targets(self, loss: Loss, y: Any, weight: np.ndarray) -> list[tuple[np.ndarray, str]]:
        """Return the targets of each problem, and its name."""
        if loss.kind != CLASSIFY:
            return [(np.asarray(y, dtype=np.float64), f"{loss!r}")]
        self.classes_, codes = class_codes(y)
        require_weights(self.classes_, codes, weight)
        return [(z, f"{loss!r}, {about}") for z, about in against_rest(self.classes_, codes)]

    def _solver(self, loss: Loss, rows: Sample, limits: Limits) -> Any:
        """Return the function that solves a problem: the first of these that fits.

        1. squared error, of few rows or without a time limit: one linear system, which looks at no
           clock;
        2. another smooth loss: Newton's method;
        3. a loss of two slopes with an offset: pairwise steps;
        4. a loss of two slopes without one: coordinate steps.
        """
        if not loss.smooth and self.fit_intercept:
            single = self._gram(rows)
            exact = cache(lambda: self._gram(rows, dtype=np.float64))
            return lambda risk, about: self._pairwise_steps(single, exact, risk, about, limits)
        K = self._gram_in_time(rows, limits)
        if not loss.smooth:
            return lambda risk, about: self._coordinate_steps(K, risk, about, limits)
        if type(loss) is Squared and (limits.deadline == np.inf or len(rows) <= SYSTEM_ROWS):
            return lambda risk, about: self._ridge(K, risk, about, limits)
        newton = partial(
            solve_primal,
            K,
            lam=self.lam,
            fit_intercept=self.fit_intercept,
            tol=self.tol,
            limits=limits,
            guide=guide_in_time(K, 1, limits),
        )
        return lambda risk, about: newton(risk, about=about)

    def _ridge(self, K: Gram, risk: ScalarRisk, about: str, limits: Limits) -> Solution:
        found = solve_ridge(
            K,
            risk.y[:, None],
            self.lam / risk.w,
            fit_intercept=self.fit_intercept,
            memory=parse_memory(self.memory),
        )
        return self._proved(K, found.value, found.intercept, risk, about, found.status, 1, limits)

    def _problem(self, risk: ScalarRisk) -> MarginProblem:
        z, lo, hi, eps = risk.loss.tube(risk.y)  # type: ignore[misc]
        C = risk.w / (2.0 * self.lam)
        return MarginProblem(z, lo * C, hi * C, eps)

    def _pairwise_steps(
        self, K: Gram, exact: Any, risk: ScalarRisk, about: str, limits: Limits
    ) -> Solution:
        problem = self._problem(risk)
        # the offset takes up a shift of numbers, which only costs digits
        shift = 0.0 if risk.loss.kind == CLASSIFY else float(np.median(problem.z))
        found = solve_margin(
            K,
            np.arange(K.shape[0]),
            problem._replace(z=problem.z - shift),
            tol=self.tol,
            limits=limits,
            exact=exact,
            about=about,
        )
        b, steps = np.array([found.intercept + shift]), found.stats["steps"]
        alpha = found.value[:, None]
        return self._proved(K.in_double(), alpha, b, risk, about, found.status, steps, limits)

    def _coordinate_steps(self, K: Gram, risk: ScalarRisk, about: str, limits: Limits) -> Solution:
        beta, status, steps = solve_box(K, self._problem(risk), tol=self.tol, limits=limits)
        return self._proved(K, beta[:, None], np.zeros(1), risk, about, status, steps, limits)

    def _proved(
        self,
        K: Gram,
        alpha: np.ndarray,
        b: np.ndarray,
        risk: ScalarRisk,
        about: str,
        status: Status,
        steps: int,
        limits: Limits,
    ) -> Solution:
        """Return the solution with the proof of this machine's own problem."""
        proof = gap_in_time(
            limits,
            K,
            alpha,
            b,
            risk,
            self.lam,
            tolerance=self.tol,
            fit_intercept=self.fit_intercept,
            about=about,
            extra={"steps": steps},
        )
        if np.isnan(proof.value) and limits.stopped(steps):
            pass
        elif np.isnan(proof.value) or status is Status.INDEFINITE:
            proof, status = replace(proof, value=np.nan), Status.INDEFINITE
        elif proof.ok or status.ok:
            status = Status.OPTIMAL if proof.ok else Status.STALLED
        return Solution(alpha, status, proof, intercept=b, stats={"steps": steps})

    # ------------------------------------------------------------ use
    @available_if(lambda self: self._kind == CLASSIFY)
    def decision_function(self, X: Any) -> np.ndarray:
        """Return f(x) + b: (m,), positive for ``classes_[1]``, or a column for each class."""
        return self._decision(X)

    def predict(self, X: Any) -> np.ndarray:
        """Return the labels of new rows, or the numbers f(x) + b."""
        if self._kind == CLASSIFY:
            return labels_of(self._decision(X), self.classes_)
        return self._outputs(X)[:, 0]

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the share of right labels, or R² of the numbers."""
        kind = ClassifierMixin if self._kind == CLASSIFY else RegressorMixin
        return float(kind.score(self, X, y, sample_weight))


def _side_by_side(solutions: list[Solution]) -> Solution:
    """Return solutions of one column each as one, with a proof that speaks for all."""
    return replace(
        merged(solutions, ", one class against the rest"),
        value=np.hstack([s.value for s in solutions]),
        intercept=np.concatenate([s.intercept for s in solutions]),
        stats={"steps": max(s.stats["steps"] for s in solutions)},
    )
