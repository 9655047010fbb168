"""Kernel ridge regression, and classification by it."""

from __future__ import annotations

from os import PathLike
from typing import Any, ClassVar

from mercer._sklearn import StrOptions
from mercer.machines._ridge import OfClasses, OfNumbers, RidgeEstimator


class KernelRidge(OfNumbers):
    """Kernel ridge regression: min over f and b of Σᵢ wᵢ(yᵢ − f(xᵢ) − b)² + λ‖f‖².

    f(x) = Σᵢ αᵢ k(x, xᵢ), with (K + λW⁻¹)α + b = y and Σα = 0. A matrix that does not fit into the
    byte budget is never formed: conjugate gradients solve the system by products with it.

    Parameters
    ----------
    kernel : Kernel, str or callable, default="rbf"
        The kernel.
    lam : float, list of floats or "loo", default=1.0
        λ ≥ 0, the weight of ‖f‖². Of a list of λ > 0 the one with the smallest exact leave-one-out
        error is taken, all of them from one eigendecomposition. "loo" makes the list: 30 values,
        evenly in the logarithm, from 10⁻⁹ to 10 times the largest eigenvalue of the weighted,
        centred Gram matrix, and 10 more beyond a border at which the best lies.
    fit_intercept : bool, default=True
        Whether to fit the offset b, which is not penalised.
    landmarks : int, array or None, default=None
        If there are more rows than this, f is sought in the span of so many of them, drawn at
        random; an array gives their numbers, or rows themselves. The certificate then proves the
        optimum in that span; ``certificate_.restriction`` says how it knows what the span costs
        ("exact", "bound" or "estimate"), ``restriction_gap`` how much that is, relative to the
        objective. Of several λ the one with the smallest error over five folds is taken.
    route : {"auto", "exact", "normal", "cg"}, default="auto"
        "normal": the normal equations of the landmarks in one pass over the rows and a second one
        for the proof, time n·m², memory m². "cg": preconditioned conjugate gradients, a pass over
        n·m kernel values for each step. "auto" decides by the sizes and the budget: up to 4,000
        landmarks are "normal". `Rows` without a number of landmarks are "exact" where the matrix of
        all pairs fits, else 2√n of them are landmarks.
    random_state : int, RandomState instance or None, default=None
        Seeds the draw of the landmarks.
    memory : int, str or None, default=None
        The byte budget; None is half of the free memory.
    checkpoint : path or None, default=None
        A folder in which a fit to `Rows` in passes keeps the result of each: after an end by
        whatever, the same fit goes on from its last pass and has the same result.

    Attributes
    ----------
    dual_coef_ : array of shape (n,) or (n, n_targets)
        α; with landmarks one coefficient each.
    landmark_indices_ : array of int or None
        The numbers of the landmarks among the training rows, if there are any; none if these
        were given as rows.
    route_ : str
        The route that was taken.
    cv_error_ : array of shape (n_lams,)
        With landmarks and several λ: the mean squared error of each over five folds.
    intercept_ : float or array of shape (n_targets,)
        b.
    lam_ : float
        The λ of this fit.
    lams_ : array of shape (n_lams,)
        All λ that were tried.
    loo_error_ : array of shape (n_lams,)
        Mean squared leave-one-out error of each λ, over rows (by their weights) and targets. For a
        number it is computed when first asked for: it costs more than the fit.
    gcv_error_ : array of shape (n_lams,)
        The same by generalised cross-validation: each row has the leverage of the average row.
    certificate_ : Certificate
        Relative residual of the linear system and a condition estimate.
    kernel_ : Kernel
        The kernel with data-dependent parameters made concrete.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import KernelRidge
    >>> X = np.linspace(0, 3, 40)[:, None]
    >>> model = KernelRidge("rbf", lam=1e-3).fit(X, np.sin(X[:, 0]))
    >>> model.predict([[1.5]]).round(2)
    array([1.])
    >>> model.certificate_.ok
    True
    >>> KernelRidge("rbf", lam=[1e-3, 1.0, 1e3]).fit(X, np.sin(X[:, 0])).lam_
    0.001
    """

    def __init__(
        self,
        kernel: Any = "rbf",
        *,
        lam: Any = 1.0,
        fit_intercept: bool = True,
        landmarks: Any = None,
        route: str = "auto",
        random_state: Any = None,
        memory: int | str | None = None,
        checkpoint: str | PathLike[str] | None = None,
    ):
        self.kernel = kernel
        self.lam = lam
        self.fit_intercept = fit_intercept
        self.landmarks = landmarks
        self.route = route
        self.checkpoint = checkpoint
        self.random_state = random_state
        self.memory = memory


class KernelRidgeClassifier(OfClasses):
    """Classification by kernel ridge regression on targets ±1, each class against the rest.

    For each class the fit is min over f and b of Σᵢ wᵢ(±1 − f(xᵢ) − b)² + λ‖f‖²; the largest
    f(x) + b names the class. All classes share one decomposition and one λ. Rows may have several
    labels: y is then a table of 0 and 1, and the sign of each f(x) + b says whether a row has it.

    Parameters
    ----------
    kernel, lam, fit_intercept, landmarks, route, random_state, memory, checkpoint
        As for `KernelRidge`.
    class_weight : dict, "balanced" or None, default=None
        Factors of the weights of each class.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
        The labels; of a table of labels the numbers of its columns.
    multilabel_ : bool
        Whether rows may have several labels.
    dual_coef_, intercept_, landmark_indices_, route_, lam_, lams_, loo_error_, gcv_error_,
    cv_error_, certificate_, kernel_
        As in `KernelRidge`, with a target for each class; of two classes there is one target.

    Examples
    --------
    >>> from mercer import KernelRidgeClassifier
    >>> model = KernelRidgeClassifier("linear", lam=0.1)
    >>> model.fit([[-1.0], [-0.5], [0.5], [1.0]], ["no", "no", "yes", "yes"]).predict([[0.7]])
    array(['yes'], dtype='<U3')
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **RidgeEstimator._parameter_constraints,
        "class_weight": [StrOptions({"balanced"}), dict, None],
    }

    def __init__(
        self,
        kernel: Any = "rbf",
        *,
        lam: Any = 1.0,
        fit_intercept: bool = True,
        class_weight: Any = None,
        landmarks: Any = None,
        route: str = "auto",
        random_state: Any = None,
        memory: int | str | None = None,
        checkpoint: str | PathLike[str] | None = None,
    ):
        self.kernel = kernel
        self.lam = lam
        self.fit_intercept = fit_intercept
        self.landmarks = landmarks
        self.route = route
        self.checkpoint = checkpoint
        self.random_state = random_state
        self.class_weight = class_weight
        self.memory = memory
