"""Pictures of choice and of runs: a search, a learning curve, the steps of a solver."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from sklearn.base import is_classifier, is_regressor
from sklearn.model_selection import learning_curve

from mercer.plot.curves import learning_curve as draw_learning_curve
from mercer.plot.displays.base import Display, last_step
from mercer.plot.surface import Points, draw_search, read_search
from mercer.plot.trace import Curves, draw_trace, read_run, read_trace

LOG_FROM = 10.0  # a loss that falls by more than this factor is drawn on a log scale


@dataclass(eq=False, repr=False)
class SearchDisplay(Display):
    """Cross-validated scores over one or two parameters of a search, the choice marked.

    Parameters
    ----------
    names : list of str
        The one or two parameters.
    columns : list of list
        Their values at each point that was tried.
    mean, std : array of shape (n_points,)
        Mean and standard deviation of the score over folds.
    chosen : int
        Which point was chosen.
    score : str, default="score"
        The name of the score.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
        Where it was drawn last.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from mercer import SVC, KernelSearchCV
    >>> from mercer.plot import SearchDisplay
    >>> grid = {"C": [0.1, 1.0, 10.0], "kernel__gamma": [0.01, 0.1, 1.0]}
    >>> search = KernelSearchCV(SVC("rbf"), grid, cv=3).fit(*load_iris(return_X_y=True))
    >>> display = SearchDisplay.from_estimator(search)  # doctest: +SKIP
    """

    names: list[str]
    columns: list[list[Any]]
    mean: np.ndarray
    std: np.ndarray
    chosen: int
    score: str = "score"

    @classmethod
    def from_estimator(
        cls,
        search: Any,
        x: str | None = None,
        y: str | None = None,
        *,
        scoring: str | None = None,
        ax: Any = None,
    ) -> Self:
        """Read a fitted search, and draw.

        Parameters
        ----------
        search : fitted search
            `KernelSearchCV`, ``GridSearchCV``, or anything else with ``cv_results_``.
        x, y : str, default=None
            Names of parameters; None takes the first ones that vary.
        scoring : str, default=None
            Which score, if the search has several; None is the one that decided.
        ax : matplotlib Axes, default=None
            Where to draw; None makes a new figure.

        Returns
        -------
        SearchDisplay
        """
        points, label = read_search(search, x, y, scoring)
        return cls(*points, label).plot(ax)

    def _draw(self, ax: Any) -> Any:
        points = Points(self.names, self.columns, self.mean, self.std, self.chosen)
        return draw_search(points, self.score, ax=ax)


@dataclass(eq=False, repr=False)
class LearningCurveDisplay(Display):
    """Training and test scores against the number of training rows, mean ± 1 std over folds.

    Parameters
    ----------
    train_sizes : array of shape (n_sizes,)
        The numbers of training rows.
    train_scores, test_scores : array of shape (n_sizes, n_folds)
        What `mercer.learning_curve` or scikit-learn's function of that name returned.
    score_name : str, default="score"
        The name of the score.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
        Where it was drawn last.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from mercer import SVC, learning_curve
    >>> from mercer.plot import LearningCurveDisplay
    >>> X, y = load_iris(return_X_y=True)
    >>> scores = learning_curve(SVC(), X, y, shuffle=True, random_state=0)
    >>> display = LearningCurveDisplay(*scores, score_name="accuracy").plot()  # doctest: +SKIP
    """

    train_sizes: np.ndarray
    train_scores: np.ndarray
    test_scores: np.ndarray
    score_name: str = "score"

    @classmethod
    def from_estimator(
        cls,
        model: Any,
        X: Any,
        y: Any,
        *,
        scoring: Any = None,
        score_name: str | None = None,
        curve: Callable[..., Any] = learning_curve,
        ax: Any = None,
        **options: Any,
    ) -> Self:
        """Fit a model to growing samples, and draw.

        Parameters
        ----------
        model : estimator
            What is fitted.
        X, y : array of shape (n, d), array of shape (n,)
            Rows and targets.
        scoring : str or callable, default=None
            The score; None is that of the model.
        score_name : str, default=None
            What the axis says; None follows from ``scoring``.
        curve : callable, default=sklearn.model_selection.learning_curve
            What computes the scores. `mercer.learning_curve` reads one Gram matrix for all sizes
            and folds, which is faster for kernel machines.
        ax : matplotlib Axes, default=None
            Where to draw; None makes a new figure.
        **options
            ``train_sizes``, ``cv``, ``shuffle``, ``random_state`` and all else that ``curve``
            accepts.

        Returns
        -------
        LearningCurveDisplay
        """
        sizes, train, test = curve(model, X, y, scoring=scoring, **options)[:3]
        return cls(sizes, train, test, score_name or _score_name(model, scoring)).plot(ax)

    def _draw(self, ax: Any) -> Any:
        scores = self.train_scores, self.test_scores
        return draw_learning_curve(self.train_sizes, *scores, score=self.score_name, ax=ax)


def _score_name(model: Any, scoring: Any) -> str:
    if isinstance(scoring, str):
        return scoring.replace("_", " ")
    if scoring is not None:
        return "score"
    return "accuracy" if is_classifier(model) else "R²" if is_regressor(model) else "score"


@dataclass(eq=False, repr=False)
class TraceDisplay(Display):
    """How a run went: objective and gradient of an optimiser, the loss of a network, a likelihood.

    Parameters
    ----------
    curves : dict of str to pair of arrays
        Places across and heights of each curve, by what the legend says.
    across : str, default="steps"
        What the horizontal axis shows.
    what : str, default=""
        What the vertical axis shows; if it says enough, one curve has no legend.
    log : bool, default=False
        Whether heights are on a log scale (then those ≤ 0 are left out).

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
        Where it was drawn last.

    Examples
    --------
    >>> from mercer import optimize
    >>> from mercer.plot import TraceDisplay
    >>> f, grad = lambda x: x[0] ** 2 + 9 * x[1] ** 2, lambda x: [2 * x[0], 18 * x[1]]
    >>> runs = {
    ...     "descent": optimize.gradient_descent(f, [1.0, 2.0], grad=grad),
    ...     "L-BFGS": optimize.lbfgs(f, [1.0, 2.0], grad=grad),
    ... }
    >>> display = TraceDisplay.from_solution(runs)  # doctest: +SKIP
    """

    curves: Curves
    across: str = "steps"
    what: str = ""
    log: bool = False

    @classmethod
    def from_solution(cls, solution: Any, *, against: str = "steps", ax: Any = None) -> Self:
        """Draw the run of one solution, or the objectives of several.

        Parameters
        ----------
        solution : Solution or dict of str to Solution
            What methods of `mercer.optimize` returned. One shows the objective above its least
            value and the size of the gradient; several the objectives above the least of all.
            The likelihood of `mercer.em` is drawn as it is.
        against : {"steps", "seconds"}, default="steps"
            The horizontal axis.
        ax : matplotlib Axes, default=None
            Where to draw; None makes a new figure.

        Returns
        -------
        TraceDisplay
        """
        if isinstance(solution, Mapping):
            curves, what = _compared(solution, against), "objective above the least of all"
            return cls(curves, against, what, log=True).plot(ax)
        likelihood = _likelihood(getattr(solution, "certificate", None))
        if likelihood is not None:
            return cls(likelihood, "steps", "log-likelihood").plot(ax)
        return cls(read_trace(solution, against), against, log=True).plot(ax)

    @classmethod
    def from_estimator(cls, model: Any, *, ax: Any = None) -> Self:
        """Draw what a fitted model kept of its run.

        Parameters
        ----------
        model : fitted estimator
            A network (``loss_curve_``) or a mixture that EM has fitted; also a pipeline.
        ax : matplotlib Axes, default=None
            Where to draw; None makes a new figure.

        Returns
        -------
        TraceDisplay
        """
        step = last_step(model)
        likelihood = _likelihood(getattr(step, "certificate_", None))
        if likelihood is not None:
            return cls(likelihood, "steps", "log-likelihood").plot(ax)
        if getattr(step, "loss_curve_", None) is None:
            raise TypeError(
                f"model must be fitted and keep its run (loss_curve_, or the likelihoods of EM); "
                f"got {type(step).__name__}"
            )
        loss = np.asarray(step.loss_curve_, dtype=np.float64)
        is_wide = len(loss) > 0 and loss.min() > 0 and loss.max() > LOG_FROM * loss.min()
        curves = {"loss": (np.arange(1.0, len(loss) + 1), loss)}
        return cls(curves, "epoch", "loss", log=bool(is_wide)).plot(ax)

    def _draw(self, ax: Any) -> Any:
        return draw_trace(self.curves, self.across, self.what, log=self.log, ax=ax)


def _likelihood(certificate: Any) -> Curves | None:
    """Return the likelihoods of a run of EM, which its certificate keeps."""
    parts = getattr(certificate, "parts", {})
    if "steps" not in parts or "largest_fall" not in parts:
        return None
    values = np.asarray(parts["steps"], dtype=np.float64)
    return {"log-likelihood": (np.arange(float(len(values))), values)}


def _compared(solutions: Mapping[str, Any], against: str) -> Curves:
    if not solutions:
        raise ValueError("solution must hold at least one run; got an empty dict")
    runs = {name: read_run(solution, against) for name, solution in solutions.items()}
    values = {name: np.asarray(rows["values"]) for name, (_, rows) in runs.items()}
    least = min(float(v.min()) for v in values.values())
    return {name: (across, values[name] - least) for name, (across, _) in runs.items()}
