"""What every kernel must do outside of its own formula."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import clone

import mercer
from mercer import SVC, KernelPCA, KernelRidge, Nystrom, gram
from mercer.kernels import Constant, Kernel
from tests.compare import assert_close


def assert_works_everywhere(kernel: Kernel, X: Any, tmp_path: Any) -> None:
    """Fit machines with a kernel, alone and in an expression, save them and load them."""
    for expression in (kernel, 0.5 * kernel.normalized() + Constant(1.0)):
        assert clone(expression) == expression
        _machines(expression, X, tmp_path / "model.mercer")


def _machines(kernel: Kernel, X: Any, path: Any) -> None:
    y = np.arange(len(X)) % 2
    model = SVC(kernel).fit(X, y)
    mercer.save(model, path)
    decision = model.decision_function(X)
    np.testing.assert_array_equal(mercer.load(path).decision_function(X), decision)
    support = model.kernel_(X, [X[i] for i in model.support_])
    coefs = model.dual_coef_[0]
    terms = float((np.abs(support) @ np.abs(coefs)).max())  # which may cancel in the sum
    assert_close(support @ coefs + model.intercept_[0], decision, scale=terms)
    KernelRidge(kernel, lam=0.1).fit(X, y.astype(float)).predict(X)
    KernelPCA(kernel=kernel, n_components=2).fit(X).transform(X)
    Nystrom(kernel=kernel, n_components=3, random_state=0).fit(X).transform(X)
    blocked = gram(kernel, X, storage="blocked") @ np.eye(len(X))
    assert_close(blocked, kernel(X))
