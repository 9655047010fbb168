"""Gradients of kernel machines agree with differences of their values."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from mercer import (
    SVC,
    SVR,
    KernelLogistic,
    KernelMachine,
    KernelRidge,
    KernelRidgeClassifier,
    OneClassSVM,
    Perceptron,
)
from mercer.kernels import (
    RBF,
    Constant,
    Cosine,
    Exponential,
    Laplacian,
    Linear,
    Matern,
    Polynomial,
    PowerSeries,
    Precomputed,
    Sigmoid,
    VectorKernel,
)
from mercer.kernels.gradients import gradient_of

rng = np.random.default_rng(0)
X, Y, C = rng.normal(size=(12, 4)), rng.normal(size=(20, 4)), rng.normal(size=(20, 3))
w = np.array([1.0, 0.5, 0.0, 2.0])
A = rng.normal(size=(4, 4))
P = A @ A.T
STEP = 1e-5

KERNELS = [
    RBF(gamma=0.2),
    RBF(gamma=0.2, metric=P),
    Exponential(gamma=0.4, metric=w),
    Exponential(gamma=0.4, exponent=1.5, metric=P),
    Exponential(gamma=0.3, p=1.5, exponent=1.2),
    Laplacian(gamma=0.3),
    Laplacian(gamma=0.3, metric=w, exponent=0.5),
    Matern(0.5, 0.4),
    Matern(1.5, 0.4, metric=w),
    Matern(2.5, 0.4),
    Linear(1.0),
    Polynomial(0),
    Polynomial(3, 0.5),
    Sigmoid(0.2, 0.1),
    Cosine(),
    Constant(2.0),
    2.0 * RBF(gamma=0.3) + Linear() * Polynomial(2),
    RBF(gamma=0.1) ** 3,
    (0.1 * Linear()).exp(),
    (0.1 * Linear()).exp().normalized(),
    Polynomial(2).normalized(),
    (RBF(gamma=0.2) * Linear(1.0)).normalized() + Laplacian(gamma=0.1),
    PowerSeries(Linear(), [1.0, 0.5, 0.2]),
]


def by_differences(f, X):
    steps = STEP * np.eye(X.shape[1])
    return np.stack([(f(X + step) - f(X - step)) / (2 * STEP) for step in steps], axis=1)


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_gradients_are_differences(kernel):
    bound = kernel.bind(Y)
    found = gradient_of(bound, bound.sample(X), bound.sample(Y), C)
    wanted = by_differences(lambda X: kernel(X, Y) @ C, X)
    np.testing.assert_allclose(found, wanted, atol=1e-6 * (1.0 + np.abs(wanted).max()))
    sparse = gradient_of(bound, bound.sample(sp.csr_array(X)), bound.sample(sp.csr_array(Y)), C)
    np.testing.assert_allclose(sparse, found, atol=1e-12 * (1.0 + np.abs(wanted).max()))


def test_many_rows_and_a_common_offset():
    """Tiles and threads change nothing, and what all rows share cancels before it costs digits."""
    X, Y, C = rng.normal(size=(1100, 3)), rng.normal(size=(700, 3)), rng.normal(size=(700, 1))
    kernel = Exponential(gamma=0.3).bind(Y)
    whole = gradient_of(kernel, kernel.sample(X), kernel.sample(Y), C)
    parts = [gradient_of(kernel, kernel.sample(x), kernel.sample(Y), C) for x in (X[:7], X[7:])]
    np.testing.assert_allclose(whole, np.concatenate(parts), rtol=1e-9, atol=1e-10)
    far = gradient_of(kernel, kernel.sample(X + 1e6), kernel.sample(Y + 1e6), C)
    np.testing.assert_allclose(far, whole, atol=1e-6)


def test_a_centre_counts_as_flat():
    kernel = Exponential(gamma=1.0).bind(Y)
    alone = gradient_of(kernel, kernel.sample(Y[:1]), kernel.sample(Y[:1]), np.ones((1, 1)))
    np.testing.assert_array_equal(alone, 0.0)


numbers = np.sin(Y[:, 0]) + Y[:, 1]
classes = np.digitize(numbers, [-0.3, 0.6])
under = Exponential(gamma=0.3, metric=w)


@pytest.mark.parametrize(
    ("model", "y", "method"),
    [
        (KernelRidge(under, lam=0.1), numbers, "predict"),
        (KernelRidge(lam=0.1), np.c_[numbers, -numbers], "predict"),
        (KernelRidge(landmarks=8, random_state=0), numbers, "predict"),
        (SVR(under), numbers, "predict"),
        (KernelMachine("huber", under, lam=0.1), numbers, "predict"),
        (KernelRidgeClassifier(under), classes, "decision_function"),
        (KernelLogistic(under, lam=0.1), classes, "decision_function"),
        (SVC(under), classes > 0, "decision_function"),
        (SVC(under, decision_function_shape="ovo"), classes, "decision_function"),
        (SVC(under, multiclass="ovr"), classes, "decision_function"),
        (OneClassSVM(under), numbers, "decision_function"),
        (Perceptron(under), classes, "decision_function"),
    ],
    ids=lambda value: type(value).__name__ if hasattr(value, "fit") else "",
)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_machines_have_gradients(model, y, method):
    model.fit(Y, y)
    wanted = by_differences(getattr(model, method), X)
    assert model.gradient(X).shape == wanted.shape
    np.testing.assert_allclose(model.gradient(X), wanted, atol=1e-7)


def test_what_has_no_gradient_says_so():
    class Own(VectorKernel):
        statistic = "inner"

        def epilogue(self, values):
            values *= 2.0

    for kernel in (lambda a, b: float(a @ b), Own(), Own().normalized()):
        with pytest.raises(TypeError, match=r"gradient of .* is not known"):
            SVR(kernel).fit(Y, numbers).gradient(X)
    with pytest.raises(TypeError, match="gradient of Precomputed"):
        KernelRidge(Precomputed()).fit(Y @ Y.T, numbers).gradient(X @ Y.T)
    with pytest.raises(ValueError, match="votes"):
        Perceptron("rbf", voted=True, random_state=0).fit(Y, classes > 0).gradient(X)
