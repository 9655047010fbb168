"""The layers of a network: shapes, activations, and where the parameters lie in one vector."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from mercer.nets._net_loops import (
    rectify,
    rectify_slope,
    sigmoid_slope,
    tanh_slope,
)


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
