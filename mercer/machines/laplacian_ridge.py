"""Ridge regression of a few targets, with the shape of all rows, and classification by it."""

from __future__ import annotations

from numbers import Real
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import MultiOutputMixin, RegressorMixin

from mercer._labels import class_codes, class_factors
from mercer._limits import Limits, of_some_rows
from mercer._sklearn import Interval, StrOptions
from mercer._state import Attribute, FittedRows, Floats, Integers, Maybe, SizeOf, Sparse
from mercer.kernels import Precomputed
from mercer.machines._expansion import SumOverRows
from mercer.machines._margin import AgainstRest, against_rest
from mercer.machines._unlabelled import AMONG_LABELLED, WithGraph, split_labels, split_numbers
from mercer.machines.ridge import KernelRidge, KernelRidgeClassifier
from mercer.solvers.laplacian_ridge import solve_manifold_ridge


class GraphRidge(WithGraph, SumOverRows):
    """What regression and classification share: the solve, the sum."""

    fitted_state: ClassVar[dict[str, Attribute]] = {
        "n_fit_": SizeOf("rows"),
        "n_labelled_": Integers(least=1),
        "graph_": Sparse("rows", "rows"),
        "landmark_indices_": Maybe(Integers("points", below="rows")),
        "X_fit_": FittedRows("points"),
        "dual_coef_": Floats("points", "targets?"),
        "intercept_": Floats("targets?"),
    }

    stores_rows = True

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **WithGraph.graph_constraints,
        "lam": [Interval(Real, 0, None, closed="neither")],
        "time_limit": [Interval(Real, 0, None, closed="left"), None],
    }

    lam: float
    fit_intercept: bool
    time_limit: float | None

    _target_checks: ClassVar[dict[str, Any]] = {}

    def _split(self, y: Any) -> tuple[Any, Any]:
        """Return targets without gaps, and which rows have one."""
        raise NotImplementedError

    def _targets(self, y: np.ndarray, known: np.ndarray) -> tuple[np.ndarray, np.ndarray, bool]:
        """Return targets (n, t), weights, and whether y has one target without an axis for it."""
        raise NotImplementedError

    def fit(self, X: Any, y: Any) -> Self:
        """Fit the machine to rows X and targets y, of which some are missing.

        Parameters
        ----------
        X : table or list of objects
            Rows.
        y : array of shape (n,) or (n, n_targets)
            Numbers, NaN where there is none; of a classifier labels, shape (n,).
        """
        self._validate_params()
        limits = Limits.of(time_limit=self.time_limit)
        y, known = self._split(y)
        sample, y, _ = self._fit_rows(X, y, **self._target_checks)
        Y, weight, flat = self._targets(np.asarray(y), np.asarray(known))
        manifold, drawn, whole = self._manifold_in_time(sample, limits, self.lam, weight / self.lam)
        solution = solve_manifold_ridge(
            manifold, Y, weight, self.lam, fit_intercept=self.fit_intercept, limits=limits
        )
        kept = sample if drawn is None else sample[drawn]
        coefs = manifold.coefficients(solution.value, len(kept))
        self.n_fit_, self.n_labelled_ = len(sample), int(np.sum(known))
        self.landmark_indices_, self.X_fit_ = drawn, kept.data
        self.dual_coef_ = coefs[:, 0] if flat else coefs
        self.intercept_ = float(solution.intercept[0]) if flat else solution.intercept
        self._accept(solution if whole else of_some_rows(solution))
        return self


class LaplacianRidge(MultiOutputMixin, RegressorMixin, GraphRidge):
    """Ridge regression of a few targets and many rows without one, along a graph of all rows.

    min over f and b:  Σ (yᵢ − f(xᵢ) − b)² + λ‖f‖² + λ_G fᵀLᵖf,  the sum over rows with a target

    f in the last term stands for its values at all rows, L for the Laplacian of a graph that joins
    each row to its nearest. With ``lam_graph=0`` it is `KernelRidge` on the rows with a target.

    Parameters
    ----------
    kernel : Kernel, str or callable, default="rbf"
        The kernel. The graph joins rows that are near in its feature space.
    lam : float, default=0.01
        λ > 0, the weight of ‖f‖².
    lam_graph : float, default=0.01
        λ_G ≥ 0, the weight of the graph.
    fit_intercept : bool, default=True
        Whether to fit the offset b, which is not penalised.
    n_neighbors, graph, normalized, power, landmarks, random_state, memory
        As for `LaplacianSVC`.
    time_limit : float or None, default=None
        Seconds; then the best so far is kept, with a warning.

    Attributes
    ----------
    dual_coef_ : array of shape (n,) or (n, n_targets)
        α of all rows; with landmarks one coefficient each.
    intercept_ : float or array of shape (n_targets,)
        b.
    n_labelled_ : int
        How many rows have a target.
    graph_ : sparse array of shape (n, n)
        The weights of the edges.
    landmark_indices_ : array of int or None
        The numbers of the landmarks among the training rows, if there are any.
    certificate_ : Certificate
        The gradient of the whole objective, relative to that of y alone; ``gap`` bounds how far the
        objective is above its minimum, ``graph`` is what the graph contributes to it.
    kernel_ : Kernel
        The kernel with data-dependent parameters made concrete.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import LaplacianRidge
    >>> X = np.linspace(0, 3, 60)[:, None]
    >>> y = np.full(60, np.nan)
    >>> y[::6] = np.sin(X[::6, 0])
    >>> model = LaplacianRidge("rbf", lam=1e-4, lam_graph=1e-4).fit(X, y)
    >>> model.predict([[1.5]]).round(2), model.certificate_.ok
    (array([1.]), True)
    """

    _target_checks: ClassVar[dict[str, Any]] = {"multi_output": True, "y_numeric": True}

    def __init__(
        self,
        kernel: Any = "rbf",
        *,
        lam: float = 0.01,
        lam_graph: float = 0.01,
        n_neighbors: int = 10,
        graph: Any = None,
        normalized: bool = True,
        power: int = 1,
        fit_intercept: bool = True,
        landmarks: int | None = None,
        random_state: Any = None,
        time_limit: float | None = None,
        memory: Any = None,
    ):
        self.kernel = kernel
        self.lam = lam
        self.lam_graph = lam_graph
        self.n_neighbors = n_neighbors
        self.graph = graph
        self.normalized = normalized
        self.power = power
        self.fit_intercept = fit_intercept
        self.landmarks = landmarks
        self.random_state = random_state
        self.time_limit = time_limit
        self.memory = memory

    def _split(self, y: Any) -> tuple[Any, Any]:
        return split_numbers(y)

    def on_labelled_rows(self) -> KernelRidge:
        """Return the machine that sees rows with a target alone, and a matrix for its kernel."""
        return KernelRidge(Precomputed(), lam=self.lam, fit_intercept=self.fit_intercept)

    def _targets(self, y: np.ndarray, known: np.ndarray) -> tuple[np.ndarray, np.ndarray, bool]:
        Y = y.astype(np.float64).reshape(len(y), -1)
        return Y * known[:, None], known.astype(np.float64), y.ndim == 1

    def predict(self, X: Any) -> np.ndarray:
        """Return f(x) + b for new rows."""
        return self._values(X)


class LaplacianRidgeClassifier(AgainstRest, GraphRidge):
    """Classification of a few labels by `LaplacianRidge` on targets ±1, a class against the rest.

    All classes share one graph and one solve. Labels −1, None and NaN mark rows without one.

    Parameters
    ----------
    kernel, lam, lam_graph, n_neighbors, graph, normalized, power, landmarks, random_state
        As for `LaplacianRidge`.
    fit_intercept : bool, default=False
        Whether to fit the offsets. Few labels say little of them.
    class_weight : dict, "balanced" or None, default=None
        Factors of the weights of each class.
    unlabelled : object, default=-1
        The label that marks rows without one, besides None and NaN; None: no other.
    time_limit, memory
        As for `LaplacianRidge`.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
        The labels.
    dual_coef_, intercept_, n_labelled_, graph_, landmark_indices_, certificate_, kernel_
        As of `LaplacianRidge`, with a target for each class; of two classes there is one target.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import LaplacianRidgeClassifier
    >>> X = np.concatenate([np.linspace(0, 4, 40), np.linspace(5, 9, 40)])[:, None]
    >>> y = np.array(["left"] + [None] * 78 + ["right"], dtype=object)
    >>> LaplacianRidgeClassifier(lam_graph=0.1).fit(X, y).predict([[3.5], [5.5]])
    array(['left', 'right'], dtype='<U5')
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **GraphRidge._parameter_constraints,
        "class_weight": [StrOptions({"balanced"}), dict, None],
        "unlabelled": "no_validation",
    }

    def __init__(
        self,
        kernel: Any = "rbf",
        *,
        lam: float = 0.01,
        lam_graph: float = 0.01,
        n_neighbors: int = 10,
        graph: Any = None,
        normalized: bool = True,
        power: int = 1,
        fit_intercept: bool = False,
        class_weight: Any = None,
        landmarks: int | None = None,
        unlabelled: Any = -1,
        random_state: Any = None,
        time_limit: float | None = None,
        memory: Any = None,
    ):
        self.kernel = kernel
        self.lam = lam
        self.lam_graph = lam_graph
        self.n_neighbors = n_neighbors
        self.graph = graph
        self.normalized = normalized
        self.power = power
        self.fit_intercept = fit_intercept
        self.class_weight = class_weight
        self.landmarks = landmarks
        self.unlabelled = unlabelled
        self.random_state = random_state
        self.time_limit = time_limit
        self.memory = memory

    def _split(self, y: Any) -> tuple[Any, Any]:
        return split_labels(y, self.unlabelled)

    def on_labelled_rows(self) -> KernelRidgeClassifier:
        """Return the machine that sees labelled rows alone, and a matrix for its kernel."""
        weight = {"class_weight": self.class_weight, "fit_intercept": self.fit_intercept}
        return KernelRidgeClassifier(Precomputed(), lam=self.lam, **weight)

    def _targets(self, y: np.ndarray, known: np.ndarray) -> tuple[np.ndarray, np.ndarray, bool]:
        self.classes_, codes = class_codes(y[known], among=AMONG_LABELLED)
        weight = np.zeros(len(y))
        factors = class_factors(self.class_weight, self.classes_, codes, np.ones(len(codes)))
        weight[known] = factors[codes]
        signs = np.column_stack([sign for sign, _ in against_rest(self.classes_, codes)])
        Y = np.zeros((len(y), signs.shape[1]))
        Y[known] = signs
        return Y, weight, len(self.classes_) == 2
