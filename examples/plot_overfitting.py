r"""
Over-fitting
============

A function that is rich enough passes through every training point, noise included. What it has
learnt then is the sample and not the law behind it: the error on the training rows falls, the error
on new rows rises. The difference,

.. math::

    G_N(f) = \mathbb{E}[L(Y, f(X))] - \frac{1}{N} \sum_{i=1}^{N} L(y_i, f(x_i)),

is the generalisation error.
"""

# %%
# Degrees of a polynomial
# -----------------------

import matplotlib.pyplot as plt
import numpy as np

from mercer import KernelRidge, learning_curve, plot, validation_curve
from mercer.assess import generalization_gap
from mercer.kernels import RBF, Polynomial

rng = np.random.default_rng(2)


def sample(n):
    x = rng.uniform(-1, 1, n)
    return x[:, None], np.sin(4 * x) + 0.3 * rng.standard_normal(n)


X, y = sample(25)
X_new, y_new = sample(2000)
grid = np.linspace(-1, 1, 400)[:, None]

fig, axes = plt.subplots(1, 3, figsize=(10.5, 3.4), layout="constrained", sharey=True)
for ax, degree in zip(axes, (1, 5, 18), strict=True):
    model = KernelRidge(Polynomial(degree=degree, bias=1.0), lam=1e-3).fit(X, y)
    found = generalization_gap(model, X, y, X_new, y_new)
    ax.plot(grid, np.sin(4 * grid), color="0.6", lw=1.2, ls="--")
    ax.plot(grid, model.predict(grid), color="#1f6f8b", lw=2)
    ax.scatter(X, y, s=14, color="#d1495b", zorder=3)
    ax.set(ylim=(-2, 2), xlabel="x")
    ax.set_title(f"degree {degree}: {found.train_error:.2f} seen, {found.test_error:.2f} new",
                 fontsize=10)  # fmt: skip
    ax.spines[["top", "right"]].set_visible(False)
plt.show()

# %%
# The lowest degree cannot follow the law, the highest follows the noise. Both errors against the
# degree:

degrees = np.arange(1, 19)
gaps = [
    generalization_gap(
        KernelRidge(Polynomial(degree=int(p), bias=1.0), lam=1e-3).fit(X, y), X, y, X_new, y_new
    )
    for p in degrees
]
fig, ax = plt.subplots(figsize=(6.4, 3.6), layout="constrained")
ax.semilogy(degrees, [g.train_error for g in gaps], "o-", color="#d1495b", lw=2, label="seen")
ax.semilogy(degrees, [g.test_error for g in gaps], "o-", color="#1f6f8b", lw=2, label="new")
ax.axhline(0.09, color="0.5", lw=1, ls="--", label="noise")
ax.set(xlabel="degree", ylabel="mean squared error", xticks=degrees[::2])
ax.legend(frameon=False)
ax.spines[["top", "right"]].set_visible(False)
plt.show()

# %%
# The width of a Gaussian
# -----------------------
#
# A Gaussian kernel has no degree, but γ does the same: large values make every point an island.
# Without a second sample, cross-validation shows it from the training rows alone.

X, y = sample(120)
gammas = np.logspace(-2, 4, 19)
model = KernelRidge(RBF(), lam=1e-3)
scores = validation_curve(model, X, y, param_name="kernel__gamma", param_range=gammas, cv=5)
ax = plot.validation_curve(gammas, *(np.clip(s, -0.5, 1) for s in scores), parameter="γ",
                           score="R² (cut off at −0.5)")  # fmt: skip
plt.show()

# %%
# More rows are the cure
# ----------------------
#
# With a γ that over-fits 30 rows, a few hundred leave no room for the noise: the curves of seen and
# new rows meet. Where they meet well below what is wanted, more rows do not help and a richer
# function does.

X, y = sample(600)
sizes = np.linspace(0.05, 1.0, 10)
curve = learning_curve(KernelRidge(RBF(gamma=30.0), lam=1e-2), X, y, train_sizes=sizes, cv=5)
ax = plot.learning_curve(curve[0], *(np.clip(s, -0.5, 1) for s in curve[1:]),
                         score="R² (cut off at −0.5)")  # fmt: skip
plt.show()
