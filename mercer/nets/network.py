"""A feed-forward network: its layers, outputs, the loss, and its gradient by backpropagation."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from mercer._array import ranges
from mercer.nets._net_loops import (
    logistic_loss,
    rectify,
    rectify_slope,
    sigmoid_slope,
    softmax_loss,
    squared_loss,
    tanh_slope,
)
from mercer.nets.inputs import Inputs

BLOCK = 2048  # rows at once where all of them are seen

LOSSES: dict[str, Callable[..., float]] = {
    "softmax": softmax_loss,
    "logistic": logistic_loss,
    "squared": squared_loss,
}


# ---------------------------------------------------------------- layers
class Activation(NamedTuple):
    """σ(z + b) in place, and D ← D σ'(z) from the outputs h = σ(z)."""

    apply: Callable[[np.ndarray, np.ndarray], None]
    slope: Callable[[np.ndarray, np.ndarray], None]
    gain: float  # squared bound of the first weights, times the number of inputs and outputs


def _tanh(Z: np.ndarray, b: np.ndarray) -> None:
    Z += b
    np.tanh(Z, out=Z)


def _sigmoid(Z: np.ndarray, b: np.ndarray) -> None:
    """σ(z) = ½ + ½ tanh(z/2), which cannot overflow."""
    Z += b
    Z *= 0.5
    np.tanh(Z, out=Z)
    Z *= 0.5
    Z += 0.5


def _linear(Z: np.ndarray, b: np.ndarray) -> None:
    Z += b


def _no_slope(D: np.ndarray, H: np.ndarray) -> None:
    """The slope of the identity is one."""


ACTIVATIONS = {
    "relu": Activation(rectify, rectify_slope, 6.0),
    "tanh": Activation(_tanh, tanh_slope, 6.0),
    "sigmoid": Activation(_sigmoid, sigmoid_slope, 2.0),
    "linear": Activation(_linear, _no_slope, 6.0),
}


class Layers(NamedTuple):
    """Layer l takes ``sizes[l]`` numbers to ``sizes[l + 1]``: h ← σ_l(h W_l + b_l)."""

    sizes: tuple[int, ...]
    activations: tuple[str, ...]

    @property
    def shapes(self) -> list[tuple[int, int]]:
        """The shapes of the weights."""
        return list(pairwise(self.sizes))

    @property
    def n_weights(self) -> int:
        """How many of the parameters are weights; these come first and are penalised."""
        return sum(a * b for a, b in self.shapes)

    @property
    def n_parameters(self) -> int:
        """Weights and biases."""
        return self.n_weights + sum(self.sizes[1:])

    def views(self, theta: np.ndarray) -> tuple[list[np.ndarray], list[np.ndarray]]:
        """Return weights and biases as views of the vector of all parameters."""
        cuts = np.cumsum([*(a * b for a, b in self.shapes), *self.sizes[1:]])[:-1]
        parts = np.split(theta, cuts)
        count = len(self.shapes)
        weights = [part.reshape(shape) for part, shape in zip(parts, self.shapes, strict=False)]
        return weights, parts[count:]

    def start(self, rng: Any) -> np.ndarray:
        """Return random parameters in float64, uniform within √(gain / (inputs + outputs))."""
        theta = np.empty(self.n_parameters)
        weights, biases = self.views(theta)
        for W, b, name in zip(weights, biases, self.activations, strict=True):
            bound = np.sqrt(ACTIVATIONS[name].gain / sum(W.shape))
            W[:] = rng.uniform(-bound, bound, W.shape)
            b[:] = rng.uniform(-bound, bound, b.shape)
        return theta

    def joined(self, weights: list[np.ndarray], biases: list[np.ndarray]) -> np.ndarray:
        """Return the vector of all parameters."""
        return np.concatenate([part.ravel() for part in (*weights, *biases)])


# ---------------------------------------------------------------- outputs and gradients
class Batch(NamedTuple):
    """Rows, their targets (class numbers or numbers) and their weights, of mean one overall."""

    rows: Inputs
    targets: np.ndarray
    weights: np.ndarray

    def take(self, index: Any) -> Batch:
        """Return some of them."""
        return Batch(self.rows.take(index), self.targets[index], self.weights[index])

    def __len__(self) -> int:
        return len(self.targets)


class Network:
    """Layers with a loss, and the working memory for batches of at most ``most`` rows.

    Parameters
    ----------
    layers : Layers
        Sizes and activations.
    loss : {"softmax", "logistic", "squared"}
        The cross-entropy of softmax outputs or of each output by itself, or half the squared
        distance.
    """

    def __init__(self, layers: Layers, loss: str, dtype: Any, most: int):
        self.layers, self.loss, self.dtype = layers, LOSSES[loss], np.dtype(dtype)
        self._outputs = [np.empty((most, size), dtype) for size in layers.sizes[1:]]
        self._slopes = [np.empty((most, size), dtype) for size in layers.sizes[1:-1]]
        self._acts = [ACTIVATIONS[name] for name in layers.activations]

    def forward(self, rows: Inputs, weights: list, biases: list) -> list[np.ndarray]:
        """Return the outputs of all layers, in memory that the next call uses again."""
        outputs = [out[: rows.shape[0]] for out in self._outputs]
        rows.times(weights[0], outputs[0])
        self._acts[0].apply(outputs[0], biases[0])
        for i in range(1, len(outputs)):
            np.matmul(outputs[i - 1], weights[i], out=outputs[i])
            self._acts[i].apply(outputs[i], biases[i])
        return outputs

    def gradient(self, batch: Batch, theta: tuple, into: tuple) -> float:
        """Write the gradient of the mean loss of a batch; return the sum of the weighted losses.

        ``theta`` and ``into`` are pairs of weights and biases, as `Layers.views` returns them.
        """
        (weights, biases), (dW, db) = theta, into
        H = self.forward(batch.rows, weights, biases)
        D = H[-1]
        value = self.loss(D, batch.targets, batch.weights, self.dtype.type(1.0 / len(batch)))
        for i in range(len(H) - 1, 0, -1):
            np.matmul(H[i - 1].T, D, out=dW[i])
            np.add.reduce(D, axis=0, out=db[i])
            below = self._slopes[i - 1][: len(batch)]
            np.matmul(D, weights[i].T, out=below)
            self._acts[i - 1].slope(below, H[i - 1])
            D = below
        batch.rows.transposed_times(D, dW[0])
        np.add.reduce(D, axis=0, out=db[0])
        return value

    def loss_of(self, batch: Batch, theta: np.ndarray) -> float:
        """Return the weighted mean loss of many rows."""
        views = self.layers.views(theta)
        total = 0.0
        for block in ranges(len(batch), len(self._outputs[0])):
            part = batch.take(block)
            G = self.forward(part.rows, *views)[-1]
            total += self.loss(G, part.targets, part.weights, self.dtype.type(1.0))
        return total / float(batch.weights.sum())


class NetworkObjective:
    """F(θ) = Σᵢ wᵢ ℓᵢ(θ) / Σᵢ wᵢ + ½ λ ‖W‖², over all rows."""

    def __init__(self, layers: Layers, loss: str, batch: Batch, lam: float, block: int = BLOCK):
        self.layers, self.loss, self.batch, self.lam = layers, loss, batch, lam
        self.dtype = batch.weights.dtype
        self._network = Network(layers, loss, self.dtype, min(block, len(batch)))
        self._parts = [batch.take(block) for block in ranges(len(batch), block)]

    def __call__(self, theta: np.ndarray) -> tuple[float, np.ndarray]:
        """Return F(θ) and its gradient in float64; the rows are seen in their own precision."""
        g = np.empty(len(theta), self.dtype)
        views, into = self.layers.views(theta.astype(self.dtype)), self.layers.views(g)
        loss, total, mass = 0.0, np.zeros(len(theta)), float(self.batch.weights.sum())
        for part in self._parts:
            loss += self._network.gradient(part, views, into)
            total += (len(part) / mass) * g
        W = theta[: self.layers.n_weights]
        total[: len(W)] += self.lam * W
        return loss / mass + 0.5 * self.lam * float(W @ W), total


def outputs_of(
    X: Any, weights: list, biases: list, activations: tuple[str, ...], block: int = BLOCK
) -> np.ndarray:
    """Return what a network says of rows, in float64 and in blocks."""
    out = np.empty((X.shape[0], weights[-1].shape[1]))
    for part in ranges(X.shape[0], block):
        H: Any = X[part]
        H = H if sp.issparse(H) else np.asarray(H, dtype=np.float64)
        for W, b, name in zip(weights, biases, activations, strict=True):
            H = np.ascontiguousarray(H @ W, dtype=np.float64)
            ACTIVATIONS[name].apply(H, b)
        out[part] = H
    return out
