"""What goes wrong in a search: bad grids, failing fits, no time, Ctrl-C."""

from __future__ import annotations

import warnings
from functools import partial

import numpy as np
import pytest
from sklearn.exceptions import FitFailedWarning
from sklearn.linear_model import Ridge
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from mercer import SVC, KernelLogistic, KernelRidge, _limits
from mercer.kernels import RBF, FromFunction, Polynomial
from mercer.select import KernelSearchCV
from mercer.select.progress import Progress, _TextLine
from tests.cases import table, two_classes

X = table(40, 3)
NUMBERS = X[:, 0] + np.sin(X[:, 1])
CLASSES = np.where(NUMBERS > 0, 1, 0)


# ---------------------------------------------------------------- grids
@pytest.mark.parametrize(
    ("grid", "message"),
    [
        ({"D": [1.0]}, r"'D'.*nearest"),
        ({"kernel__gama": [1.0]}, r"'kernel__gama'.*'kernel__gamma'"),
        ({"kernel": [RBF(), Polynomial()], "kernel__gamma": [1.0]}, "Polynomial.*list of grids"),
        ([{"C": [1.0]}, {"Cc": [1.0]}], "'Cc'"),
        ({"C__x": [1.0]}, "'C__x'"),
    ],
)
@pytest.mark.parametrize("kernel", ["rbf", RBF()], ids=repr)
def test_an_unknown_parameter_is_named_before_any_work(grid, message, kernel):
    fitted = []
    search = KernelSearchCV(SVC(kernel), grid, scoring=lambda *_: fitted.append(1) or 0.0)
    with pytest.raises(ValueError, match=message):
        search.fit(X, CLASSES)
    assert not fitted


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"strategy": "random"}, "strategy"),
        ({"time_limit": 0}, "time_limit"),
        ({"progress": "yes"}, "progress"),
        ({"memory": "many"}, "memory"),
        ({"cv": 50}, "n_splits"),
        ({"scoring": "acuracy"}, "scoring"),
        ({"scoring": ["accuracy", "roc_auc"]}, "refit"),
    ],
)
def test_bad_settings_are_named(settings, message):
    with pytest.raises(ValueError, match=message):
        KernelSearchCV(SVC(), {"C": [1.0]}, **settings).fit(X, CLASSES)


def test_a_fold_with_one_class_is_refused():
    first = np.arange(40) < 20
    with pytest.raises(ValueError, match="fold 0 trains on one class only"):
        KernelSearchCV(SVC(), {"C": [1.0]}, cv=KFold(2)).fit(X, np.where(first, CLASSES, 1))


def test_rows_that_are_not_finite_are_refused():
    bad = X.copy()
    bad[3, 1] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        KernelSearchCV(SVC(), {"C": [1.0]}).fit(bad, CLASSES)


def test_two_columns_of_labels_fail_as_they_do_alone():
    with pytest.raises(ValueError, match="y should be a 1d array"):
        KernelSearchCV(SVC(), {"C": [1.0]}, cv=KFold(3)).fit(X, np.column_stack([CLASSES] * 2))


# ---------------------------------------------------------------- failing fits
@pytest.mark.filterwarnings("ignore:One or more of the test scores:UserWarning")
@pytest.mark.parametrize(
    "grid",
    [
        {"lam": [0.1, -1.0, 1.0]},
        {"kernel__gamma": [0.1, -1.0, 1.0]},
        {"kernel": [RBF(1.0), "no kernel", RBF(2.0)]},
    ],
    ids=str,
)
def test_a_candidate_that_fails_is_recorded_and_the_rest_is_kept(grid):
    search = KernelSearchCV(KernelRidge(RBF(), lam=1.0), grid)
    with pytest.warns(FitFailedWarning, match="5 of 15 fits failed, the first with"):
        search.fit(X, NUMBERS)
    scores = search.cv_results_["mean_test_score"]
    assert np.isnan(scores).tolist() == [False, True, False]
    assert search.cv_results_["rank_test_score"][1] == 3
    assert search.best_index_ != 1
    assert np.isfinite(search.predict(X)).all()


@pytest.mark.filterwarnings("ignore:One or more of the test scores:UserWarning")
def test_a_number_may_stand_for_a_failure():
    search = KernelSearchCV(KernelRidge(lam=1.0), {"lam": [0.1, -1.0]}, error_score=-9.0)
    with pytest.warns(FitFailedWarning):
        search.fit(X, NUMBERS)
    assert search.cv_results_["mean_test_score"][1] == -9.0


def test_a_failure_may_be_raised():
    search = KernelSearchCV(KernelRidge(lam=1.0), {"lam": [0.1, -1.0]}, error_score="raise")
    with pytest.raises(ValueError, match="lam"):
        search.fit(X, NUMBERS)


@pytest.mark.parametrize("estimator", [KernelRidge(lam=1.0), Ridge()], ids=repr)
def test_if_all_fail_the_first_reason_is_raised(estimator):
    name = "lam" if isinstance(estimator, KernelRidge) else "alpha"
    with pytest.raises(ValueError, match=f"all 10 fits failed.*{name}"):
        KernelSearchCV(estimator, {name: [-1.0, -2.0]}).fit(X, NUMBERS)


def _fails_on_some_words(a, b):
    if "x" in a + b:
        raise RuntimeError("no letter x, please")
    return float(len(set(a) & set(b)))


def test_a_kernel_that_fails_is_a_failed_fit():
    words = ["ab", "bc", "cd", "de", "ef", "fx"]
    kernels = [FromFunction(_fails_on_some_words), FromFunction(lambda a, b: float(a == b))]
    search = KernelSearchCV(SVC(), {"kernel": kernels}, cv=2)
    with (
        pytest.warns(FitFailedWarning, match="2 of 4 fits failed.*no letter x"),
        pytest.warns(UserWarning, match="non-finite"),
    ):
        search.fit(words, [0, 1, 0, 1, 0, 1])
    assert search.best_index_ == 1


@pytest.mark.filterwarnings("ignore:One or more of the test scores:UserWarning")
@pytest.mark.parametrize("estimator", [KernelRidge(lam=1.0), Ridge()], ids=repr)
def test_a_scorer_that_fails_gives_no_score(estimator):
    calls = []

    def fails_once(model, rows, y):
        calls.append(1)
        if len(calls) == 3:
            raise RuntimeError("no score today")
        return float(np.mean(model.predict(rows)))

    name = "lam" if isinstance(estimator, KernelRidge) else "alpha"
    search = KernelSearchCV(estimator, {name: [1.0, 2.0]}, scoring=fails_once)
    with pytest.warns(UserWarning, match="no score today"):
        search.fit(X, NUMBERS)
    assert search.best_index_ == 1


# ---------------------------------------------------------------- time and Ctrl-C
class Clock:
    """A clock on which a score takes a second and all else no time, however busy the machine."""

    def __init__(self):
        self.now = 0.0

    def monotonic(self):
        return self.now

    def __call__(self, model, rows, y):
        self.now += 1.0
        return float(np.mean(model.predict(rows) == y))


@pytest.mark.filterwarnings("ignore:One or more of the test scores:UserWarning")
@pytest.mark.parametrize(
    ("estimator", "n_jobs"), [(SVC(), None), (SVC(), 2), (Ridge(), None)], ids=str
)
def test_time_ends_the_search_with_the_best_so_far(estimator, n_jobs, monkeypatch):
    clock = Clock()
    monkeypatch.setattr(_limits, "time", clock)
    name = "C" if isinstance(estimator, SVC) else "alpha"
    grid = {name: np.logspace(-2, 2, 400).tolist()}
    search = KernelSearchCV(
        estimator, grid, scoring=clock, time_limit=40.0, cv=2, n_jobs=n_jobs, refit=True
    )
    with pytest.warns(UserWarning, match="stopped at time_limit: .* of 400 candidates"):
        search.fit(X, CLASSES)
    scores = search.cv_results_["mean_test_score"]
    assert search.status_ == "time_limit"
    assert 0 < np.isfinite(scores).sum() < 400
    assert search.best_score_ == np.nanmax(scores)
    assert len(search.predict(X)) == 40


@pytest.mark.parametrize("estimator", [SVC(), Ridge()], ids=repr)
def test_no_time_at_all_is_an_error(estimator):
    name = "C" if isinstance(estimator, SVC) else "alpha"
    search = KernelSearchCV(estimator, {name: [1.0, 2.0]}, time_limit=1e-9)
    with pytest.raises(TimeoutError, match="before any candidate was evaluated"):
        search.fit(X, CLASSES)


class Interrupts:
    """A scorer at which the user presses Ctrl-C after some calls."""

    def __init__(self, after):
        self.left = after

    def __call__(self, model, rows, y):
        self.left -= 1
        if self.left < 0:
            raise KeyboardInterrupt
        return float(np.mean(model.predict(rows) == y))


@pytest.mark.filterwarnings("ignore:One or more of the test scores:UserWarning")
@pytest.mark.parametrize("n_jobs", [None, 2])
def test_an_interrupted_search_keeps_the_best_so_far(n_jobs):
    grid = {"kernel__gamma": [0.1, 0.2, 0.5, 1.0]}
    search = KernelSearchCV(SVC(RBF()), grid, scoring=Interrupts(12), n_jobs=n_jobs)
    with pytest.warns(UserWarning, match="interrupted: 2 of 4 candidates"):
        search.fit(X, CLASSES)
    assert search.status_ == "interrupted"
    scores = search.cv_results_["mean_test_score"]
    assert np.isnan(scores).tolist() == [False, False, True, True]
    exact = GridSearchCV(SVC(RBF()), {"kernel__gamma": [0.1, 0.2]}).fit(X, CLASSES)
    np.testing.assert_allclose(scores[:2], exact.cv_results_["mean_test_score"])
    assert search.best_params_ == exact.best_params_


def test_an_interrupt_before_anything_is_known_goes_through():
    with pytest.raises(KeyboardInterrupt):
        KernelSearchCV(SVC(), {"C": [1.0, 2.0]}, scoring=Interrupts(2)).fit(X, CLASSES)


@pytest.mark.filterwarnings("ignore:One or more of the test scores:UserWarning")
def test_a_solver_that_was_interrupted_ends_the_search(monkeypatch):
    """Solvers return their best at Ctrl-C: that is no exact score, and no reason to go on."""
    fits = []
    original = KernelLogistic.fit

    def fit(self, *args, **named):
        original(self, *args, **named)
        fits.append(1)
        if len(fits) == 8:
            self.status_ = "interrupted"
        return self

    monkeypatch.setattr(KernelLogistic, "fit", fit)
    search = KernelSearchCV(KernelLogistic(), {"kernel": [RBF(1.0), RBF(2.0)]}, refit=False)
    with pytest.warns(UserWarning, match="interrupted: 1 of 2"):
        search.fit(X, CLASSES)
    assert len(fits) == 8


# ---------------------------------------------------------------- progress
@pytest.mark.parametrize("progress", ["auto", False])
def test_nothing_is_drawn_where_there_is_no_terminal(capsys, progress):
    KernelSearchCV(SVC(), {"C": [1.0]}, progress=progress).fit(X, CLASSES)
    assert capsys.readouterr() == ("", "")


def test_a_bar_tells_how_far_and_how_good(capsys, monkeypatch):
    at_once = partial(Progress, silent=0.0, pause=0.0)
    monkeypatch.setattr("mercer.select.engine.Progress", at_once)
    monkeypatch.setattr("mercer.select.progress._open_line", _TextLine)
    search = KernelSearchCV(SVC(), {"C": [0.1, 1.0]}, progress=True).fit(X, CLASSES)
    drawn = capsys.readouterr().err
    assert "10/10" in drawn
    assert f"best {search.best_score_:.4g}" in drawn
    assert "s left" in drawn


def test_no_warning_where_all_is_well():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        KernelSearchCV(SVC(), {"C": [0.1, 1.0]}).fit(X, CLASSES)


def test_every_fit_of_a_search_has_the_byte_budget_of_the_search():
    """Where a shared matrix does not fit, the fits keep to the budget themselves."""
    X, y = two_classes(120, 3)
    search = KernelSearchCV(SVC(), {"C": [1.0, 10.0]}, cv=2, memory="60kB").fit(X, y)
    assert search.best_estimator_.memory == "60kB"
    own = KernelSearchCV(SVC(memory="1GB"), {"C": [1.0]}, cv=2, memory="60kB").fit(X, y)
    assert own.best_estimator_.memory == "1GB"
    pipeline = make_pipeline(StandardScaler(), SVC())  # whose memory is a folder
    steps = KernelSearchCV(pipeline, {"svc__C": [1.0]}, cv=2, memory="60kB").fit(X, y)
    assert steps.best_estimator_.memory is None
