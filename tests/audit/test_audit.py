"""No proof is false: what every estimator claims of odd data, recomputed from outside."""

from __future__ import annotations

import ast
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone, is_classifier

from mercer import (
    CCA,
    GMM,
    LDA,
    LLE,
    MDS,
    SIR,
    SVC,
    SVR,
    Autoencoder,
    ElasticNet,
    KernelICA,
    KernelKMeans,
    KernelLogistic,
    KernelPCA,
    KernelRidge,
    LaplacianRidge,
    Lasso,
    LinearSVC,
    LocalSIR,
    LogisticRegression,
    MetricRidge,
    MetricRidgeClassifier,
    MLPClassifier,
    MLPRegressor,
    NuSVC,
    NuSVR,
    OneClassSVM,
    RandomFourier,
    Ridge,
    SparsePCA,
    SpectralClustering,
    SpectralEmbedding,
    SupervisedPCA,
    Whitening,
)
from mercer._limits import Limits
from mercer.kernels import Polynomial
from tests.audit import (
    descents,
    graphs,
    linear,
    margins,
    others,
    risks,
    slices,
    spans,
    spectral,
)
from tests.audit.claim import AUDITORS, Case, false_claims
from tests.audit.fits import audit
from tests.audit.odd import ODD, plain
from tests.audit.variants import AUDITED

CHECKERS = [descents, graphs, linear, margins, others, risks, slices, spans, spectral]
UNSOUND = "ignore::sklearn.exceptions.ConvergenceWarning"


def test_every_estimator_has_an_auditor():
    assert {type(estimator).__name__ for estimator in AUDITED} <= set(AUDITORS)


@pytest.mark.parametrize("checker", [*CHECKERS], ids=lambda module: module.__name__)
def test_the_auditor_shares_no_code_with_the_library(checker):
    tree = ast.parse(Path(checker.__file__).read_text(encoding="utf-8"))
    modules = [n.module or "" for n in ast.walk(tree) if isinstance(n, ast.ImportFrom)]
    names = [a.name for n in ast.walk(tree) if isinstance(n, ast.Import) for a in n.names]
    assert not [name for name in modules + names if name.startswith("mercer")]


# ---------------------------------------------------------------- odd data
# the usual profile looks at a few tables of each estimator, the thorough one at hundreds
EXAMPLES = max(2, settings().max_examples // 20)


@pytest.mark.parametrize("estimator", AUDITED, ids=repr)
@settings(max_examples=EXAMPLES)
@given(st.sampled_from(sorted(ODD)), st.integers(0, 2**31 - 1))
def test_what_is_called_proved_is_true(estimator, kind, seed):
    _, false = audit(estimator, ODD[kind](np.random.default_rng(seed)))
    assert not false


@pytest.mark.parametrize(
    "estimator", [MetricRidge(random_state=0), MetricRidgeClassifier(random_state=0)]
)
@pytest.mark.parametrize("kind", ["one column far off", "offset 1e8"])
@pytest.mark.parametrize("seed", range(3))
def test_a_metric_takes_no_digits_of_columns_far_from_0(estimator, kind, seed):
    end, false = audit(estimator, ODD[kind](np.random.default_rng(seed)))
    assert end == "proved"
    assert not false


@pytest.mark.parametrize("seed", range(911, 915))
def test_loadings_of_rows_far_from_0_keep_their_digits(seed):
    end, false = audit(SparsePCA(), ODD["offset 1e12"](np.random.default_rng(seed)))
    assert end == "proved"
    assert not false


# ---------------------------------------------------------------- the auditor itself
@pytest.mark.parametrize(
    ("estimator", "name"),
    [
        (SVC(), "dual_coef_"),
        (SVR(), "intercept_"),
        (OneClassSVM(), "dual_coef_"),
        (NuSVC(nu=0.2), "dual_coef_"),
        (NuSVR(), "intercept_"),
        (KernelRidge(), "dual_coef_"),
        (KernelLogistic(), "dual_coef_"),
        (KernelPCA(), "eigenvalues_"),
        (KernelPCA(2, landmarks=6, random_state=0), "eigenvectors_"),
        (KernelRidge(landmarks=6, random_state=0), "dual_coef_"),
        (KernelLogistic(landmarks=6, random_state=0), "dual_coef_"),
        (SVC(route="cells", cell_size=9), "cell_intercepts_"),
        (LogisticRegression(lam=0.1, l1_ratio=1.0), "coef_"),
        (LogisticRegression(l1_ratio=0.5), "intercept_"),
        (LinearSVC(penalty="l1"), "coef_"),
        (LLE(method="modified"), "embedding_"),
        (LLE(method="ltsa"), "embedding_"),
        (LLE(method="hessian", n_neighbors=8), "embedding_"),
        (KernelICA(random_state=0), "components_"),
        (GMM(2, random_state=0, tol=1e-6), "means_"),
        (SpectralClustering(2, affinity="rbf", random_state=0), "embedding_"),
        (SpectralClustering(2, n_neighbors=5, random_state=0), "labels_"),
        (SpectralEmbedding(n_neighbors=5), "eigenvalues_"),
        (SIR(), "components_"),
        (LocalSIR(2, n_neighbors=3), "components_"),
        (SupervisedPCA(), "eigenvalues_"),
        (SupervisedPCA(2, kernel_y="rbf"), "components_"),
        (MLPClassifier(8, activation="tanh", lam=0.01, random_state=0), "coefs_"),
        (MLPRegressor(8, activation="tanh", lam=0.01, random_state=0), "intercepts_"),
        (Autoencoder((), activation="tanh", lam=0.01, random_state=0), "coefs_"),
    ],
    ids=repr,
)
def test_an_auditor_sees_a_model_that_was_changed(estimator, name):
    table = plain(np.random.default_rng(0))
    y = table.labels if is_classifier(estimator) else table.y
    model = clone(estimator).fit(table.X, y)
    case = Case(model, table.X, y, np.ones(len(y)))
    assert not false_claims(case)
    setattr(model, name, _changed(getattr(model, name)))
    assert false_claims(case)


def _changed(value):
    if isinstance(value, list):
        return [_changed(part) for part in value]
    if value.dtype.kind in "iu":
        return np.roll(value, 1)
    return 1.1 * value + 0.02


# ---------------------------------------------------------------- fits that were cut
def _cut(model, table, y):
    """Return the false claims of a fit that may be unproved."""
    model.fit(table.X, y)
    if not model.certificate_.ok:
        return []
    return false_claims(Case(model, table.X, y, np.ones(len(y))))


CUT = [
    SVC(C=100.0),
    SVC("linear", C=1e3, multiclass="ovr"),
    SVR(C=100.0, epsilon=0.0),
    OneClassSVM(),
    NuSVC(nu=0.2, tol=1e-6),
    NuSVR(nu=0.3, C=100.0),
    KernelLogistic(lam=1e-4),
]


@pytest.mark.filterwarnings(UNSOUND)
@pytest.mark.parametrize("time_limit", [0.0, 1e-5, 1e-3])
@pytest.mark.parametrize("estimator", CUT, ids=repr)
def test_what_is_proved_out_of_time_is_true(estimator, time_limit):
    table = plain(np.random.default_rng(1), 200, k=4)
    y = table.y if isinstance(estimator, (SVR, NuSVR, OneClassSVM)) else table.labels
    assert not _cut(clone(estimator).set_params(time_limit=time_limit), table, y)


@pytest.mark.filterwarnings(UNSOUND)
@pytest.mark.parametrize("asked", [0, 1, 2, 3, 5, 8, 13])
@pytest.mark.parametrize("estimator", CUT, ids=repr)
def test_what_is_proved_after_an_interrupt_is_true(estimator, asked, monkeypatch):
    """Ctrl-C at the k-th look at the clock."""
    looks, stopped = iter(range(10**9)), Limits.stopped

    def interrupting(self, steps=0):
        if next(looks) == asked:
            raise KeyboardInterrupt
        return stopped(self, steps)

    monkeypatch.setattr(Limits, "stopped", interrupting)
    table = plain(np.random.default_rng(2), 120, k=4)
    y = table.y if isinstance(estimator, (SVR, NuSVR, OneClassSVM)) else table.labels
    with suppress(KeyboardInterrupt):  # it may go through: no model, no claim
        assert not _cut(clone(estimator), table, y)


# ---------------------------------------------------------------- matrices that are given
def _given_matrix(rng, n=30):
    A = rng.normal(size=(n, 4))
    return A @ A.T + np.eye(n)


PRECOMPUTED = [e for e in AUDITED if "kernel" in e.get_params() and "loss" not in e.get_params()]
NEEDS_ROWS = (RandomFourier, MetricRidge, MetricRidgeClassifier)
PRECOMPUTED = list({type(e): e for e in PRECOMPUTED if not isinstance(e, NEEDS_ROWS)}.values())


@pytest.mark.parametrize("estimator", PRECOMPUTED, ids=lambda e: type(e).__name__)
def test_a_matrix_that_is_not_symmetric_is_refused_with_the_place(estimator):
    rng = np.random.default_rng(0)
    K, y = _given_matrix(rng), np.arange(30) % 2
    K[7, 3] += 0.5
    model = clone(estimator).set_params(kernel="precomputed")
    if "kernel_y" in model.get_params():
        model.set_params(kernel_y="linear")
    with pytest.raises(ValueError, match=r"symmetric.*K\[(3, 7|7, 3)\].*\(K \+ K\.T\) / 2"):
        model.fit(K, y)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_matrix_that_is_symmetric_up_to_rounding_is_accepted(dtype):
    rng = np.random.default_rng(1)
    K = _given_matrix(rng).astype(dtype)
    K *= (1 + np.finfo(dtype).eps * rng.integers(-4, 5, K.shape)).astype(dtype)
    y = np.arange(30) % 2
    assert SVC("precomputed").fit(K, y).certificate_.ok
    assert KernelKMeans(2, kernel="precomputed", random_state=0).fit(K).certificate_.ok


@pytest.mark.filterwarnings(UNSOUND)
@pytest.mark.parametrize("seed", range(8))
def test_an_indefinite_matrix_is_not_called_a_global_optimum(seed):
    """The pairs whose squared norm is below zero are seen, whichever pair is the worst."""
    rng = np.random.default_rng(seed)
    y = np.arange(30) % 3
    K = _given_matrix(rng) - np.diag(np.where(y == seed % 3, 4.0, 0.0))
    proof = SVC("precomputed").fit(K, y).certificate_
    assert not proof.ok or min(p["squared_norm"] for p in proof.problems) >= 0


# ---------------------------------------------------------------- numbers beyond float64
@pytest.mark.filterwarnings(UNSOUND)
@pytest.mark.parametrize("estimator", [Whitening(), LDA(), CCA()], ids=repr)
def test_a_model_of_infinite_numbers_is_not_proved(estimator):
    """What is divided by subnormal columns overflows."""
    table = plain(np.random.default_rng(0))
    y = table.labels if is_classifier(estimator) else table.y
    with np.errstate(all="ignore"):
        model = clone(estimator).fit(1e-310 * table.X, y)
    learned = [v for k, v in vars(model).items() if k in ("components_", "x_weights_", "mixing_")]
    assert not all(np.isfinite(values).all() for values in learned)
    assert not model.certificate_.ok


@pytest.mark.parametrize("size", [1e-150, 1e-162, 1e-200])
@pytest.mark.parametrize("targets", [1, 2])
def test_a_huge_penalty_leaves_what_it_should(size, targets):
    """λ is 1 and XᵀX 1e-300 or less: w = Xᵀy / λ, to the last digit but a few."""
    table = plain(np.random.default_rng(0))
    X, Y = size * table.X, np.stack([table.y, 1e-3 * table.y][:targets], axis=1)
    model = Ridge([1.0] * targets, per_target=True, fit_intercept=False).fit(X, Y)
    np.testing.assert_allclose(model.coef_, Y.T @ X, rtol=1e-12)
    model = Ridge(fit_intercept=False).fit(X, table.y)
    np.testing.assert_allclose(model.coef_, X.T @ table.y, rtol=1e-12)


@pytest.mark.parametrize("offset", [1e8, 1e12])
def test_rows_that_are_far_off_are_centred_twice(offset):
    X = offset + plain(np.random.default_rng(0)).X
    assert np.abs(MDS().fit(X).embedding_.sum(axis=0)).max() < 1e-11


# ---------------------------------------------------------------- targets whose squares vanish
@pytest.mark.parametrize("size", [1e-200, 1e-150, 1e-40, 1e-9, 1e9, 1e40, 1e150])
@pytest.mark.parametrize(
    "estimator",
    [
        KernelRidge(landmarks=8, route="cg", random_state=0),
        KernelRidge(landmarks=8, random_state=0),
        LaplacianRidge(),
    ],
    ids=repr,
)
@pytest.mark.filterwarnings(UNSOUND)
def test_what_is_proved_of_targets_of_any_size_is_their_function(estimator, size):
    """f is linear in y; norms of gradients must not vanish where squares do."""
    table = plain(np.random.default_rng(0))
    f = clone(estimator).fit(table.X, table.y).predict(table.X)
    model = clone(estimator).fit(table.X, size * table.y)
    assert model.certificate_.ok
    np.testing.assert_allclose(model.predict(table.X) / size, f, atol=1e-6)


@pytest.mark.parametrize("estimator", [Lasso(0.01), ElasticNet(0.01)], ids=repr)
def test_the_lasso_takes_targets_whose_squares_vanish(estimator):
    table = plain(np.random.default_rng(0))
    model = clone(estimator).fit(table.X, 1e-163 * table.y)
    assert not model.coef_.any()


def test_columns_too_small_for_a_penalty_are_refused():
    table = plain(np.random.default_rng(0))
    with pytest.raises(ValueError, match="rescale X"):
        LogisticRegression().fit(1e-162 * table.X, table.labels)


# ---------------------------------------------------------------- huge kernel values
@pytest.mark.filterwarnings(UNSOUND)
@pytest.mark.parametrize(
    ("estimator", "kind", "seed"),
    [
        (SVC("linear", C=1e3), "one column far off", 921),
        (SVC("linear"), "scale 1e7", 405),
        (SVC("linear"), "scale 1e7", 420),
        *((SVC(Polynomial(degree=2)), "one column far off", seed) for seed in range(400, 412)),
        *((SVC(Polynomial(degree=2)), "offset 1e8", seed) for seed in range(400, 412)),
        *((SVR("linear"), "offset 1e12", seed) for seed in range(400, 430)),
        *((KernelLogistic("linear", lam=lam), "offset 1e12", 1000) for lam in (0.01, 1.0)),
        *((KernelLogistic("linear"), "offset 1e12", seed) for seed in range(1001, 1012)),
    ],
)
def test_what_the_rounding_of_kernel_values_hides_is_not_proved(estimator, kind, seed):
    """Values of 1e16 are off by 1, and coefficients of 1,000 make much of it."""
    rng = np.random.default_rng([seed, sum(map(ord, kind))])
    _, false = audit(estimator, ODD[kind](rng))
    assert not false
