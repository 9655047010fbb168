"""The representer theorem as an estimator: each loss is the machine it should be."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import linprog, minimize
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import HuberRegressor
from sklearn.model_selection import GridSearchCV
from sklearn.multiclass import OneVsRestClassifier

from mercer import SVC, SVR, KernelLogistic, KernelMachine, KernelRidge
from mercer.kernels import RBF, FromFeatureMap, Linear, Sigmoid
from mercer.losses import EpsilonInsensitive, Hinge, Huber, Loss, Quantile, Squared
from mercer.losses.names import NAMES
from tests.cases import WORDS, letter_counts, table

X, NEW = table(50, 3), table(9, 3, seed=1)
Y = X[:, 0] + np.sin(2.0 * X[:, 1]) + 0.1 * table(50, 1, seed=2)[:, 0]
LABELS = np.where(Y > 0.2, "yes", "no")
THREE = np.array(["low", "middle", "high"])[np.digitize(Y, [-0.5, 0.7])]
WEIGHT = np.random.default_rng(3).integers(0, 4, 50).astype(float)

CLASSIFY = sorted(name for name, loss in NAMES.items() if loss.kind == "classify")
REGRESS = sorted(name for name, loss in NAMES.items() if loss.kind == "regress")
every_loss = pytest.mark.parametrize("loss", sorted(NAMES))
offset_or_not = pytest.mark.parametrize("fit_intercept", [True, False], ids=["b", "no b"])


def targets(loss):
    return LABELS if loss in CLASSIFY else Y


def slow_predictions(loss, y, weight, lam, fit_intercept, kernel, new=NEW):
    """Minimise over the coefficients of an explicit root of K, kinks split into variables."""
    K, K_new = kernel(X), kernel(new, X)
    values, V = np.linalg.eigh(K)
    keep = values > 1e-10 * values.max()
    root = V[:, keep] * np.sqrt(values[keep])

    def objective(x):
        f = root @ x[:-1] + fit_intercept * x[-1]
        slope = weight * loss.derivative(y, f)
        gradient = np.append(root.T @ slope + 2 * lam * x[:-1], fit_intercept * slope.sum())
        return weight @ loss.value(y, f) + lam * x[:-1] @ x[:-1], gradient

    options = {"maxiter": 50_000, "maxfun": 10**6, "ftol": 1e-16, "gtol": 1e-10}
    start = np.zeros(keep.sum() + 1)
    x = minimize(objective, start, jac=True, method="L-BFGS-B", options=options).x
    alpha = V[:, keep] @ (x[:-1] / np.sqrt(values[keep]))
    return K_new @ alpha + fit_intercept * x[-1]


# ---------------------------------------------------------------- the machines it is
@offset_or_not
@pytest.mark.parametrize("weight", [None, WEIGHT], ids=["", "weights"])
def test_squared_error_is_kernel_ridge(fit_intercept, weight):
    options = {"lam": 0.3, "fit_intercept": fit_intercept}
    machine = KernelMachine("squared", **options).fit(X, Y, weight)
    ridge = KernelRidge(**options).fit(X, Y, weight)
    np.testing.assert_allclose(machine.predict(NEW), ridge.predict(NEW), atol=1e-10)
    np.testing.assert_allclose(machine.intercept_, ridge.intercept_, atol=1e-10)
    assert machine.score(X, Y) == pytest.approx(ridge.score(X, Y))


@pytest.mark.parametrize("y", [LABELS, THREE], ids=["two classes", "three"])
def test_hinge_is_a_support_vector_machine(y):
    machine = KernelMachine("hinge", lam=0.1).fit(X, y, WEIGHT)
    svc = SVC(C=5.0, tol=1e-8, multiclass="ovr").fit(X, y, WEIGHT)
    np.testing.assert_allclose(
        machine.decision_function(NEW), svc.decision_function(NEW), atol=1e-5
    )
    np.testing.assert_array_equal(machine.predict(NEW), svc.predict(NEW))
    assert set(machine.support_) == set(svc.support_)


def test_a_tube_is_support_vector_regression():
    machine = KernelMachine(EpsilonInsensitive(0.2), lam=0.1).fit(X, Y, WEIGHT)
    svr = SVR(C=5.0, epsilon=0.2, tol=1e-8).fit(X, Y, WEIGHT)
    np.testing.assert_allclose(machine.predict(NEW), svr.predict(NEW), atol=1e-5)


@offset_or_not
def test_logistic_loss_is_logistic_regression(fit_intercept):
    options = {"lam": 0.1, "fit_intercept": fit_intercept}
    machine = KernelMachine("logistic", **options).fit(X, LABELS, WEIGHT)
    logistic = KernelLogistic(**options).fit(X, LABELS, WEIGHT)
    np.testing.assert_allclose(
        machine.decision_function(NEW), logistic.decision_function(NEW), atol=1e-9
    )


@offset_or_not
@pytest.mark.parametrize("loss", [Huber(0.3), Huber(5.0)], ids=repr)
def test_huber_is_the_slow_minimum(loss, fit_intercept):
    kernel = RBF(gamma=0.3)
    machine = KernelMachine(loss, kernel, lam=0.2, fit_intercept=fit_intercept).fit(X, Y)
    wanted = slow_predictions(loss, Y, np.ones(50), 0.2, fit_intercept, kernel)
    np.testing.assert_allclose(machine.predict(NEW), wanted, atol=1e-5)


def test_huber_on_the_linear_kernel_is_the_regressor_of_scikit_learn():
    """There the scale σ of the errors is fitted too; with it fixed the losses are the same."""
    reference = HuberRegressor(epsilon=1.5, alpha=0.1, tol=1e-10, max_iter=10_000).fit(X, Y)
    # Σ [σ + Huber_ε(r/σ) σ] + α‖w‖²: in r the line begins at εσ, and all is divided by σ
    delta, lam = 1.5 * reference.scale_, 0.1 * reference.scale_
    machine = KernelMachine(Huber(delta), "linear", lam=lam).fit(X, Y)
    np.testing.assert_allclose(machine.predict(NEW), reference.predict(NEW), atol=1e-3)


def test_hinge_without_an_offset_is_the_quadratic_program():
    kernel, C = RBF(gamma=0.3), 1.0 / (2 * 0.05)
    sign = np.where(LABELS == "yes", 1.0, -1.0)
    Q = sign[:, None] * kernel(X) * sign
    dual = minimize(
        lambda a: (0.5 * a @ Q @ a - a.sum(), Q @ a - 1.0),
        np.zeros(50),
        jac=True,
        bounds=[(0.0, C)] * 50,
        method="L-BFGS-B",
        options={"maxiter": 20_000, "maxfun": 10**6, "ftol": 1e-16, "gtol": 1e-12},
    )
    machine = KernelMachine("hinge", kernel, lam=0.05, fit_intercept=False).fit(X, LABELS)
    wanted = kernel(NEW, X) @ (dual.x * sign)
    np.testing.assert_allclose(machine.decision_function(NEW), wanted, atol=1e-4)
    assert machine.intercept_ == 0.0


@pytest.mark.parametrize("q", [0.1, 0.5, 0.8])
def test_without_much_penalty_quantiles_are_a_linear_program(q):
    """min Σ q p + (1 − q) m subject to Xw + b + p − m = y, p, m ≥ 0, by HiGHS."""
    n, d = X.shape
    cost = np.concatenate([np.zeros(2 * d + 2), np.full(n, q), np.full(n, 1 - q)])
    one = np.ones((n, 1))
    A = np.hstack([X, -X, one, -one, np.eye(n), -np.eye(n)])
    program = linprog(cost, A_eq=A, b_eq=Y, bounds=(0, None), method="highs")
    machine = KernelMachine(Quantile(q), "linear", lam=1e-5).fit(X, Y)
    loss = Quantile(q).value(Y, machine.predict(X)).sum()
    np.testing.assert_allclose(loss, program.fun, rtol=1e-3)


@pytest.mark.parametrize("q", [0.1, 0.5, 0.9])
def test_a_share_q_of_the_points_lies_below_the_quantile(q):
    rng = np.random.default_rng(4)
    rows = rng.uniform(size=(300, 1))
    y = np.sin(6 * rows[:, 0]) + rng.normal(size=300) * (0.1 + rows[:, 0])
    model = KernelMachine(Quantile(q), RBF(gamma=10.0), lam=0.1).fit(rows, y)
    curve = model.predict(rows)
    below, up_to = np.sum(y < curve - 1e-6), np.sum(y <= curve + 1e-6)
    assert below <= 300 * q <= up_to  # points on the curve count for either side


def test_quantiles_of_half_are_half_of_the_absolute_error():
    half = KernelMachine(Quantile(0.5), lam=0.05).fit(X, Y)
    absolute = KernelMachine("absolute", lam=0.1).fit(X, Y)
    np.testing.assert_allclose(half.predict(NEW), absolute.predict(NEW), atol=1e-6)


@offset_or_not
def test_a_huge_delta_is_squared_error(fit_intercept):
    options = {"lam": 0.1, "fit_intercept": fit_intercept}
    np.testing.assert_allclose(
        KernelMachine(Huber(1e3), **options).fit(X, Y).predict(NEW),
        KernelMachine("squared", **options).fit(X, Y).predict(NEW),
        atol=1e-8,
    )


def test_several_classes_are_one_against_the_rest():
    for loss in CLASSIFY:
        machine = KernelMachine(loss, RBF(gamma=0.3), lam=0.1)
        together = clone(machine).fit(X, THREE)
        alone = OneVsRestClassifier(machine).fit(X, THREE)
        np.testing.assert_allclose(
            together.decision_function(NEW), alone.decision_function(NEW), atol=1e-6
        )
        assert together.dual_coef_.shape == (len(together.support_), 3)
        assert len(together.certificate_.problems) == 3


# ---------------------------------------------------------------- for every loss
@every_loss
@offset_or_not
def test_every_loss_is_proved(loss, fit_intercept):
    model = KernelMachine(loss, lam=0.1, fit_intercept=fit_intercept).fit(X, targets(loss), WEIGHT)
    proof = model.certificate_
    assert model.status_ == "optimal"
    assert proof.value <= 1e-6
    assert 0 <= proof.gap <= 1e-6 * proof.primal
    np.testing.assert_allclose(proof.primal - proof.dual, proof.gap, atol=1e-12)


@every_loss
@offset_or_not
def test_weights_are_repetitions(loss, fit_intercept):
    times = WEIGHT.astype(int)
    machine = KernelMachine(loss, RBF(gamma=0.3), lam=0.1, fit_intercept=fit_intercept)
    weighted = clone(machine).fit(X, targets(loss), WEIGHT)
    repeated = clone(machine).fit(np.repeat(X, times, axis=0), np.repeat(targets(loss), times))
    answer = "decision_function" if loss in CLASSIFY else "predict"
    np.testing.assert_allclose(
        getattr(weighted, answer)(NEW), getattr(repeated, answer)(NEW), atol=1e-6
    )


@every_loss
def test_a_factor_in_the_weights_is_a_factor_in_the_penalty(loss):
    heavy = KernelMachine(loss, lam=1.0).fit(X, targets(loss), np.full(50, 10.0))
    light = KernelMachine(loss, lam=0.1).fit(X, targets(loss))
    np.testing.assert_allclose(heavy._outputs(NEW), light._outputs(NEW), atol=1e-6)


@every_loss
def test_the_tags_follow_the_loss(loss):
    machine = KernelMachine(loss)
    assert is_classifier(machine) == (loss in CLASSIFY)
    assert is_regressor(machine) == (loss in REGRESS)
    assert hasattr(machine, "decision_function") == (loss in CLASSIFY)


@pytest.mark.parametrize("loss", REGRESS)
def test_a_shift_of_the_targets_is_a_shift_of_the_answers(loss):
    near = KernelMachine(loss, lam=0.1).fit(X, Y).predict(NEW)
    far = KernelMachine(loss, lam=0.1).fit(X, Y + 1e4).predict(NEW)
    np.testing.assert_allclose(far, near + 1e4, rtol=0, atol=1e-5)


@pytest.mark.parametrize("loss", REGRESS)
@pytest.mark.parametrize("constant", [0.0, 0.1, -1e5])
def test_constant_targets_are_predicted_without_complaint(loss, constant):
    predictions = KernelMachine(loss).fit(X, np.full(50, constant)).predict(NEW)
    np.testing.assert_allclose(predictions, constant, rtol=1e-6, atol=0.1001)


@pytest.mark.parametrize("loss", REGRESS)
def test_one_row_is_its_own_prediction(loss):
    model = KernelMachine(loss).fit(X[:1], [3.0])
    assert model.certificate_.ok
    np.testing.assert_allclose(model.predict(NEW), 3.0, atol=0.1001)


@every_loss
def test_rows_that_are_all_equal(loss):
    model = KernelMachine(loss).fit(np.ones((50, 2)), targets(loss))
    assert model.certificate_.ok
    outputs = model._outputs(np.ones((3, 2)))
    np.testing.assert_allclose(outputs, np.broadcast_to(outputs[:1], (3, 1)), atol=1e-12)


@every_loss
def test_a_huge_penalty_leaves_a_constant(loss):
    model = KernelMachine(loss, lam=1e10).fit(X, targets(loss))
    outputs = model._outputs(NEW)
    np.testing.assert_allclose(outputs, np.broadcast_to(outputs[:1], (9, 1)), atol=1e-6)


# ---------------------------------------------------------------- a loss of one's own
class PseudoHuber(Loss):
    """√(1 + (y − f)²) − 1, with as little as a loss may have."""

    def value(self, y, f):
        return np.sqrt(1.0 + (y - f) ** 2) - 1.0

    def derivative(self, y, f):
        return (f - y) / np.sqrt(1.0 + (y - f) ** 2)


class Exponential(Loss):
    """The loss exp(−yf) of boosting."""

    kind = "classify"

    def value(self, y, f):
        return np.exp(-y * f)

    def derivative(self, y, f):
        return -y * np.exp(-y * f)


@offset_or_not
@pytest.mark.parametrize("loss", [PseudoHuber(), Exponential()], ids=repr)
def test_a_loss_of_ones_own_is_minimised_and_proved(loss, fit_intercept):
    kernel = RBF(gamma=0.3)
    classify = loss.kind == "classify"
    machine = KernelMachine(loss, kernel, lam=0.2, fit_intercept=fit_intercept)
    machine.fit(X, LABELS if classify else Y)
    assert machine.certificate_.value <= 1e-6
    y = np.where(LABELS == "yes", 1.0, -1.0) if classify else Y
    wanted = slow_predictions(loss, y, np.ones(50), 0.2, fit_intercept, kernel)
    np.testing.assert_allclose(machine._outputs(NEW)[:, 0], wanted, atol=1e-5)


class Lopsided(Loss):
    """2 max(0, r) + max(0, −r): two slopes, given as a tube."""

    smooth = False

    def value(self, y, f):
        return np.maximum(2.0 * (y - f), f - y)

    def derivative(self, y, f):
        return np.where(f < y, -2.0, 1.0)

    def domain(self, y):
        return np.full(y.shape, -2.0), np.full(y.shape, 1.0)

    def tube(self, y):
        return Quantile(2 / 3).tube(y)._replace(lo=np.full(y.shape, -1.0), hi=np.full(y.shape, 2.0))


def test_a_loss_of_two_slopes_of_ones_own():
    own = KernelMachine(Lopsided(), lam=0.3).fit(X, Y)
    same = KernelMachine(Quantile(2 / 3), lam=0.1).fit(X, Y)  # three times the quantile loss
    np.testing.assert_allclose(own.predict(NEW), same.predict(NEW), atol=1e-6)
    assert own.certificate_.ok


def test_a_loss_with_kinks_and_no_tube_says_what_is_missing():
    kinked = type("Kinked", (PseudoHuber,), {"smooth": False})()
    with pytest.raises(ValueError, match=r"smooth=False and no method tube\(y\)"):
        KernelMachine(kinked).fit(X, Y)


# ---------------------------------------------------------------- honesty and bad input
@pytest.mark.parametrize("loss", ["huber", "hinge", "logistic", "squared"])
@offset_or_not
def test_an_indefinite_kernel_is_admitted(loss, fit_intercept):
    machine = KernelMachine(
        loss, Sigmoid(scale=2.0, bias=-1.0), lam=1e-3, fit_intercept=fit_intercept
    )
    with pytest.warns(ConvergenceWarning, match="not positive semidefinite"):
        machine.fit(X, targets(loss))
    assert np.isfinite(machine._outputs(NEW)).all()
    assert machine.status_ == "indefinite"
    assert not machine.certificate_.ok


@pytest.mark.parametrize(
    ("loss", "fit_intercept"), [("huber", True), ("hinge", True), ("hinge", False)]
)
def test_max_iter_is_kept_and_admitted(loss, fit_intercept):
    machine = KernelMachine(loss, lam=1e-3, fit_intercept=fit_intercept, max_iter=1)
    with pytest.warns(ConvergenceWarning, match="stopped at max_iter"):
        machine.fit(X, targets(loss))
    assert machine.n_iter_ == 1
    assert machine.certificate_.value > 1e-6


def test_a_small_budget_gives_the_same():
    for loss in ("huber", "hinge", "squared"):
        for fit_intercept in (True, False):
            machine = KernelMachine(loss, lam=0.1, fit_intercept=fit_intercept)
            whole = clone(machine).fit(X, targets(loss))
            small = clone(machine).set_params(memory=50 * 8 * 24).fit(X, targets(loss))
            assert small.certificate_.ok
            np.testing.assert_allclose(small._outputs(NEW), whole._outputs(NEW), atol=1e-4)


def test_words_are_rows_too():
    lengths = np.array([float(len(word)) for word in WORDS])
    kernel = FromFeatureMap(letter_counts)
    machine = KernelMachine("squared", kernel, lam=0.1).fit(WORDS, lengths)
    ridge = KernelRidge(kernel, lam=0.1).fit(WORDS, lengths)
    np.testing.assert_allclose(machine.predict(["word"]), ridge.predict(["word"]), atol=1e-8)


def test_parameters_of_the_loss_are_parameters_of_the_machine():
    search = GridSearchCV(
        KernelMachine(Huber(), Linear()), {"loss__delta": [0.1, 1.0], "loss": [Huber()]}, cv=3
    ).fit(X, Y)
    assert search.best_params_["loss__delta"] in (0.1, 1.0)
    assert KernelMachine(Huber(0.3)).get_params()["loss__delta"] == 0.3


BAD = {
    "a name": ({"loss": "hing"}, ValueError, "loss must be one of"),
    "a class": ({"loss": Hinge}, TypeError, "with brackets"),
    "a number": ({"loss": 3}, TypeError, "loss must be a Loss or a name"),
    "a parameter of the loss": ({"loss": Quantile(2.0)}, ValueError, "'q' parameter of Quantile"),
    "no penalty": ({"lam": 0.0}, ValueError, "'lam' parameter of KernelMachine"),
    "a penalty below zero": ({"lam": -1.0}, ValueError, "'lam' parameter"),
    "a tolerance of zero": ({"tol": 0.0}, ValueError, "'tol' parameter"),
    "an offset that is no bool": ({"fit_intercept": "yes"}, ValueError, "'fit_intercept'"),
    "no memory": ({"memory": "none"}, ValueError, "memory must be"),
}


@pytest.mark.parametrize(("parameters", "error", "match"), BAD.values(), ids=BAD.keys())
def test_bad_parameters_are_named(parameters, error, match):
    with pytest.raises(error, match=match):
        KernelMachine(**parameters).fit(X, Y)


def test_bad_targets_are_named():
    with pytest.raises(ValueError, match="at least two classes; got 1 class"):
        KernelMachine("hinge").fit(X, np.ones(50, int))
    with pytest.raises(ValueError, match="class 'yes' of y has only weights of zero"):
        KernelMachine("hinge").fit(X, LABELS, (LABELS == "no").astype(float))
    with pytest.raises(ValueError, match="Unknown label type"):
        KernelMachine("hinge").fit(X, Y)
    with pytest.raises(ValueError, match="sample_weight must be ≥ 0"):
        KernelMachine().fit(X, Y, -np.ones(50))


def test_squared_error_of_ones_own_takes_the_general_way():
    own = type("Mine", (Squared,), {})()
    np.testing.assert_allclose(
        KernelMachine(own, lam=0.1).fit(X, Y).predict(NEW),
        KernelRidge(lam=0.1).fit(X, Y).predict(NEW),
        atol=1e-8,
    )
