"""Support vector classification of a few labels, with the shape of all rows."""

from __future__ import annotations

from collections.abc import Callable
from numbers import Real
from typing import Any, ClassVar, NamedTuple

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from mercer._labels import class_codes
from mercer._limits import Limits, of_some_rows
from mercer._sklearn import Interval
from mercer._state import Attribute, Floats, Integers, Maybe, Sparse
from mercer.gram import Gram, gram
from mercer.kernels import Precomputed
from mercer.kernels.sample import Sample
from mercer.machines._margin import merged
from mercer.machines._unlabelled import AMONG_LABELLED, WithGraph, split_labels
from mercer.machines._voting import CALIBRATION_SHARE
from mercer.machines.svm import SVC
from mercer.margin import MarginProblem
from mercer.result import Status
from mercer.solvers import MarginSolution, solve_margin
from mercer.solvers.box import solve_without_offset
from mercer.solvers.laplacian import Manifold
from mercer.solvers.manifold_gap import manifold_gap

ROUGH = 0.1  # of the tolerance: how exactly the kernel is deformed; the gap feels its square
LEFT_OUT = ("lam", "break_ties")  # parameters of SVC
GOAL = 0.01  # of the tolerance: how exactly the coefficients of all rows follow


class GraphTraining(NamedTuple):
    """Labelled rows and their deformed kernel, as `Training`, and all rows."""

    K: Gram  # K̃ among the labelled rows
    exact: Callable[[], Gram]
    points: list[np.ndarray]  # positions of each class among the labelled rows
    weight: np.ndarray
    order: np.ndarray
    sample: Sample  # all rows
    labelled: np.ndarray  # their numbers
    manifold: Manifold
    limits: Limits
    whole: bool
    """Whether there was time for the graph and the matrix of all rows."""


class LaplacianSVC(WithGraph, SVC):
    """Support vector classifier of a few labelled rows and many others, along a graph of all rows.

    min over f:  ½‖f‖² + ½λ_G fᵀLᵖf + C Σ max(0, 1 − yᵢ(f(xᵢ) + b)),  the sum over labelled rows

    f in the second term stands for its values at all rows, L for the Laplacian of a graph that
    joins each row to its nearest: f changes little between neighbours, so that labels spread along
    what the rows form, and new rows are told by f = Σ αᵢ k(·, xᵢ) over all rows. Labels −1, None
    and NaN mark rows without one. With ``lam_graph=0`` and ``fit_intercept=True`` it is `SVC` on
    the labelled rows.

    Parameters
    ----------
    kernel : Kernel, str or callable, default="rbf"
        The kernel. The graph joins rows that are near in its feature space.
    C : float, default=1.0
        Bound of the forces of labels, 0 < C < ∞.
    lam_graph : float, default=1.0
        λ_G ≥ 0, the weight of the graph.
    n_neighbors : int, default=10
        Neighbours of each row in the graph; the fewer columns and the more rows, the more: √n in
        two columns. Edges have weights exp(−t/m): t = −log cos of the angle between two points in
        feature space, for a Gaussian kernel γ times the squared distance, or the squared distance
        there where norms differ; m is half its median among rows that reach each other through
        neighbours on both sides, so that rows far from others change nothing near them.
    graph : sparse array of shape (n, n) or None, default=None
        A graph of your own in place of that: symmetric weights ≥ 0.
    normalized : bool, default=True
        Whether L is I − D^(−½)WD^(−½), or D − W.
    power : int, default=1
        p ≥ 1.
    fit_intercept : bool, default=False
        Whether to fit the offset b, which is not penalised. Few labels say little of it.
    landmarks : int or None, default=None
        If there are more rows than this, f is sought in the span of so many, drawn at random:
        memory n·m in place of n². The proof is then of the problem in that span, and says what part
        of the trace of K the landmarks miss.
    unlabelled : object, default=-1
        The label that marks rows without one, besides None and NaN, which always do; None: no
        other. Where −1 is a class, say ``unlabelled=None``.
    random_state : int, RandomState instance or None, default=None
        Seeds the draw of the landmarks.
    tol, class_weight, probability, decision_function_shape, max_iter, time_limit, memory
        As for `SVC`.
    multiclass : {"ovr", "ovo"}, default="ovr"
        One problem for each class against the rest, or for each pair of classes.

    Attributes
    ----------
    support_, support_vectors_ : array
        Rows with a coefficient, labelled or not; with landmarks all of these.
    dual_coef_ : array of shape (n_problems, n_support)
        α of each problem.
    n_support_ : array of shape (n_classes,)
        How many labelled rows of each class have a force.
    n_labelled_ : int
        How many rows have a label.
    graph_ : sparse array of shape (n, n)
        The weights of the edges.
    landmark_indices_ : array of int or None
        The numbers of the landmarks among the training rows, if there are any.
    intercept_, classes_, margin_, n_iter_, kernel_
        As of `SVC`.
    certificate_ : Certificate
        Primal, dual and gap of the whole objective; ``graph`` is what the graph contributes to it,
        ``graph_share`` that as a part, ``graph_gap`` what its equation leaves.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import LaplacianSVC
    >>> X = np.concatenate([np.linspace(0, 4, 40), np.linspace(5, 9, 40)])[:, None]
    >>> y = np.full(80, -1)
    >>> y[[0, 79]] = 0, 1
    >>> model = LaplacianSVC(lam_graph=10.0).fit(X, y)
    >>> model.predict([[3.5], [5.5]]), model.certificate_.ok
    (array([0, 1]), True)
    """

    fitted_state: ClassVar[dict[str, Attribute]] = {
        "n_labelled_": Integers(least=2),
        "graph_": Sparse("rows", "rows"),
        "landmark_indices_": Maybe(Integers("landmarks", below="rows")),
        "dual_coef_": Floats("problems", "support"),
    }

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **{name: rule for name, rule in SVC._parameter_constraints.items() if name not in LEFT_OUT},
        **WithGraph.graph_constraints,
        "C": [Interval(Real, 0, None, closed="neither")],
        "unlabelled": "no_validation",
    }

    lam = None

    def __init__(
        self,
        kernel: Any = "rbf",
        *,
        C: float = 1.0,
        lam_graph: float = 1.0,
        n_neighbors: int = 10,
        graph: Any = None,
        normalized: bool = True,
        power: int = 1,
        fit_intercept: bool = False,
        landmarks: int | None = None,
        unlabelled: Any = -1,
        random_state: Any = None,
        tol: float = 1e-3,
        class_weight: Any = None,
        probability: bool = False,
        multiclass: str = "ovr",
        decision_function_shape: str = "ovr",
        max_iter: int = -1,
        time_limit: float | None = None,
        memory: Any = None,
    ):
        self.kernel = kernel
        self.C = C
        self.lam_graph = lam_graph
        self.n_neighbors = n_neighbors
        self.graph = graph
        self.normalized = normalized
        self.power = power
        self.fit_intercept = fit_intercept
        self.landmarks = landmarks
        self.unlabelled = unlabelled
        self.random_state = random_state
        self.tol = tol
        self.class_weight = class_weight
        self.probability = probability
        self.multiclass = multiclass
        self.decision_function_shape = decision_function_shape
        self.max_iter = max_iter
        self.time_limit = time_limit
        self.memory = memory

    # ------------------------------------------------------------ fit
    def fit(self, X: Any, y: Any) -> LaplacianSVC:  # type: ignore[override]
        """Fit the machine to rows X and labels y, of which some are missing."""
        limits = self._limits()
        end = limits.deadline
        if self.probability and self.time_limit is not None:
            limits.deadline -= CALIBRATION_SHARE * self.time_limit
        training = self._prepare(X, y, limits=limits)
        self._finish(training, self._solve(training, limits))
        if self.probability:
            limits.deadline = end
            self.slopes_ = self._calibrate(training, limits)
        return self

    def path(self, X: Any, y: Any, Cs: Any) -> list[SVC]:  # type: ignore[override]
        """Return machines fitted for each C, all from one deformed kernel."""
        return self._path(X, y, Cs)

    def _with_bound(self, C: float) -> SVC:
        return clone(self).set_params(C=C)

    def _share(self, other: SVC) -> None:
        super()._share(other)
        for name in ("graph_", "n_labelled_", "landmark_indices_"):
            setattr(self, name, getattr(other, name))

    def _prepare(
        self, X: Any, y: Any, sample_weight: Any = None, *, limits: Limits | None = None
    ) -> Any:
        """Check the input, and deform the kernel of the labelled rows."""
        self._validate_params()
        limits = limits or self._limits()
        y, known = self._split(y)
        sample, y, _ = self._fit_rows(X, y)
        labelled = np.flatnonzero(known)
        codes = self._codes_of(np.asarray(y)[labelled])
        bounds = self._bounds(y, codes, np.ones(len(labelled)))
        self.n_labelled_ = len(labelled)
        manifold, self.landmark_indices_, whole = self._manifold_in_time(sample, limits)
        try:
            values = manifold.deformed(labelled, goal=ROUGH * self.tol, limits=limits)
        except KeyboardInterrupt:  # without the graph it is a machine too, and its proof says so
            limits.interrupt()
            values = manifold.deformed(labelled, goal=ROUGH * self.tol, limits=limits)
        K = gram(Precomputed(), values)
        points = [np.flatnonzero(codes == c) for c in range(len(self.classes_))]
        order = np.arange(len(labelled))
        return GraphTraining(
            K, lambda: K, points, bounds, order, sample, labelled, manifold, limits, whole
        )

    def _split(self, y: Any) -> tuple[Any, Any]:
        return split_labels(y, self.unlabelled)

    def on_labelled_rows(self) -> SVC:
        """Return the machine that sees labelled rows alone, and a matrix for its kernel."""
        return clone(self).set_params(
            kernel=Precomputed(), lam_graph=0.0, graph=None, landmarks=None
        )

    def _codes_of(self, y: np.ndarray) -> np.ndarray:
        self.classes_, codes = class_codes(y, among=AMONG_LABELLED)
        return codes

    @property
    def _solve_one(self) -> Callable[..., MarginSolution]:
        return solve_margin if self.fit_intercept else solve_without_offset

    def _finish(self, training: Any, solutions: list[MarginSolution]) -> None:
        """Store the fitted machine: coefficients of all rows, and the proof of the whole."""
        manifold, sample = training.manifold, training.sample
        forces = np.zeros((len(sample), len(solutions)))
        parts = [self._points_of(training, *pair)[0] for pair in self._problems()]
        for column, (index, solution) in enumerate(zip(parts, solutions, strict=True)):
            forces[training.labelled[index], column] = solution.value
        limits = training.limits if training.limits.stopped() else Limits()
        alpha, g = manifold.settle(
            forces, goal=GOAL * self.tol, limits=limits, points=training.labelled
        )
        proved = self._proved(training, solutions, parts, alpha, g)
        self._keep_expansion(sample, manifold, alpha)
        acting = (forces != 0).any(axis=1)[training.labelled]
        self.n_support_ = np.array([acting[p].sum() for p in training.points], dtype=np.int32)
        self._keep_figures(proved)
        self._accept(merged(proved) if training.whole else of_some_rows(merged(proved)))

    def _keep_expansion(self, sample: Sample, manifold: Manifold, alpha: np.ndarray) -> None:
        """Store the rows that have a coefficient."""
        drawn = self.landmark_indices_
        if drawn is None:
            used = np.flatnonzero(alpha.any(axis=1))
            coefs = alpha[used]
        else:
            used, coefs = drawn, manifold.coefficients(alpha, len(drawn))
        self._keep_support(sample, used)
        self.dual_coef_ = np.ascontiguousarray(coefs.T)

    def _proved(
        self,
        training: Any,
        solutions: list[MarginSolution],
        parts: list[np.ndarray],
        alpha: np.ndarray,
        g: np.ndarray,
    ) -> list[MarginSolution]:
        """Return the solutions with the proof of the whole objective, from the coefficients."""
        manifold, labelled = training.manifold, training.labelled
        f = manifold.product(alpha)
        Nf, Nr = manifold.N @ f, manifold.N @ (f - g)
        noise = manifold.rounding_of_norm2(alpha)
        proved = []
        for column, (index, solution) in enumerate(zip(parts, solutions, strict=True)):
            plus, minus = self._problems()[column]
            _, sign = self._points_of(training, plus, minus)
            problem = MarginProblem.classify(sign, training.weight[index])
            beta, e = solution.value, sign - f[labelled[index], column]
            norm2 = float(alpha[:, column] @ f[:, column])
            proof = manifold_gap(
                beta,
                e,
                problem,
                squared_norm=norm2,
                graph=float(f[:, column] @ Nf[:, column]),
                apart=float((f - g)[:, column] @ Nr[:, column]),
                fit_intercept=self.fit_intercept,
                tolerance=self.tol,
                about=self._name(plus, minus),
                extra=self._figures(training, solution),
            )
            b = problem.offset(beta, e)[0] if self.fit_intercept else 0.0
            status = self._ended(training, solution, proof.ok, norm2 >= -noise[column])
            proved.append(MarginSolution(beta, status, proof, b, solution.stats, None, norm2))
        return proved

    def _figures(self, training: Any, solution: MarginSolution) -> dict[str, Any]:
        manifold, n = training.manifold, len(training.sample)
        landmarks = manifold.landmarks
        more = {} if landmarks is None else {"trace_error": landmarks.trace_error}
        return {
            "n_labelled": self.n_labelled_,
            "n_unlabelled": n - self.n_labelled_,
            "steps": solution.stats["steps"],
            "storage": manifold.storage,
            **more,
        }

    @staticmethod
    def _ended(training: Any, solution: MarginSolution, proved: bool, convex: bool) -> Status:
        if proved:
            return Status.OPTIMAL if convex else Status.INDEFINITE
        stopped = training.limits.stopped()
        return stopped or (Status.STALLED if solution.status.ok else solution.status)

    # ------------------------------------------------------------ use
    def _raw_decision(self, X: Any, only_signs: bool = False) -> np.ndarray:
        check_is_fitted(self)
        return self._sums(X, self.dual_coef_.T, self.intercept_, only_signs)

    def _problem_coefs(self) -> np.ndarray:
        return self.dual_coef_
