"""
Kernels as functions
====================

A kernel measures how alike two points are. Fix one of them, and what remains is a
function of the other, :math:`k(\\cdot, y)`. On the line these functions can be drawn,
and they are more than an illustration: every model that this library fits is a weighted
sum of them.
"""

# %%
# One kernel, three points
# ------------------------
#
# Each panel shows :math:`k(\cdot, y)` for :math:`y = -2, 0, 2`. The kernels in the
# first row look only at the distance between the points, so the curve moves along with
# :math:`y`. (The exponential and the Laplacian kernel measure it by the Euclidean and
# by the L1 norm, which are the same on a line.) Those in the second row look at the
# inner product, and where a point lies matters.

import matplotlib.pyplot as plt
import numpy as np

from mercer.kernels import RBF, Exponential, Laplacian, Linear, Polynomial, Sigmoid

x = np.linspace(-4, 4, 401)[:, None]
anchors = np.array([[-2.0], [0.0], [2.0]])
colors = ["#1f6f8b", "#d1495b", "#edae49"]


def draw(ax, kernel, title):
    """Draw k(·, y) for each anchor y."""
    curves = kernel(x, anchors).T
    for curve, y, color in zip(curves, anchors[:, 0], colors, strict=True):
        ax.plot(x, curve, color=color, lw=2, label=f"$y = {y:.0f}$")
        ax.plot(y, kernel([[y]])[0, 0], "o", color=color, ms=5)
    ax.set_title(title, fontsize=11)
    ax.spines[["top", "right"]].set_visible(False)


kernels = {
    "RBF(gamma=0.5)": RBF(gamma=0.5),
    "Exponential(gamma=1.0)": Exponential(gamma=1.0),
    "Laplacian(gamma=0.5)": Laplacian(gamma=0.5),
    "Linear()": Linear(),
    "Polynomial(degree=2)": Polynomial(degree=2),
    "Sigmoid(scale=0.5, bias=0.0)": Sigmoid(scale=0.5, bias=0.0),
}
fig, axes = plt.subplots(2, 3, figsize=(9.6, 5.2), sharex=True, layout="constrained")
for ax, (title, kernel) in zip(axes.flat, kernels.items(), strict=True):
    draw(ax, kernel, title)
lines = axes[0, 0].get_legend_handles_labels()
fig.legend(*lines, loc="outside lower center", ncols=3, frameon=False)
plt.show()

# %%
# Kernels add, multiply and scale
# -------------------------------
#
# An expression of kernels is a kernel again. A sum says "alike in one way *or* the
# other": here, wide and narrow at once. A product says "alike in both": a linear trend
# that is trusted only nearby. Normalising divides by the lengths of the feature
# vectors, and turns :math:`e^{2\gamma xy}` into the Gaussian kernel itself.

gamma = 0.5
normalized = (2 * gamma * Linear()).exp().normalized()
expressions = {
    "wide + narrow": 0.7 * RBF(gamma=0.05) + 0.3 * RBF(gamma=5.0),
    "linear, nearby": (Linear() + 1.0) * RBF(gamma=0.2),
    "normalised exponential": normalized,
}
fig, axes = plt.subplots(1, 3, figsize=(9.6, 3.2), sharex=True, layout="constrained")
for ax, (title, kernel) in zip(axes, expressions.items(), strict=True):
    draw(ax, kernel, title)
plt.show()

# %%
# The third panel against the closed form:

difference = np.abs(normalized(x) - RBF(gamma=gamma)(x)).max()
print(f"largest difference: {difference:.1e}")

# %%
# What the algebra knows
# ----------------------
#
# Whether an expression is positive semidefinite follows from its parts. The sigmoid is
# a famous function that looks like a kernel and is none, so nothing can be promised for
# what is built from it.

for kernel in [*kernels.values(), *expressions.values()]:
    print(f"{kernel.definiteness:<11} {kernel}")

# %%
# :func:`~mercer.check_kernel` looks at a sample instead. For a function that is no
# kernel it returns a proof.

from mercer import check_kernel

report = check_kernel(Sigmoid(scale=0.5), x[::40])
print(report)

# %%
# Here the proof is a vector :math:`v` with :math:`v^\top K v < 0`:

K, v = Sigmoid(scale=0.5)(x[::40]), report.witness
print(f"vᵀKv = {v @ K @ v:.3f}")
