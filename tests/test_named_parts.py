"""Kernels and losses by name are searchable; estimators print as what makes them again."""

from __future__ import annotations

import inspect

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import estimator_html_repr

import mercer
from mercer import SVC, SVR, KernelMachine, KernelPCA, KernelSearchCV, PenaltyRegression
from mercer import kernels as mk
from mercer import losses as ml
from mercer.kernels import RBF, Linear, Polynomial, as_kernel
from tests.cases import ESTIMATORS, table, two_classes
from tests.strategies import any_expressions

WITH_PARTS = {type(e).__name__: e for e in ESTIMATORS if e.named_parts}
every_named_part = pytest.mark.parametrize(
    ("estimator", "part"),
    [(e, part) for e in WITH_PARTS.values() for part in e.named_parts if "kernel" in part],
    ids=lambda value: value if isinstance(value, str) else type(value).__name__,
)
NAMESPACE = {
    **vars(mk),
    **vars(ml),
    **{name: type(estimator) for name, estimator in WITH_PARTS.items()},
    **{"Pipeline": Pipeline, "StandardScaler": StandardScaler, "KernelSearchCV": KernelSearchCV},
}
X, SIGN = two_classes(60, 3)


def read_back(text):
    """Evaluate a text with the names that a user would have imported."""
    return eval(text, dict(NAMESPACE))


# ---------------------------------------------------------------- names are searchable
@every_named_part
def test_a_parameter_of_a_named_kernel_makes_an_object_of_it(estimator, part):
    model = clone(estimator).set_params(**{part: "rbf"})
    assert model.get_params()[f"{part}__gamma"] == "scale"
    model.set_params(**{f"{part}__gamma": 0.25})
    assert model.get_params(deep=False)[part] == RBF(gamma=0.25)


@every_named_part
def test_a_name_and_its_parameters_may_be_set_at_once(estimator, part):
    model = clone(estimator).set_params(**{f"{part}__degree": 5, part: "polynomial"})
    assert model.get_params(deep=False)[part] == Polynomial(degree=5)


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=repr)
def test_all_kernels_of_all_estimators_are_parts(estimator):
    kernels = [name for name in estimator.get_params(deep=False) if name.startswith("kernel")]
    assert set(kernels) <= set(estimator.named_parts)


@pytest.mark.parametrize("estimator", WITH_PARTS.values(), ids=WITH_PARTS.keys())
def test_an_estimator_keeps_its_own_parameters(estimator):
    model = clone(estimator)
    model.set_params(**model.get_params())
    assert model.get_params(deep=False) == estimator.get_params(deep=False)
    assert repr(model) == repr(estimator)


def test_the_kernel_that_a_name_stands_for_is_not_shared():
    a, b = SVC("rbf"), SVC("rbf")
    a.set_params(kernel__gamma=0.5)
    assert b.kernel == "rbf"
    assert as_kernel("rbf") == RBF()


def test_losses_and_penalties_by_name_are_searchable():
    assert KernelMachine("huber").set_params(loss__delta=2.0).loss == ml.Huber(delta=2.0)
    model = PenaltyRegression("large_error").set_params(penalty__a=0.5)
    assert model.penalty == mercer.penalties.LargeError(a=0.5)


def test_a_name_that_is_none_is_left_to_the_fit():
    model = SVC("rfb")
    assert "kernel__gamma" not in model.get_params()
    with pytest.raises(ValueError, match="kernel must be one of"):
        model.set_params(kernel__gamma=1.0)
    with pytest.raises(ValueError, match="kernel must be one of"):
        model.fit(X, SIGN)


def test_an_unknown_parameter_of_a_named_kernel_is_told():
    with pytest.raises(ValueError, match=r"no parameter 'gama'; it has \['gamma', 'metric'\]"):
        SVC("rbf").set_params(kernel__gama=1.0)
    with pytest.raises(ValueError, match="has no parameter 'gamma__x'"):
        SVC("rbf").set_params(kernel__gamma__x=1.0)


@pytest.mark.parametrize("search", [GridSearchCV, KernelSearchCV])
@pytest.mark.parametrize("kernel", ["rbf", RBF(), RBF(gamma=3.0)], ids=repr)
def test_a_search_sees_a_name_as_the_object_it_stands_for(search, kernel):
    pipeline = make_pipeline(StandardScaler(), SVC(kernel))
    grid = {"svc__kernel__gamma": [0.01, 0.1, 1.0], "svc__C": [0.5, 5.0]}
    found = search(pipeline, grid, cv=3).fit(X, SIGN)
    wanted = GridSearchCV(
        make_pipeline(StandardScaler(), SVC()),
        {"svc__kernel": [RBF(gamma=g) for g in (0.01, 0.1, 1.0)], "svc__C": [0.5, 5.0]},
        cv=3,
    ).fit(X, SIGN)
    np.testing.assert_allclose(
        np.sort(found.cv_results_["mean_test_score"]),
        np.sort(wanted.cv_results_["mean_test_score"]),
    )
    assert found.best_estimator_[-1].kernel.gamma == found.best_params_["svc__kernel__gamma"]


# ---------------------------------------------------------------- misplaced parameters
@pytest.mark.parametrize(
    ("call", "advice"),
    [
        ('SVC(kernel="rbf", gamma=0.1)', "SVC(kernel=RBF(gamma=0.1))"),
        ('SVC("rbf", C=3.0, gamma=0.1)', "SVC(C=3.0, kernel=RBF(gamma=0.1))"),
        ('SVR("poly", degree=2, coef0=0.5)', "SVR(kernel=Polynomial(bias=0.5, degree=2))"),
        ('KernelPCA(kernel="sigmoid", gamma=0.5)', "KernelPCA(kernel=Sigmoid(scale=0.5))"),
        ("SVC(RBF(), gamma=0.1)", "SVC(kernel=RBF(gamma=0.1))"),
        ('KernelMachine("huber", delta=2.0)', "KernelMachine(loss=Huber(delta=2.0))"),
    ],
)
def test_a_parameter_of_the_kernel_is_shown_its_place(call, advice):
    with pytest.raises(TypeError) as raised:
        read_back(call)
    text = str(raised.value)
    assert text.endswith(f"write {advice}")
    assert isinstance(read_back(advice), type(read_back(call.partition("(")[0])()))


def test_a_parameter_that_nothing_has_is_told_with_those_that_there_are():
    with pytest.raises(TypeError, match=r"SVC has no parameter 'gama'; it has \['C', "):
        SVC(gama=1.0)
    with pytest.raises(TypeError, match="SVC has no parameter 'degree'"):
        SVC("rbf", degree=2)


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=repr)
def test_signatures_are_those_that_were_written(estimator):
    kind = type(estimator)
    own = next(vars(c)["__init__"] for c in kind.__mro__ if "__init__" in vars(c))
    written = inspect.unwrap(own).__code__
    names = written.co_varnames[1 : written.co_argcount + written.co_kwonlyargcount]
    assert tuple(inspect.signature(kind).parameters) == names
    assert sorted(names) == sorted(estimator.get_params(deep=False))


# ---------------------------------------------------------------- repr
@settings(max_examples=20)
@given(any_expressions, st.floats(0.125, 8.0))
@pytest.mark.parametrize("name", WITH_PARTS)
def test_an_estimator_prints_as_what_makes_it_again(name, kernel, number):
    model = clone(WITH_PARTS[name])
    kernels = [part for part in model.named_parts if part != "loss" and part != "penalty"]
    model.set_params(**dict.fromkeys(kernels, kernel))
    if "lam" in model.get_params():
        model.set_params(lam=number)
    assert read_back(repr(model)).get_params(deep=False) == model.get_params(deep=False)


@settings(max_examples=20)
@given(any_expressions)
def test_a_pipeline_prints_kernels_as_expressions(kernel):
    pipeline = make_pipeline(StandardScaler(), SVC(kernel, C=3.0))
    assert read_back(repr(pipeline))[-1].get_params() == pipeline[-1].get_params()
    search = KernelSearchCV(pipeline, {"svc__C": [1.0]})
    assert read_back(repr(search)).estimator[-1].kernel == kernel


def test_the_text_is_short():
    kernel = 0.5 * RBF(gamma=0.1) + Linear()
    assert repr(SVC(kernel, C=3)) == "SVC(C=3, kernel=0.5 * RBF(gamma=0.1) + Linear())"
    assert "0.5 * RBF(gamma=0.1)" in estimator_html_repr(make_pipeline(SVR(kernel)))


def test_a_kernel_is_cloned_with_its_estimator():
    model = KernelPCA(kernel=RBF(gamma=0.5))
    copy = clone(model)
    copy.set_params(kernel__gamma=2.0)
    assert model.kernel == RBF(gamma=0.5)
    assert np.isfinite(copy.fit_transform(table(10, 2))).all()
