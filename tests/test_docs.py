"""The kernel that docs/add_kernel.md adds passes the whole line."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.gaussian_process.kernels import RationalQuadratic as Reference

from mercer import KernelPCA, KernelRidge, check_gram, check_kernel, gram
from mercer.kernels import RBF, Linear
from tests import naive
from tests.cases import EXTREME_SAMPLES, SAMPLES, STORAGES, table
from tests.compare import assert_close

SNIPPET = Path(__file__).parents[1] / "docs" / "snippets" / "rational_quadratic.py"

pytestmark = pytest.mark.skipif(not SNIPPET.exists(), reason="the documentation is not here")


def _load():
    spec = importlib.util.spec_from_file_location("rational_quadratic", SNIPPET)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.RationalQuadratic


KERNEL = _load()(gamma=0.5, alpha=2.0) if SNIPPET.exists() else None


@pytest.mark.parametrize("X", SAMPLES.values(), ids=SAMPLES.keys())
def test_it_is_its_formula_on_every_sample(X):
    assert_close(KERNEL(X), naive.matrix(KERNEL, X))
    assert_close(KERNEL.diagonal(X), np.ones(X.shape[0]))
    assert KERNEL(X).dtype == X.dtype


@pytest.mark.parametrize("X", EXTREME_SAMPLES.values(), ids=EXTREME_SAMPLES.keys())
def test_it_survives_data_of_any_size(X):
    assert_close(KERNEL(X), naive.matrix(KERNEL, X))


def test_it_equals_scikit_learn():
    # there: (1 + ‖x − y‖² / (2 α l²))^(−α), so γ = 1 / (2 l²)
    X = table(20, 3)
    np.testing.assert_allclose(KERNEL(X), Reference(length_scale=1.0, alpha=2.0)(X), atol=1e-14)


def test_it_takes_part_in_the_algebra():
    X = table(8, 3)
    kernel = 0.5 * KERNEL + RBF(gamma=0.1) * Linear()
    assert_close(kernel(X), naive.matrix(kernel, X))
    assert kernel.definiteness == "psd"
    assert clone(kernel) == kernel


@pytest.mark.parametrize("store", STORAGES.values(), ids=STORAGES.keys())
def test_it_lives_in_every_storage(store):
    check_gram(store(KERNEL, table(9, 3)), naive.matrix(KERNEL, table(9, 3)), rtol=1e-12)


def test_it_passes_the_check_and_serves_the_estimators():
    X = table(40, 3)
    assert check_kernel(KERNEL, X).ok
    assert KernelPCA(kernel=KERNEL, n_components=2).fit(X).certificate_.ok
    assert KernelRidge(KERNEL).fit(X, X[:, 0]).certificate_.ok
    assert gram(KERNEL, X, storage="blocked").shape == (40, 40)


def test_its_parameters_are_checked():
    with pytest.raises(ValueError, match="'alpha' parameter of RationalQuadratic"):
        clone(KERNEL).set_params(alpha=-1.0)(table(3, 2))
