"""Ridge regression whose kernel learns which columns, and which directions, matter."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from mercer._sklearn import StrOptions
from mercer._state import Attribute, Floats, per_class
from mercer.machines._metric import MetricEstimator
from mercer.machines._pairs import agree, fit_slopes, shares, sigmoid
from mercer.machines._ridge import OfClasses, OfNumbers
from mercer.solvers.ridge_loo import LooSolution


class MetricRidge(MetricEstimator, OfNumbers):
    """Kernel ridge regression under a metric that is learned from the targets.

    There are two ways to it. By gradients: fit, take the gradients of the function at the rows, let
    their mean outer product be the metric of the next fit; columns and directions along which the
    function does not change stop to count. By evidence: take the weights of the columns under which
    the targets are the likeliest. On ``search_rows`` rows, width, exponent and λ are chosen by
    exact leave-one-out, the way and the number of rounds by rows held out from the learning
    (leave-one-out would flatter a metric that has seen the row). A metric of gradients is then
    learned from ``metric_rows`` rows, weights by evidence from all ``search_rows``, and the last
    fit is a `KernelRidge` on all rows, its λ by exact leave-one-out on those that taught the metric
    (all of them, if there are no more).

    Columns are standardised. Neighbours of which each row has exactly one, the others being 0, are
    levels of one category: they are scaled together, and by evidence they have one weight.

    Parameters
    ----------
    kernel : str or Kernel, default="exponential"
        A kernel of a distance: "exponential", "rbf", "laplacian", "matern", or such a kernel;
        "auto" is the better of "exponential" and "laplacian". Of a kernel that is named, width and
        exponent are chosen; of one that is given, the width, unless ``gamma`` is a number.
    metric : {"auto", "evidence", "diagonal", "full", "none"}, default="auto"
        What is learned: weights by evidence (at most 300 columns), a weight for each column by
        gradients, a matrix by gradients (Euclidean distances of at most 300 columns), or the best
        one. Plain distances of standardised columns stay if no metric beats them by more than
        chance.
    lam : "loo", float or list of floats, default="loo"
        λ of the last fit, as for `KernelRidge`.
    rounds : int, default=5
        The largest number of rounds of gradients; with 0 no metric is learned.
    search_rows : int, default=1000
        Rows that the ways are tried on, drawn at random.
    metric_rows : int, default=2000
        Rows that the metric is then learned from, drawn at random.
    fit_intercept : bool, default=True
        Whether the last fit has an offset.
    landmarks : int or None, default=None
        As for `KernelRidge`: the last fit of many rows in the span of some. λ is then chosen on the
        rows that taught the metric.
    random_state : int, RandomState instance or None, default=None
        Seeds the choice of rows.
    time_limit : float or None, default=None
        Seconds, half of them for the search: what was tried until then decides. If the last fit
        would take longer than what is left, it is made in the span of as many rows as there is time
        for, with a warning; nothing is proved of the whole then.
    memory : int, str or None, default=None
        The byte budget; None is half of the free memory. Where it is small, metric and ways are
        learned from fewer rows.

    Attributes
    ----------
    metric_ : array of shape (d,) or (d, d)
        The metric of the columns as they were given.
    importance_ : array of shape (d,)
        Each column's share of the function's mean squared gradient, in standard deviations.
    kernel_ : Kernel
        The kernel with metric, width and exponent: ``SVC(model.kernel_)`` uses it.
    rounds_ : list of dict
        All ways that were tried, with their mean squared errors on rows held out.
    chosen_ : dict
        The way that was taken, in the same words.
    dual_coef_, intercept_, lam_, lams_, loo_error_, landmark_indices_, certificate_
        Of the last fit, as in `KernelRidge`.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import MetricRidge
    >>> X = np.random.default_rng(0).normal(size=(200, 5))
    >>> model = MetricRidge(random_state=0).fit(X, np.sin(2 * X[:, 0]))
    >>> int(model.importance_.argmax()), model.certificate_.ok
    (0, True)
    """

    def __init__(
        self,
        kernel: Any = "exponential",
        *,
        metric: str = "auto",
        lam: Any = "loo",
        rounds: int = 5,
        search_rows: int = 1000,
        metric_rows: int = 2000,
        fit_intercept: bool = True,
        landmarks: int | None = None,
        random_state: Any = None,
        time_limit: float | None = None,
        memory: int | str | None = None,
    ):
        self.kernel = kernel
        self.metric = metric
        self.lam = lam
        self.rounds = rounds
        self.search_rows = search_rows
        self.metric_rows = metric_rows
        self.fit_intercept = fit_intercept
        self.landmarks = landmarks
        self.random_state = random_state
        self.time_limit = time_limit
        self.memory = memory


class MetricRidgeClassifier(MetricEstimator, OfClasses):
    """Classification by ridge regression on targets ±1 under a learned metric.

    Parameters
    ----------
    kernel, metric, lam, rounds, search_rows, metric_rows, fit_intercept, landmarks, random_state,
    time_limit, memory
        As for `MetricRidge`.
    class_weight : dict, "balanced" or None, default=None
        Factors of the weights of each class.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
        The labels.
    slopes_ : array of shape (n_problems, 2)
        What turns values into probabilities, from leave-one-out values.
    metric_, importance_, kernel_, rounds_, chosen_
        As in `MetricRidge`.
    dual_coef_, intercept_, lam_, lams_, loo_error_, landmark_indices_, certificate_
        As in `KernelRidgeClassifier`.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import MetricRidgeClassifier
    >>> X = np.random.default_rng(0).normal(size=(200, 5))
    >>> y = np.where(X[:, 0] * X[:, 1] > 0, "same", "other")
    >>> model = MetricRidgeClassifier(random_state=0).fit(X, y)
    >>> model.predict([[2.0, 2.0, 0.0, 0.0, 0.0]])
    array(['same'], dtype='<U5')
    """

    fitted_state: ClassVar[dict[str, Attribute]] = {
        "slopes_": Floats(per_class, 2),
    }

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **MetricEstimator._parameter_constraints,
        "class_weight": [StrOptions({"balanced"}), dict, None],
    }

    def __init__(
        self,
        kernel: Any = "exponential",
        *,
        metric: str = "auto",
        lam: Any = "loo",
        rounds: int = 5,
        search_rows: int = 1000,
        metric_rows: int = 2000,
        fit_intercept: bool = True,
        class_weight: Any = None,
        landmarks: int | None = None,
        random_state: Any = None,
        time_limit: float | None = None,
        memory: int | str | None = None,
    ):
        self.kernel = kernel
        self.metric = metric
        self.lam = lam
        self.rounds = rounds
        self.search_rows = search_rows
        self.metric_rows = metric_rows
        self.fit_intercept = fit_intercept
        self.class_weight = class_weight
        self.landmarks = landmarks
        self.random_state = random_state
        self.time_limit = time_limit
        self.memory = memory

    def _keep_left_out(self, found: LooSolution, Y: np.ndarray, weight: np.ndarray) -> None:
        values, share = Y - found.left_out, weight / weight.max()
        self.slopes_ = np.array(
            [fit_slopes(v, sign, share) for v, sign in zip(values.T, Y.T, strict=True)]
        )

    def predict_proba(self, X: Any) -> np.ndarray:
        """Return class probabilities, shape (m, n_classes); their argmax is ``predict``.

        Of several labels it is the probability of each.
        """
        values = self._values(X)
        single = sigmoid(values.reshape(len(values), -1), self.slopes_)
        if self.multilabel_:
            return single
        if len(self.classes_) == 2:
            return np.column_stack([1.0 - single[:, 0], single[:, 0]])
        P = shares(single)
        return agree(P, values.argmax(axis=1))

    def predict_log_proba(self, X: Any) -> np.ndarray:
        """Return the logarithms of `predict_proba`."""
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X))
