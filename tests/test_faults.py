"""Faults in the middle of a fit: it is whole or it did not happen, and the next one works."""

from __future__ import annotations

import sys

import numpy as np
import pytest
from sklearn.base import clone

from mercer import SVC, KernelRidge, _scratch
from tests.cases import ESTIMATORS
from tests.test_estimators import fitted, targets

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 4))
Y = X[:, 0] + 0.3 * RNG.normal(size=60)
OTHER = RNG.normal(size=(50, 3))  # what a model was fitted to before

every_estimator = pytest.mark.parametrize("estimator", ESTIMATORS, ids=repr)


class Allocations:
    """NumPy in the one place that hands out working memory: the k-th array is refused."""

    def __init__(self, refused=0):
        self.refused, self.count = refused, 0

    def __getattr__(self, name):
        return getattr(np, name)

    def empty(self, *args, **kwargs):
        self.count += 1
        if self.count == self.refused:
            raise MemoryError("no more memory")
        return np.empty(*args, **kwargs)


@pytest.fixture
def allocations(monkeypatch):
    """Return a function that refuses the k-th array from now on."""

    def refuse(k=0):
        _scratch.settle()
        _scratch._free.clear()
        counter = Allocations(k)
        monkeypatch.setattr(_scratch, "np", counter)
        return counter

    return refuse


def plain(model):
    """Return what a model has learned."""
    return {name: value for name, value in vars(model).items() if name.endswith("_")}


def assert_untouched(model, before):
    assert vars(model).keys() == before.keys()
    assert all(value is before[name] for name, value in vars(model).items())


def assert_the_same(a, b):
    assert a.keys() == b.keys()
    for name, value in a.items():
        if isinstance(value, float) or (isinstance(value, np.ndarray) and value.dtype.kind == "f"):
            np.testing.assert_allclose(value, b[name], atol=1e-9, err_msg=name)


@every_estimator
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_memory_that_ends_in_a_fit_leaves_the_model_as_it_was(estimator, allocations):
    y = targets(estimator, Y)
    counter = allocations()
    wanted = plain(fitted(estimator, X, Y))
    model = fitted(estimator, OTHER, OTHER[:, 0])
    before = dict(vars(model))
    moments = range(1, counter.count + 1)
    for k in sorted({*moments[:3], *moments[3::5], *moments[-1:]}):
        allocations(k)
        try:
            model.fit(X, y)
        except MemoryError as error:
            assert str(error)  # noqa: PT017 - some fits do without, in a smaller storage
            assert_untouched(model, before)
        else:
            break
    allocations()
    assert_the_same(plain(model.fit(X, y)), wanted)


@pytest.mark.parametrize("model", [SVC(), KernelRidge()], ids=repr)
def test_a_refusal_leaves_a_fitted_model_as_it_was(model):
    model = clone(model).fit(X, Y > 0)
    values, proof = model.predict(X), model.certificate_
    with pytest.raises(ValueError, match="inconsistent"):
        model.fit(X[:, :2], Y[:-1] > 0)
    np.testing.assert_array_equal(model.predict(X), values)
    assert model.certificate_ is proof


class _CtrlC:
    """Raises KeyboardInterrupt at the k-th line that runs in the package."""

    def __init__(self, moment):
        self.moment, self.count = moment, 0

    def __call__(self, frame, event, arg):
        if "/mercer/" not in frame.f_code.co_filename:
            return None
        if event == "line":
            self.count += 1
            if self.count == self.moment:
                raise KeyboardInterrupt
        return self


@pytest.mark.parametrize("model", [SVC(C=5.0), KernelRidge()], ids=repr)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_ctrl_c_at_any_line_is_an_error_or_an_honest_answer(model):
    y = Y > 0
    wanted = clone(model).fit(X, y)
    counter = _CtrlC(0)
    before = sys.gettrace()
    sys.settrace(counter)
    clone(model).fit(X, y)
    sys.settrace(before)
    for moment in np.linspace(1, counter.count, 120).astype(int):
        trial = clone(model).fit(OTHER, OTHER[:, 0] > 0)
        old = dict(vars(trial))
        sys.settrace(_CtrlC(moment))
        try:
            trial.fit(X, y)
        except KeyboardInterrupt:
            sys.settrace(before)
            assert_untouched(trial, old)
        finally:
            sys.settrace(before)
        if vars(trial).get("status_") == "interrupted":
            assert not trial.certificate_.ok or np.allclose(trial.predict(X), wanted.predict(X))
    assert clone(model).fit(X, y).certificate_.ok
