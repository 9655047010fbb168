"""Backpropagation is the derivative, and an objective does not depend on how it is summed."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.neural_network._stochastic_optimizers import AdamOptimizer, SGDOptimizer

from mercer.nets._net_loops import adam_step, momentum_step
from mercer.nets.inputs import Units, inputs_of
from mercer.nets.network import ACTIVATIONS, Batch, Layers, Network, NetworkObjective, outputs_of
from tests.cases import sparse_table, table

ACTS = {
    "relu": lambda z: np.maximum(z, 0.0),
    "tanh": np.tanh,
    "sigmoid": lambda z: 1.0 / (1.0 + np.exp(-z)),
    "linear": lambda z: z,
}


def problem(activation, loss, X=None, hidden=(4, 3), dtype=np.float64):
    X = table(7, 5) if X is None else X
    rng = np.random.default_rng(1)
    n, k = X.shape[0], 3
    targets = rng.integers(0, k, n) if loss == "softmax" else rng.normal(size=(n, k)).astype(dtype)
    targets = (targets > 0.0).astype(dtype) if loss == "logistic" else targets
    weights = rng.uniform(0.5, 2.0, n).astype(dtype)
    rows = inputs_of(X, Units.of_columns(X, weights), dtype)
    layers = Layers((X.shape[1], *hidden, k), (*(activation for _ in hidden), "linear"))
    return layers, Batch(rows, targets, weights), layers.start(rng)


def slow_objective(layers, batch, theta, loss, lam):
    """Write the objective as on paper."""
    weights, biases = layers.views(theta)
    H = batch.rows.values
    for W, b, name in zip(weights, biases, layers.activations, strict=True):
        H = ACTS[name](H @ W + b)
    if loss == "softmax":
        P = np.exp(H) / np.exp(H).sum(axis=1, keepdims=True)
        losses = -np.log(P[np.arange(len(P)), batch.targets])
    elif loss == "logistic":
        P = 1.0 / (1.0 + np.exp(-H))
        losses = -np.log(np.where(batch.targets == 1.0, P, 1.0 - P)).sum(axis=1)
    else:
        losses = 0.5 * ((H - batch.targets) ** 2).sum(axis=1)
    penalty = 0.5 * lam * sum((W**2).sum() for W in weights)
    return batch.weights @ losses / batch.weights.sum() + penalty


every_network = pytest.mark.parametrize("activation", sorted(ACTIVATIONS))
every_loss = pytest.mark.parametrize("loss", ["softmax", "logistic", "squared"])


@every_loss
@every_network
@pytest.mark.parametrize("hidden", [(), (4,), (4, 3)])
def test_gradients_are_finite_differences(activation, loss, hidden):
    layers, batch, theta = problem(activation, loss, hidden=hidden)
    F = NetworkObjective(layers, loss, batch, lam=0.1)
    value, g = F(theta)
    assert value == pytest.approx(slow_objective(layers, batch, theta, loss, 0.1), rel=1e-12)
    steps = 1e-6 * np.eye(len(theta))
    slow = [
        (
            slow_objective(layers, batch, theta + h, loss, 0.1)
            - slow_objective(layers, batch, theta - h, loss, 0.1)
        )
        / 2e-6
        for h in steps
    ]
    np.testing.assert_allclose(g, slow, atol=1e-8)


@every_loss
def test_blocks_of_rows_give_the_same_sum(loss):
    layers, batch, theta = problem("tanh", loss, X=table(23, 5))
    whole = NetworkObjective(layers, loss, batch, lam=0.1)(theta)
    blocks = NetworkObjective(layers, loss, batch, lam=0.1, block=5)(theta)
    assert blocks[0] == pytest.approx(whole[0], rel=1e-13)
    np.testing.assert_allclose(blocks[1], whole[1], atol=1e-14)


@every_loss
def test_sparse_rows_are_centred_without_being_made_dense(loss):
    X = sparse_table(12, 6)
    layers, sparse, theta = problem("tanh", loss, X=X)
    _, dense, _ = problem("tanh", loss, X=X.toarray())
    (f, g), (slow_f, slow_g) = (
        NetworkObjective(layers, loss, b, 0.1)(theta) for b in (sparse, dense)
    )
    assert f == pytest.approx(slow_f, rel=1e-12)
    np.testing.assert_allclose(g, slow_g, atol=1e-12)
    assert sp.issparse(sparse.rows.values)


@every_loss
@every_network
def test_single_precision_is_close_to_double(activation, loss):
    layers, single, theta = problem(activation, loss, dtype=np.float32)
    _, double, _ = problem(activation, loss)
    (f, g), (slow_f, slow_g) = (
        NetworkObjective(layers, loss, b, 0.1)(theta) for b in (single, double)
    )
    assert f == pytest.approx(slow_f, rel=1e-5)
    np.testing.assert_allclose(g, slow_g, atol=1e-5)


def test_the_loss_of_held_out_rows_is_the_weighted_mean():
    layers, batch, theta = problem("relu", "softmax", X=table(11, 5))
    few = Network(layers, "softmax", np.float64, most=4)
    wanted = slow_objective(layers, batch, theta, "softmax", 0.0)
    assert few.loss_of(batch, theta) == pytest.approx(wanted, rel=1e-12)


@every_network
def test_answers_are_the_layers_one_by_one(activation):
    layers, _, theta = problem(activation, "squared")
    X, (weights, biases) = table(9, 5), layers.views(theta)
    H = X
    for W, b, name in zip(weights, biases, layers.activations, strict=True):
        H = ACTS[name](H @ W + b)
    for rows in (X, sp.csr_array(X)):
        got = outputs_of(rows, weights, biases, layers.activations, block=4)
        np.testing.assert_allclose(got, H, atol=1e-13)


def test_the_softmax_of_large_numbers_is_a_number():
    layers = Layers((1, 2), ("linear",))
    rows = inputs_of(np.array([[1.0], [-1.0]]), Units.none(1), np.float64)
    batch = Batch(rows, np.array([0, 0]), np.ones(2))
    theta = np.array([1e4, -1e4, 0.0, 0.0])
    value, g = NetworkObjective(layers, "softmax", batch, 0.0)(theta)
    assert value == pytest.approx(1e4)  # the second row is wrong by 2e4, the first is right
    assert np.isfinite(g).all()


# ---------------------------------------------------------------- units
@pytest.mark.parametrize("scale", [1e-150, 1e-20, 1.0, 1e20, 1e150])
def test_units_are_weighted_means_and_deviations_at_any_scale(scale):
    X, w = scale * (3.0 + table(30, 4)), np.random.default_rng(0).uniform(0.1, 1.0, 30)
    for rows in (X, sp.csr_array(X)):
        Z = Units.of_columns(rows, w).apply(X, np.float64)
        np.testing.assert_allclose(w @ Z, 0.0, atol=1e-12)
        np.testing.assert_allclose(w @ Z**2 / w.sum(), 1.0, rtol=1e-12)
    Z = Units.common(X, w).apply(X, np.float64)
    np.testing.assert_allclose(w @ Z, 0.0, atol=1e-12)
    assert (w @ Z**2 / w.sum()).mean() == pytest.approx(1.0)


def test_constant_columns_have_the_unit_one():
    X = np.full((20, 2), 1e6 + 0.1)
    np.testing.assert_array_equal(Units.of_columns(X, np.ones(20)).unit, 1.0)
    np.testing.assert_array_equal(Units.common(X, np.ones(20)).unit, 1.0)


# ---------------------------------------------------------------- steps
def steps_of(step, lam, n_weights=4):
    """Return parameters after some steps on the gradients θ³ + (1, 2, …), and the mean gradient."""
    theta, mean = np.linspace(-1.0, 1.0, 6), np.zeros(6)
    memory = np.zeros(6), np.zeros(6)
    for t in range(1, 6):
        step(theta, theta**3 + np.arange(1.0, 7.0), memory, mean, (n_weights, lam, 0.05), t)
    return theta, mean


def peer_steps(optimizer, lam, n_weights=4):
    theta, mean = np.linspace(-1.0, 1.0, 6), np.zeros(6)
    for _ in range(5):
        g = theta**3 + np.arange(1.0, 7.0) + lam * theta * (np.arange(6) < n_weights)
        mean += g
        optimizer.update_params([theta], [g])
    return theta, mean


@pytest.mark.parametrize("lam", [0.0, 0.3])
def test_adam_takes_the_steps_of_scikit_learn(lam):
    def step(theta, g, memory, mean, options, t):
        adam_step(theta, g, *memory, mean, *options, t)

    wanted = peer_steps(AdamOptimizer([np.zeros(6)], learning_rate_init=0.05), lam)
    np.testing.assert_allclose(steps_of(step, lam), wanted, rtol=1e-12)


@pytest.mark.parametrize("momentum", [0.0, 0.9])
def test_gradient_descent_takes_the_steps_of_scikit_learn(momentum):
    def step(theta, g, memory, mean, options, t):
        momentum_step(theta, g, memory[0], mean, *options, momentum)

    optimizer = SGDOptimizer([np.zeros(6)], 0.05, momentum=momentum, nesterov=True)
    np.testing.assert_allclose(steps_of(step, 0.3), peer_steps(optimizer, 0.3), rtol=1e-12)
