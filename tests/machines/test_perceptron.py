"""The perceptron: Rosenblatt's rule on paper, Novikoff's theorem, honesty where it fails."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from sklearn import datasets, svm
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.estimator_checks import parametrize_with_checks

from mercer import Perceptron, gram
from mercer.kernels import RBF, FromFunction, Laplacian, Linear, Polynomial, Sigmoid
from mercer.machines.perceptron import _orders
from mercer.solvers import Limits
from mercer.solvers import perceptron as solver
from tests.cases import WORDS, shared_letters, table

quiet = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


@quiet  # its checks allow five epochs, and some of its classes cannot be separated
@parametrize_with_checks(
    [
        Perceptron(random_state=0),
        Perceptron("rbf", averaged=True, shuffle=False),
        Perceptron("rbf", voted=True, random_state=0),
    ]
)
def test_scikit_learn_has_no_objection(estimator, check):
    check(estimator)


def integers(n, d=3, seed=0, margin=1.0):
    """Return rows of small integers, on which all sums are exact, and labels they separate by."""
    rng = np.random.default_rng(seed)
    w, rows = rng.integers(-3, 4, d), rng.integers(-9, 10, (n, d)).astype(float)
    values = rows @ w + 2.0
    kept = np.abs(values) >= margin
    return rows[kept], np.where(values[kept] > 0, 1, -1)


def rosenblatt(rows, sign, max_iter=1000, offset=1.0):
    """Return w, b, the updates, the average w and b: the rule as it stands on paper."""
    w, b, updates = np.zeros(rows.shape[1]), 0.0, 0
    seen = []
    for _ in range(max_iter):
        mistakes = 0
        for x, y in zip(rows, sign, strict=True):
            if y * (w @ x + b) <= 0:
                w, b, mistakes = w + y * x, b + y * offset, mistakes + 1
            seen.append(np.append(w, b))
        updates += mistakes
        if not mistakes:
            break
    return w, b, updates, np.mean(seen, axis=0)


# ---------------------------------------------------------------- the rule
@pytest.mark.parametrize("form", [np.asarray, sp.csr_array], ids=["dense", "sparse"])
@pytest.mark.parametrize("fit_intercept", [True, False])
@quiet
def test_the_linear_kernel_is_the_rule_on_paper(form, fit_intercept):
    rows, sign = integers(80)
    w, b, updates, _ = rosenblatt(rows, sign, 50, float(fit_intercept))
    model = Perceptron(shuffle=False, fit_intercept=fit_intercept, max_iter=50)
    model.fit(form(rows), sign)
    np.testing.assert_array_equal(model.coef_[0], w)
    assert model.intercept_ == [b]
    assert model.certificate_.updates == updates
    np.testing.assert_array_equal(model.decision_function(form(rows)), rows @ w + b)


KERNELS = [Linear(), Linear(2.0), Polynomial(degree=2, bias=1.0), Polynomial(degree=3, bias=0.0)]


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
@quiet
def test_any_kernel_is_the_rule_on_the_rows_of_its_matrix(kernel):
    rows, sign = integers(60)
    K = kernel(rows)
    f, alpha, updates = np.zeros(len(rows)), np.zeros(len(rows)), 0
    for _ in range(30):
        before = updates
        for i in range(len(rows)):
            if sign[i] * f[i] <= 0:
                f, updates = f + sign[i] * (K[i] + 1.0), updates + 1
                alpha[i] += 1
        if updates == before:
            break
    model = Perceptron(kernel, shuffle=False, max_iter=30).fit(rows, sign)
    found = np.zeros(len(rows))
    found[model.support_] = model.dual_coef_[0]
    np.testing.assert_array_equal(found, alpha * sign)
    np.testing.assert_array_equal(model.decision_function(rows), f)


@pytest.mark.parametrize("kernel", ["linear", Polynomial(degree=1, bias=0.0)])
def test_the_average_is_that_of_all_visits(kernel):
    rows, sign = integers(60, seed=2)
    *_, mean = rosenblatt(rows, sign)
    model = Perceptron(kernel, shuffle=False, averaged=True).fit(rows, sign)
    np.testing.assert_allclose(model.decision_function(rows), rows @ mean[:-1] + mean[-1])
    wrong = np.sum(sign * model.decision_function(rows) <= 0)
    assert model.certificate_.averaged_mistakes == wrong


def all_functions(rows, sign, max_iter=1000):
    """Return (w, b) after every visit, as on paper."""
    w, b, seen = np.zeros(rows.shape[1]), 0.0, []
    for _ in range(max_iter):
        before = len(seen), w.copy(), b
        for x, y in zip(rows, sign, strict=True):
            if y * (w @ x + b) <= 0:
                w, b = w + y * x, b + y
            seen.append(np.append(w, b))
        if np.array_equal(w, before[1]) and b == before[2]:
            break
    return np.array(seen)


@pytest.mark.parametrize("kernel", ["linear", Linear(0.0), Polynomial(degree=1, bias=0.0)])
@pytest.mark.parametrize("form", [np.asarray, sp.csr_array], ids=["dense", "sparse"])
def test_votes_are_those_of_all_functions_on_the_way(kernel, form):
    rows, sign = integers(60, seed=2)
    new = integers(30, seed=5)[0]
    functions = all_functions(rows, sign)
    model = Perceptron(kernel, shuffle=False, voted=True).fit(form(rows), sign)
    wanted = np.sign(new @ functions[:, :-1].T + functions[:, -1]).mean(axis=1)
    np.testing.assert_allclose(model.decision_function(form(new)), wanted, atol=1e-12)
    np.testing.assert_array_equal(model.predict(form(new)), np.where(wanted > 0, 1, -1))
    assert model.certificate_.ok  # of the last function, as ever
    assert len(model.votes_) == model.certificate_.updates


@quiet
def test_votes_add_up_to_the_average_if_functions_are_not_rounded_to_signs():
    rows, y = table(80, 2), table(80, 1, seed=3)[:, 0] > 0
    options = {"kernel": RBF(gamma=1.0), "max_iter": 7, "random_state": 0}
    voted = Perceptron(voted=True, **options).fit(rows, y)
    mean = Perceptron(averaged=True, **options).fit(rows, y)
    K = RBF(gamma=1.0)(rows, rows[voted.support_]) + 1.0
    signs = np.sign(voted.dual_coef_[0])[voted.vote_order_]
    functions = np.cumsum(K[:, voted.vote_order_] * signs, axis=1)
    wanted = functions @ voted.votes_ / voted.votes_.sum()
    np.testing.assert_allclose(mean.decision_function(rows), wanted, atol=1e-9)
    assert voted.votes_.sum() == 7 * 80
    signs = np.sign(functions) @ voted.votes_ / voted.votes_.sum()
    np.testing.assert_allclose(voted.decision_function(rows), signs, atol=1e-12)


@quiet
@pytest.mark.parametrize("kernel", ["linear", RBF(gamma=1.0)], ids=repr)
def test_classes_that_overlap_are_voted_on_as_well(kernel):
    """Votes of a run that never ends are about as good as the best of its functions."""
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], 200)
    rows, new = (rng.normal(size=(400, 2)) + 1.5 * y[:, None] for _ in range(2))
    last, voted = (
        Perceptron(kernel, max_iter=20, random_state=0, voted=v).fit(rows, y) for v in (False, True)
    )
    assert voted.status_ == "not_separated"
    assert voted.score(new, y) >= last.score(new, y)
    assert voted.score(new, y) > 0.8


def test_votes_of_several_classes_words_and_given_matrices():
    rows, y = datasets.load_iris(return_X_y=True)
    rows, first = np.unique(rows, axis=0, return_index=True)
    y, kernel = y[first], RBF(gamma=5.0)
    model = Perceptron(kernel, random_state=0, voted=True).fit(rows, y)
    values = model.decision_function(rows)
    assert values.shape == (len(rows), 3)
    assert np.abs(values).max() <= 1.0
    given = Perceptron("precomputed", random_state=0, voted=True).fit(kernel(rows), y)
    np.testing.assert_allclose(given.decision_function(kernel(rows)), values, atol=1e-12)
    for c in range(3):
        alone = Perceptron(kernel, random_state=0, voted=True).fit(rows, y == c)
        np.testing.assert_array_equal(values[:, c], alone.decision_function(rows))
    words = Perceptron(FromFunction(shared_letters), random_state=0, voted=True)
    long = [len(word) > 5 for word in WORDS]
    assert words.fit(WORDS, long).decision_function(["kernels", "of"]).shape == (2,)


def test_an_interrupted_vote_counts_what_was_reached():
    rows, sign = table(300, 2), np.where(np.arange(300) % 2, 1.0, -1.0)
    found = solver.solve_perceptron(
        solver.ColumnScores(rows, 1.0, work=1.0),
        sign,
        lambda: np.arange(300),
        limits=Limits.of(time_limit=0.0),
        history=True,
    )
    assert found.stats["epochs"] == 0
    assert 0 < len(found.history.who) == found.certificate.updates
    assert len(found.history.stood) == len(found.history.who)
    with pytest.warns(ConvergenceWarning, match="stopped at time_limit"):
        model = Perceptron(time_limit=0.0, random_state=0, voted=True).fit(rows, sign)
    assert len(model.votes_) == model.certificate_.updates
    assert np.isfinite(model.decision_function(rows)).all()


def test_a_machine_is_averaged_or_voted():
    with pytest.raises(ValueError, match="averaged and voted must not both be True"):
        Perceptron(averaged=True, voted=True).fit(XOR, XOR_SIGN)


def test_several_classes_are_one_against_the_rest():
    rows, y = datasets.load_iris(return_X_y=True)
    rows, first = np.unique(rows, axis=0, return_index=True)
    model = Perceptron(RBF(gamma=5.0), random_state=0).fit(rows, y[first])
    values = model.decision_function(rows)
    for c in range(3):
        alone = Perceptron(RBF(gamma=5.0), random_state=0).fit(rows, y[first] == c)
        np.testing.assert_allclose(values[:, c], alone.decision_function(rows), atol=1e-9)
        assert model.certificate_.problems[c]["updates"] == alone.certificate_.updates
    assert model.certificate_.ok
    assert model.score(rows, y[first]) == 1.0


def test_the_order_is_drawn_from_the_random_state():
    rows, sign = integers(200, seed=1)
    one, same, other = (Perceptron(random_state=s).fit(rows, sign).dual_coef_ for s in (0, 0, 1))
    np.testing.assert_array_equal(one, same)
    assert not np.array_equal(one, other)


# ---------------------------------------------------------------- the theorem
@given(st.integers(2, 60), st.integers(1, 5), st.integers(0, 2**32 - 1), st.booleans())
def test_updates_stay_within_the_bound_of_novikoff(n, d, seed, linear):
    rng = np.random.default_rng(seed)
    rows, w = rng.normal(size=(n, d)), rng.normal(size=d)
    values = rows @ w
    kept = np.abs(values) > 0.1
    kept[[values.argmin(), values.argmax()]] = True
    values = values - (values.max() + values.min()) / 2
    rows, sign = rows[kept], np.where(values[kept] > 0, 1, -1)
    model = Perceptron("linear" if linear else RBF(gamma=1.0), random_state=0, max_iter=10**6)
    proof = model.fit(rows, sign).certificate_
    assert proof.ok
    assert proof.mistakes == proof.last_epoch_mistakes == 0
    assert (sign * model.decision_function(rows) > 0).all()
    assert proof.updates <= proof.bound
    assert 0 < proof.margin <= proof.margin_limit * (1 + 1e-12)
    assert proof.margin_limit <= proof.radius / np.sqrt(proof.updates) * (1 + 1e-12)


def test_the_best_margin_lies_between_the_found_one_and_its_limit():
    rows, sign = integers(100, margin=3.0)
    rows = np.c_[rows, np.ones(len(rows))]
    proof = Perceptron(fit_intercept=False, random_state=0).fit(rows, sign).certificate_
    best = svm.SVC(kernel="precomputed", C=1e10)
    # through the origin: the hard margin of the points y·x against their mirror images
    mirrored = rows * sign[:, None]
    both = np.vstack([mirrored, -mirrored])
    best.fit(both @ both.T, np.repeat([1, -1], len(rows)))
    w = best.dual_coef_ @ both[best.support_]
    margin = 1.0 / np.linalg.norm(w)
    assert proof.margin <= margin * (1 + 1e-3)
    assert margin <= proof.margin_limit * (1 + 1e-3)
    assert proof.updates <= proof.radius**2 / margin**2


def test_the_certificate_is_recomputed_from_the_coefficients():
    rows, y = table(70, 3), table(70, 1, seed=4)[:, 0] > 0
    model = Perceptron(RBF(gamma=2.0), random_state=0).fit(rows, y)
    sign, K = np.where(y, 1.0, -1.0), RBF(gamma=2.0)(rows) + 1.0
    beta = np.zeros(70)
    beta[model.support_] = model.dual_coef_[0]
    norm = np.sqrt(beta @ K @ beta)
    proof = model.certificate_
    assert proof.margin == pytest.approx((sign * (K @ beta)).min() / norm)
    assert proof.squared_norm == pytest.approx(norm**2)
    assert proof.radius == pytest.approx(np.sqrt(2.0))
    assert proof.updates == np.abs(beta).sum()
    assert proof.bound == pytest.approx((proof.radius / proof.margin) ** 2)
    assert proof.margin_limit == pytest.approx(norm / np.abs(beta).sum())


# ---------------------------------------------------------------- where it does not end
XOR, XOR_SIGN = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]]), [1, -1, -1, 1]


def test_classes_that_cannot_be_separated_are_admitted():
    with pytest.warns(ConvergenceWarning, match="Perceptron: no epoch without mistakes within max"):
        model = Perceptron(max_iter=200, random_state=0).fit(XOR, XOR_SIGN)
    proof = model.certificate_
    assert model.status_ == "not_separated"
    assert not proof.ok
    assert proof.mistakes == np.sum(XOR_SIGN * model.decision_function(XOR) <= 0) > 0
    assert proof.bound == np.inf
    assert model.n_iter_ == 200
    # the hulls of the classes meet, and the run comes to see it
    assert proof.margin_limit < 0.05


def test_a_richer_kernel_separates_them():
    model = Perceptron(Polynomial(degree=2), random_state=0).fit(XOR, XOR_SIGN)
    assert model.certificate_.ok
    assert model.score(XOR, XOR_SIGN) == 1.0


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_equal_rows_of_two_classes_stop_at_max_iter(kernel):
    with pytest.warns(ConvergenceWarning, match="SVC, which allows for mistakes"):
        model = Perceptron(kernel, max_iter=5).fit(np.ones((4, 2)), [0, 1, 0, 1])
    assert model.n_iter_ == 5


@pytest.mark.parametrize("linear", [True, False])
def test_time_is_up_in_the_middle_of_an_epoch(linear):
    rows, sign = table(300, 2), np.where(np.arange(300) % 2, 1.0, -1.0)
    if linear:
        scores = solver.ColumnScores(rows, 1.0, work=1.0)
    else:
        scores = solver.RowScores(gram(RBF(gamma=1.0), rows), 1.0, 2**20, work=1.0)
    limits = Limits.of(time_limit=0.0)
    found = solver.solve_perceptron(scores, sign, lambda: np.arange(300), limits=limits)
    assert found.status.name == "TIME_LIMIT"
    assert found.stats["epochs"] == 0
    assert found.certificate.updates == np.abs(found.value).sum() > 0


def test_ctrl_c_keeps_what_was_reached():
    rows, sign = integers(50)
    scores = solver.ColumnScores(rows, 1.0)
    orders = iter([np.arange(len(rows))])

    def draw():
        try:
            return next(orders)
        except StopIteration:
            raise KeyboardInterrupt from None

    found = solver.solve_perceptron(scores, sign.astype(float), draw, limits=Limits())
    assert found.status.name == "INTERRUPTED"
    assert found.stats["epochs"] == 1
    w, *_ = rosenblatt(rows, sign, 1)
    np.testing.assert_array_equal(found.value @ rows, w)


def test_an_indefinite_kernel_may_separate_but_has_no_theorem():
    rows, sign = integers(30)
    model = Perceptron(Sigmoid(scale=0.01), random_state=0).fit(rows, sign)
    assert model.certificate_.ok
    assert model.certificate_.theorem.startswith("does not apply")
    assert model.certificate_.bound == np.inf


# ---------------------------------------------------------------- rows of K
@pytest.mark.parametrize("kernel", [RBF(gamma=0.5), Laplacian(gamma=0.3), Polynomial(degree=2)])
@pytest.mark.parametrize(
    ("storage", "memory"), [("blocked", 1_000_000), ("cached", 20_000), ("cached", 6_000)]
)
def test_rows_on_demand_give_what_the_whole_matrix_gives(kernel, storage, memory):
    rows, sign = np.round(table(150, 3) * 8), np.sign(table(150, 1, seed=1)[:, 0])

    def solved(K, memory):
        draw = _orders(150, 0)
        return solver.solve_perceptron(
            solver.RowScores(K, 1.0, memory), sign, draw, limits=Limits(max_iter=60)
        )

    whole = solved(gram(kernel, rows, storage="dense"), 2**30)
    part = solved(gram(kernel, rows, storage=storage, memory=memory), memory)
    assert part.certificate.storage == storage
    np.testing.assert_array_equal(part.value, whole.value)


def test_a_point_that_is_never_mistaken_costs_no_row():
    rows = np.r_[table(200, 2) - 20.0, table(200, 2) + 20.0]
    calls = []

    def inner(x, y):
        calls.append(1)
        return float(x @ y)

    kernel = FromFunction(inner, definiteness="psd")
    model = Perceptron(kernel, random_state=0).fit(rows, np.repeat([0, 1], 200))
    n_mistaken = len(model.support_)
    assert n_mistaken < 10
    assert len(calls) <= (2 * n_mistaken + 3) * 400  # rows, the diagonal, the proofs


def test_many_rows_need_no_square_matrix():
    rows, sign = integers(40_000, 5)
    model = Perceptron(random_state=0, memory="1MB").fit(rows, sign)
    assert model.certificate_.ok
    assert model.certificate_.storage == "none"


# ---------------------------------------------------------------- rows and labels of all kinds
def test_precomputed_and_callable_kernels_are_the_same_machine():
    rows, sign = integers(60)
    new = integers(20, seed=5)[0]
    kernel = Polynomial(degree=2)
    direct = Perceptron(kernel, random_state=0).fit(rows, sign).decision_function(new)
    given = Perceptron("precomputed", random_state=0).fit(kernel(rows), sign)
    np.testing.assert_array_equal(given.decision_function(kernel(new, rows)), direct)
    function = Perceptron(lambda x, y: float(x @ y + 1.0) ** 2, random_state=0).fit(rows, sign)
    np.testing.assert_array_equal(function.decision_function(new), direct)


def test_frames_text_labels_and_single_precision():
    rows, sign = integers(60)
    labels = np.where(sign > 0, "yes", "no")
    wanted = Perceptron(random_state=0).fit(rows, labels)
    for frame in (pd.DataFrame, pl.DataFrame):
        data = frame(dict(zip("abc", rows.T, strict=True)))
        model = Perceptron(random_state=0).fit(data, labels)
        assert list(model.feature_names_in_) == ["a", "b", "c"]
        np.testing.assert_array_equal(model.predict(data), labels)
        np.testing.assert_array_equal(model.coef_, wanted.coef_)
    single = Perceptron(random_state=0).fit(rows.astype(np.float32), labels)
    np.testing.assert_array_equal(single.coef_, wanted.coef_)
    assert single.support_vectors_.dtype == np.float32


def test_words_are_separated():
    y = [len(word) > 5 for word in WORDS]
    model = Perceptron(FromFunction(shared_letters), random_state=0).fit(WORDS, y)
    assert model.predict(WORDS).tolist() == y
    assert model.certificate_.theorem.startswith("does not apply")  # nobody said it is psd


def test_a_fitted_machine_can_be_stored():
    rows, sign = integers(60)
    model = clone(Perceptron("rbf", random_state=0)).fit(rows, sign)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.decision_function(rows), model.decision_function(rows))
    assert again.certificate_ == model.certificate_


@pytest.mark.parametrize("scale", [1e-150, 1e-9, 1e9, 1e70])
def test_without_offset_the_unit_of_length_does_not_matter(scale):
    scale = 2.0 ** np.round(np.log2(scale))
    rows, sign = integers(60)
    rows = np.c_[rows, np.ones(len(rows))]
    one, other = (
        Perceptron(fit_intercept=False, random_state=0).fit(s * rows, sign) for s in (1.0, scale)
    )
    np.testing.assert_array_equal(one.dual_coef_, other.dual_coef_)
    assert other.certificate_.ok


# ---------------------------------------------------------------- bad input
@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"max_iter": 0}, "max_iter"),
        ({"averaged": "yes"}, "averaged"),
        ({"time_limit": -1.0}, "time_limit"),
        ({"kernel": "gauss"}, "kernel must be one of"),
        ({"memory": "lots", "kernel": "rbf"}, "memory must be"),
    ],
)
def test_wrong_options_are_named(options, message):
    with pytest.raises(ValueError, match=message):
        Perceptron(**options).fit(XOR, XOR_SIGN)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_a_kernel_that_overflows_is_an_error():
    with pytest.raises(ValueError, match="not finite: the kernel overflows on X"):
        Perceptron(Linear().exp()).fit(1e3 * XOR, XOR_SIGN)


def test_one_class_is_no_problem_to_solve():
    with pytest.raises(ValueError, match=r"at least two classes; got 1 class: \[3\]"):
        Perceptron().fit(XOR, [3, 3, 3, 3])


def test_weights_of_columns_exist_for_the_linear_kernel_only():
    model = Perceptron("rbf", random_state=0).fit(XOR, XOR_SIGN)
    with pytest.raises(AttributeError, match="linear kernel only"):
        _ = model.coef_
