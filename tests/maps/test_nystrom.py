"""The Nyström map: exact on landmarks, its error measured, every rule, every kind of rows."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning
from sklearn.kernel_approximation import Nystroem

from mercer import Nystrom
from mercer.gram import gram
from mercer.kernels import RBF, FromFunction, Linear, Sigmoid
from mercer.maps.nystrom import RULES, choose_landmarks
from tests import naive
from tests.cases import KERNELS, SAMPLES, WORDS, shared_letters, table
from tests.compare import refuses

X, NEW = table(80, 3), table(7, 3, seed=1)
KERNEL = RBF(gamma=0.3)
PSD = {name: k for name, k in KERNELS.items() if k.definiteness == "psd"}
every_rule = pytest.mark.parametrize("rule", RULES)


@pytest.mark.parametrize("kernel", PSD.values(), ids=PSD.keys())
def test_with_all_points_as_landmarks_it_is_exact(kernel):
    rows = X[:25]
    phi = Nystrom(25, kernel=kernel)
    F = phi.fit_transform(rows)
    K = naive.matrix(kernel, rows)
    np.testing.assert_allclose(F @ F.T, K, atol=1e-9 * np.abs(K).max())
    assert phi.certificate_.trace_error < 1e-9
    assert phi.certificate_.ok


@every_rule
def test_it_is_the_formula(rule):
    phi = Nystrom(12, kernel=KERNEL, landmarks=rule, random_state=0).fit(X)
    Z = X[phi.landmark_indices_]
    np.testing.assert_array_equal(phi.landmarks_, Z)
    assert len(set(phi.landmark_indices_)) == 12
    inner = phi.transform(NEW) @ phi.transform(X).T
    wanted = KERNEL(NEW, Z) @ np.linalg.solve(KERNEL(Z), KERNEL(Z, X))
    np.testing.assert_allclose(inner, wanted, atol=1e-10)
    # exact between a landmark and any point
    np.testing.assert_allclose(phi.transform(NEW) @ phi.transform(Z).T, KERNEL(NEW, Z), atol=1e-10)


@every_rule
def test_the_trace_error_is_exact_and_falls_as_landmarks_grow(rule):
    errors = []
    for m in (5, 20, 60):
        phi = Nystrom(m, kernel=KERNEL, landmarks=rule, random_state=0)
        F = phi.fit_transform(X)
        wanted = 1.0 - np.trace(F @ F.T) / 80
        assert phi.certificate_.trace_error == pytest.approx(wanted, abs=1e-12)
        assert phi.fit(X).certificate_.trace_error == pytest.approx(wanted, abs=1e-12)
        # what is left of K is positive semidefinite: no inner product is too long
        assert np.linalg.eigvalsh(KERNEL(X) - F @ F.T)[0] > -1e-12
        errors.append(wanted)
    assert errors[0] > errors[1] > errors[2]
    assert "approximate problem" in phi.certificate_.about


def test_with_the_same_landmarks_it_is_scikit_learns_up_to_a_rotation():
    reference = Nystroem(gamma=0.3, n_components=15, random_state=0).fit(X)
    phi = Nystrom(kernel=KERNEL, landmarks=reference.component_indices_).fit(X)
    theirs = reference.transform(NEW) @ reference.transform(X).T
    np.testing.assert_allclose(phi.transform(NEW) @ phi.transform(X).T, theirs, atol=1e-10)


def test_landmarks_are_given_as_numbers_masks_or_rows():
    numbers = np.array([3, 8, 40])
    mask = np.zeros(80, bool)
    mask[numbers] = True
    models = [
        Nystrom(kernel=KERNEL, landmarks=given).fit(X) for given in (numbers, mask, X[numbers])
    ]
    for model in models:
        np.testing.assert_allclose(model.transform(NEW), models[0].transform(NEW), atol=1e-12)
    assert sorted(models[1].landmark_indices_) == [3, 8, 40]
    assert len(models[2].landmark_indices_) == 0


def test_first_features_are_those_of_the_first_landmarks():
    many = Nystrom(20, kernel=KERNEL, random_state=0).fit(X)
    few = Nystrom(kernel=KERNEL, landmarks=many.landmark_indices_[:6]).fit(X)
    F, G = many.transform(NEW)[:, :6], few.transform(NEW)
    np.testing.assert_allclose(F @ F.T, G @ G.T, atol=1e-12)


# ---------------------------------------------------------------- rules
@every_rule
def test_a_seed_fixes_the_landmarks(rule):
    draws = [Nystrom(9, landmarks=rule, random_state=s).fit(X).landmark_indices_ for s in (0, 0, 1)]
    np.testing.assert_array_equal(draws[0], draws[1])
    assert set(draws[0]) != set(draws[2])


@pytest.mark.parametrize("rule", ["kmeans++", "cholesky", "leverage"])
def test_a_rare_group_is_not_overlooked(rule):
    rows = np.vstack([0.01 * table(400, 2), 50.0 + 0.01 * table(4, 2, seed=1)])
    for seed in range(5):
        phi = Nystrom(6, kernel=RBF(gamma=1.0), landmarks=rule, random_state=seed).fit(rows)
        assert phi.landmark_indices_.max() >= 400
        assert phi.certificate_.trace_error < 0.01


def test_cholesky_draws_what_one_draw_after_the_other_would():
    # three points, the last two nearly equal: probabilities of the second pivot by hand
    K = np.array([[1.0, 0.0, 0.0], [0.0, 1.0, 0.9], [0.0, 0.9, 1.0]])
    random = np.random.RandomState(0)
    pairs = [
        frozenset(choose_landmarks("cholesky", gram("precomputed", K), 2, random).tolist())
        for _ in range(2000)
    ]
    # {1, 2} needs 1 or 2 first (2/3), then the other with 0.19 against 1 of point 0
    wanted = 2 / 3 * 0.19 / 1.19
    share = np.mean([pair == {1, 2} for pair in pairs])
    assert abs(share - wanted) < 5 * np.sqrt(wanted / 2000)


@every_rule
def test_duplicated_points_are_no_landmarks_twice(rule):
    rows = np.vstack([table(4, 2)] * 10)
    phi = Nystrom(20, kernel=KERNEL, landmarks=rule, random_state=0)
    F = phi.fit_transform(rows)
    assert F.shape == (40, len(phi.factor_))
    assert len(phi.factor_) <= 4
    assert phi.certificate_.ok
    if rule in ("kmeans++", "cholesky"):
        np.testing.assert_allclose(F @ F.T, KERNEL(rows), atol=1e-10)


# ---------------------------------------------------------------- rows of many kinds
@every_rule
def test_words_and_matrices_have_landmarks(rule):
    kernel = FromFunction(shared_letters, definiteness="psd")
    options = {"landmarks": rule, "random_state": 0}
    words = Nystrom(4, kernel=kernel, **options).fit(WORDS)
    assert words.landmarks_ == [WORDS[i] for i in words.landmark_indices_]
    given = Nystrom(4, kernel="precomputed", **options).fit(kernel(WORDS))
    np.testing.assert_allclose(
        given.transform(kernel(["new", "words"], WORDS)), words.transform(["new", "words"])
    )


@pytest.mark.parametrize("rows", SAMPLES.values(), ids=SAMPLES.keys())
def test_every_kind_of_rows(rows):
    phi = Nystrom(5, random_state=0)
    F = phi.fit_transform(rows)
    assert F.dtype == phi.transform(rows).dtype == rows.dtype
    np.testing.assert_allclose(phi.transform(rows), F, atol=1e-5)
    assert F.shape[1] == len(phi.get_feature_names_out())


def test_a_kernel_of_zeros_has_no_features():
    phi = Nystrom(3, kernel="linear")
    assert phi.fit_transform(np.zeros((5, 2))).shape == (5, 0)
    assert phi.certificate_.ok


def test_an_indefinite_kernel_is_admitted():
    with pytest.warns(ConvergenceWarning, match="not positive semidefinite"):
        Nystrom(60, kernel=Sigmoid(scale=2.0, bias=-1.0), random_state=0).fit(X)


def test_features_stay_within_the_budget():
    phi = Nystrom(10, kernel=Linear(1.0), memory="40KB", random_state=0).fit(X)
    refuses(lambda: phi.transform(table(100_000, 3)), ValueError, "memory is too small")


def test_bad_parameters():
    refuses(lambda: Nystrom(0).fit(X), ValueError, "'n_components' parameter")
    refuses(
        lambda: Nystrom(landmarks="best").fit(X), ValueError, "landmarks must be one of.*'best'"
    )
    refuses(
        lambda: Nystrom(landmarks=[3, 99]).fit(X), ValueError, r"landmarks must lie in \[0, 80\)"
    )
    refuses(lambda: Nystrom(landmarks=table(3, 2)).fit(X), ValueError, "same number of columns")
    matrix = KERNEL(X)
    refuses(
        lambda: Nystrom(kernel="precomputed", landmarks=matrix[:3]).fit(matrix),
        ValueError,
        "landmarks of a precomputed kernel must be",
    )
