# mypy: ignore-errors
"""Compiled passes over a batch and over all parameters: each touches its arrays once."""

from __future__ import annotations

import math

import numpy as np

from mercer._compiled import compiled


# ---------------------------------------------------------------- losses and their slopes
@compiled()
def softmax_loss(G, codes, w, share):
    """Return Σ wᵢ [log Σ_c exp(g_ic) − g_iy]; G becomes share · its slopes, w (p − y)."""
    total = 0.0
    for i in range(G.shape[0]):
        row, y = G[i], codes[i]
        top = row[0]
        for c in range(1, len(row)):
            top = max(top, row[c])
        margin, mass = row[y] - top, row[0] * 0
        for c in range(len(row)):
            row[c] = math.exp(row[c] - top)
            mass += row[c]
        total += w[i] * (math.log(mass) - margin)
        factor = w[i] * share
        for c in range(len(row)):
            row[c] *= factor / mass
        row[y] -= factor
    return total


@compiled()
def logistic_loss(G, T, w, share):
    """Return Σ wᵢ Σ_c [log(1 + exp g_ic) − t_ic g_ic]; G becomes share · its slopes, w (p − t)."""
    total = 0.0
    for i in range(G.shape[0]):
        value = 0.0
        for c in range(G.shape[1]):
            g = G[i, c]
            small = math.exp(-abs(g))
            value += max(g, 0.0) - T[i, c] * g + math.log1p(small)
            p = 1.0 / (1.0 + small) if g > 0.0 else small / (1.0 + small)
            G[i, c] = share * w[i] * (p - T[i, c])
        total += w[i] * value
    return total


@compiled()
def squared_loss(G, T, w, share):
    """Return Σ wᵢ ½ ‖gᵢ − tᵢ‖²; G becomes share · its slopes, w (g − t)."""
    total = 0.0
    for i in range(G.shape[0]):
        squares = 0.0
        for c in range(G.shape[1]):
            r = G[i, c] - T[i, c]
            squares += r * r
            G[i, c] = share * w[i] * r
        total += 0.5 * w[i] * squares
    return total


# ---------------------------------------------------------------- activations
@compiled()
def rectify(Z, b):
    """Z ← max(Z + b, 0)."""
    zero = Z.dtype.type(0)
    for i in range(Z.shape[0]):
        for j in range(Z.shape[1]):
            z = Z[i, j] + b[j]
            Z[i, j] = z if z > zero else zero


@compiled()
def rectify_slope(D, H):
    """D ← D where H > 0, else 0."""
    d, h = D.ravel(), H.ravel()
    zero = D.dtype.type(0)
    for i in range(len(d)):
        d[i] = d[i] if h[i] > zero else zero


@compiled()
def tanh_slope(D, H):
    """D ← D (1 − H²)."""
    d, h = D.ravel(), H.ravel()
    one = D.dtype.type(1)
    for i in range(len(d)):
        d[i] *= one - h[i] * h[i]


@compiled()
def sigmoid_slope(D, H):
    """D ← D H (1 − H)."""
    d, h = D.ravel(), H.ravel()
    one = D.dtype.type(1)
    for i in range(len(d)):
        d[i] *= h[i] * (one - h[i])


# ---------------------------------------------------------------- steps
@compiled(fastmath={"contract"})
def adam_step(theta, g, m, v, mean, n_weights, lam, rate, t):
    """One step of Adam on all parameters; ``mean`` adds up the gradients of an epoch."""
    one, b1, b2 = theta.dtype.type(1), theta.dtype.type(0.9), theta.dtype.type(0.999)
    eps = theta.dtype.type(1e-8)
    decay = theta.dtype.type(lam)
    step = theta.dtype.type(rate * math.sqrt(1.0 - 0.999**t) / (1.0 - 0.9**t))
    for i in range(n_weights):
        g[i] += decay * theta[i]
    for i in range(len(theta)):
        mean[i] += g[i]
        m[i] = b1 * m[i] + (one - b1) * g[i]
        v[i] = b2 * v[i] + (one - b2) * g[i] * g[i]
        theta[i] -= step * m[i] / (np.sqrt(v[i]) + eps)


@compiled(fastmath={"contract"})
def momentum_step(theta, g, m, mean, n_weights, lam, rate, momentum):
    """One step of gradient descent with Nesterov's momentum."""
    decay, eta = theta.dtype.type(lam), theta.dtype.type(rate)
    mu = theta.dtype.type(momentum)
    for i in range(n_weights):
        g[i] += decay * theta[i]
    for i in range(len(theta)):
        mean[i] += g[i]
        m[i] = mu * m[i] - eta * g[i]
        theta[i] += mu * m[i] - eta * g[i]
