"""ν-classification and ν-regression: LIBSVM's machines, and what a share of points means."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn import datasets, svm
from sklearn.exceptions import ConvergenceWarning
from sklearn.preprocessing import scale

from mercer import SVC, SVR, NuSVC, NuSVR, gram
from mercer.kernels import RBF, Linear
from mercer.margin import MarginProblem, NuProblem
from mercer.solvers import solve_nu
from mercer.solvers.margin import Sizes
from tests.cases import two_classes

SAME = 1e-6  # relative difference from another library


def toy(name):
    """Return rows in eighths, whose inner products are exact in float32, as LIBSVM has them."""
    X, y = getattr(datasets, f"load_{name}")(return_X_y=True)
    return np.round(8 * scale(X)) / 8, y


CLASSES = {name: toy(name) for name in ("breast_cancer", "wine", "iris")}
DIGITS, NUMERALS = datasets.load_digits(n_class=3, return_X_y=True)
CLASSES["digits"] = DIGITS / 16.0, NUMERALS
TARGETS = {
    "diabetes": toy("diabetes"),
    "wine": (CLASSES["wine"][0][:, 1:], CLASSES["wine"][0][:, 0]),
    "iris": (CLASSES["iris"][0][:, :3], CLASSES["iris"][0][:, 3]),
}
every_kernel = pytest.mark.parametrize(
    ("kernel", "theirs"),
    [(RBF(gamma=0.05), {"gamma": 0.05}), (Linear(), {"kernel": "linear"})],
    ids=["rbf", "linear"],
)


def spread(rows, support, n):
    whole = np.zeros((len(rows), n))
    whole[:, support] = rows
    return whole


def assert_same(values, others):
    assert np.abs(values - others).max() <= SAME * max(np.abs(others).max(), 1.0)


# ---------------------------------------------------------------- the machines of LIBSVM
@every_kernel
# no ν makes νn/2 an integer: then all vectors may be at bounds, and b is not unique
@pytest.mark.parametrize("nu", [0.203, 0.3333, 0.607])
@pytest.mark.parametrize("name", CLASSES)
def test_the_classifier_is_that_of_libsvm(name, nu, kernel, theirs):
    X, y = CLASSES[name]
    ours = NuSVC(kernel, nu=nu, tol=1e-8, decision_function_shape="ovo").fit(X, y)
    other = svm.NuSVC(nu=nu, tol=1e-9, decision_function_shape="ovo", **theirs).fit(X, y)
    assert ours.certificate_.ok
    assert_same(ours.decision_function(X), other.decision_function(X))
    assert np.array_equal(ours.predict(X), other.predict(X))
    if len(ours.classes_) == 2:  # the objective of the ν-problem, of β scaled to ‖β‖₁ = νn
        K, size = kernel(X), nu * len(X)
        b = spread(other.dual_coef_, other.support_, len(X))[0]
        b *= size / np.abs(b).sum()
        found = -0.5 * (b @ K @ b)
        assert ours.certificate_.dual == pytest.approx(found, rel=SAME)
        assert ours.certificate_.primal == pytest.approx(found, rel=SAME)


@every_kernel
@pytest.mark.parametrize(("nu", "C"), [(0.103, 1.0), (0.457, 3.0), (0.807, 0.2)])
@pytest.mark.parametrize("name", TARGETS)
def test_the_regressor_is_that_of_libsvm(name, nu, C, kernel, theirs):
    X, y = TARGETS[name]
    ours = NuSVR(kernel, nu=nu, C=C, tol=1e-8).fit(X, y)
    other = svm.NuSVR(nu=nu, C=C, tol=1e-9, **theirs).fit(X, y)
    assert ours.certificate_.ok
    b = spread(other.dual_coef_, other.support_, len(X))[0]
    objective = y @ b - 0.5 * (b @ kernel(X) @ b)
    assert ours.certificate_.dual == pytest.approx(objective, rel=SAME)
    assert_same(ours.predict(X), other.predict(X))


@pytest.mark.parametrize("seed", [0, 1])
def test_weights_are_those_of_libsvm(seed):
    X, y = CLASSES["breast_cancer"]
    weight = np.random.default_rng(seed).uniform(0.0, 3.0, len(y)).round(1)
    ours = NuSVC(RBF(gamma=0.05), nu=0.2, tol=1e-8).fit(X, y, sample_weight=weight)
    other = svm.NuSVC(nu=0.2, gamma=0.05, tol=1e-9).fit(X, y, sample_weight=weight)
    assert_same(ours.decision_function(X), other.decision_function(X))
    t = X[:, 0]
    ours = NuSVR(RBF(gamma=0.05), nu=0.3, tol=1e-8).fit(X, t, sample_weight=weight)
    other = svm.NuSVR(nu=0.3, gamma=0.05, tol=1e-9).fit(X, t, sample_weight=weight)
    assert_same(ours.predict(X), other.predict(X))


# ---------------------------------------------------------------- what ν means
@settings(max_examples=20)
@given(st.floats(0.05, 0.9), st.integers(0, 2**16))
def test_nu_lies_between_the_errors_and_the_support_vectors(nu, seed):
    X, y = two_classes(60, 2, seed, overlap=0.5)
    model = NuSVC(RBF(gamma=0.5), nu=nu, tol=1e-7).fit(X, y)
    assert np.mean(model.slack(X, y) > 1e-5) <= nu + 1e-9
    assert len(model.support_) >= 60 * nu - 1e-9
    assert np.abs(model.dual_coef_).sum() == pytest.approx(60 * nu * model.C_)
    regressor = NuSVR(RBF(gamma=0.5), nu=nu, tol=1e-7).fit(X, X[:, 0] ** 2)
    outside = np.abs(regressor.predict(X) - X[:, 0] ** 2) > regressor.epsilon_ + 1e-5
    assert np.mean(outside) <= nu + 1e-9
    assert len(regressor.support_) >= 60 * nu - 1e-9


@pytest.mark.parametrize("nu", [0.15, 0.5])
def test_it_is_the_machine_of_another_price(nu):
    X, y = CLASSES["breast_cancer"]
    model = NuSVC(nu=nu, tol=1e-7).fit(X, y)
    same = SVC(C=model.C_, tol=1e-7).fit(X, y)
    assert_same(model.decision_function(X), same.decision_function(X))
    assert model.margin_ == pytest.approx(same.margin_, rel=1e-5)
    X, y = TARGETS["diabetes"]
    model = NuSVR(nu=nu, C=10.0, tol=1e-7).fit(X, y)
    same = SVR(C=10.0, epsilon=model.epsilon_, tol=1e-7).fit(X, y)
    assert_same(model.predict(X), same.predict(X))


def test_without_a_tube_every_residual_counts():
    """ν = 1 asks for no tube, and where fewer points suffice the ε of ν-regression is 0."""
    X, y = TARGETS["diabetes"]
    model = NuSVR(nu=1.0, tol=1e-7).fit(X, y)
    assert model.epsilon_ == pytest.approx(0.0, abs=1e-6)
    assert_same(model.predict(X), SVR(epsilon=0.0, tol=1e-7).fit(X, y).predict(X))


# ---------------------------------------------------------------- limits of ν
@pytest.mark.parametrize("multiclass", ["ovo", "ovr"])
def test_a_nu_that_is_too_large_is_told_with_the_largest(multiclass):
    X, y = CLASSES["breast_cancer"]
    y = np.where(y == 1, "benign", "malignant")
    most = 2 * 212 / 569
    with pytest.raises(
        ValueError, match=r"nu=0.8 is infeasible for malignant against benign.*0.74"
    ):
        NuSVC(nu=0.8, multiclass=multiclass).fit(X, y)
    assert NuSVC(nu=most, multiclass=multiclass).fit(X, y).certificate_.ok
    W, cultivar = CLASSES["wine"]
    if multiclass == "ovr":
        with pytest.raises(ValueError, match="infeasible for 2 against the rest"):
            NuSVC(nu=0.6, multiclass=multiclass).fit(W, cultivar)


def test_a_nu_that_leaves_no_margin_is_told():
    X, y = datasets.load_iris(return_X_y=True)
    X, y = X[y > 0], y[y > 0]
    with pytest.warns(ConvergenceWarning, match="raise nu"):
        model = NuSVC("linear", nu=0.02).fit(X, y)
    assert not model.certificate_.ok
    assert model.status_ == "no_margin"
    factor = float(model.certificate_.about.split()[-4])
    assert NuSVC("linear", nu=1.05 * 0.02 * factor).fit(X, y).certificate_.ok
    assert model.score(X, y) > 0.9  # the hardest margin there is


# ---------------------------------------------------------------- ways to the solution
@pytest.mark.parametrize("dense", [True, False])
def test_large_problems_find_the_same(dense):
    X, y = two_classes(600, 2, overlap=0.8)
    kernel, index = RBF(gamma=0.5), np.arange(600)
    model = NuSVC(kernel, nu=0.4, tol=1e-6).fit(X, y)
    problem = NuProblem(
        np.zeros(600), np.where(y > 0, 0.0, -1.0), np.where(y > 0, 1.0, 0.0), 240.0, False
    )
    sizes = Sizes(dense=dense, all_active=50)
    found = solve_nu(
        gram(kernel, X, purpose="margin"), index, problem, tol=1e-6, sizes=sizes,
        exact=lambda: gram(kernel, X, purpose="margin", dtype=np.float64),
    )  # fmt: skip
    assert found.certificate.ok
    f = kernel(X) @ found.value + found.intercept
    assert_same(f, model.decision_function(X))


def test_residuals_that_rounding_has_spoilt_are_noticed():
    """Many solves in float32, one from the other: the proof sees it, and float64 goes on."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1500, 8))
    y = (X[:, 0] + X[:, 1] ** 2 + 0.5 * rng.normal(size=1500) > 0.8).astype(int)
    sign, nu = np.where(y == 1, 1.0, -1.0), 0.1
    kernel = RBF(gamma=0.1)
    problem = NuProblem.classify(MarginProblem.classify(sign, np.ones(1500)), nu)
    found = solve_nu(
        gram(kernel, X, purpose="margin"), np.arange(1500), problem, tol=1e-6,
        sizes=Sizes(dense=False, all_active=100), price=1e3,
        exact=lambda: gram(kernel, X, purpose="margin", dtype=np.float64),
    )  # fmt: skip
    assert found.certificate.ok
    same = NuSVC(kernel, nu=nu, tol=1e-6).fit(X, y)
    assert found.price * same.C_ == pytest.approx(1.0, rel=1e-4)


def test_a_fit_out_of_time_says_so():
    X, y = two_classes(400, 2)
    with pytest.warns(ConvergenceWarning, match="time_limit"):
        model = NuSVC(nu=0.3, tol=1e-9, time_limit=0.0).fit(X, y)
    assert not model.certificate_.ok
    assert np.isfinite(model.decision_function(X)).all()


def test_probabilities_agree_with_the_labels():
    X, y = CLASSES["wine"]
    model = NuSVC(nu=0.3, probability=True).fit(X, y)
    P = model.predict_proba(X)
    assert np.array_equal(model.classes_[P.argmax(axis=1)], model.predict(X))
    np.testing.assert_allclose(P.sum(axis=1), 1.0)
