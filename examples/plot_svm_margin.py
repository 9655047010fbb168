"""
Margin, support vectors and slack
=================================

A support vector machine puts a boundary :math:`f(x) + b = 0` between two classes and keeps the
points at a distance: it minimises

.. math::

    \\tfrac{1}{2} \\|f\\|^2 + C \\sum_{i=1}^{n} \\xi_i, \\qquad
    \\xi_i = \\max\\bigl(0,\\; 1 - y_i (f(x_i) + b)\\bigr).

The margin is :math:`1 / \\|f\\|` wide on each side; the slack :math:`\\xi_i` is what a point lacks.
"""

# %%
# A wide margin or few errors
# ---------------------------
#
# :math:`C` is the price of slack. If it is small, the margin is wide and many points lie inside; as
# it grows the margin narrows until only the points that can't be helped have slack. Rings are the
# support vectors, and each line is as long as the slack of its point: from the point to the margin
# of its own class.

import matplotlib.pyplot as plt
import numpy as np

from mercer import SVC
from mercer.kernels import RBF

rng = np.random.default_rng(4)
X = np.vstack([rng.normal([-1.1, -0.6], 0.9, (35, 2)), rng.normal([1.1, 0.6], 0.9, (35, 2))])
y = np.repeat([-1, 1], 35)
colours = np.where(y > 0, "#d1495b", "#1f6f8b")
u, v = np.meshgrid(np.linspace(-4, 4, 220), np.linspace(-3.2, 3.2, 180))
grid = np.column_stack([u.ravel(), v.ravel()])


def draw(ax, model, X, y):
    """Draw the regions, the boundary, both margins, the points and the support vectors."""
    f = model.decision_function(grid).reshape(u.shape)
    ax.contourf(u, v, f, levels=[-1e9, 0, 1e9], colors=["#1f6f8b", "#d1495b"], alpha=0.10)
    ax.contour(u, v, f, levels=[-1, 0, 1], colors="0.25", linestyles=["--", "-", "--"],
               linewidths=[1, 1.8, 1])  # fmt: skip
    ax.scatter(*X.T, c=np.where(y > 0, "#d1495b", "#1f6f8b"), s=16, zorder=3)
    ax.scatter(*X[model.support_].T, s=58, facecolors="none", edgecolors="0.25", lw=0.9, zorder=4)
    ax.set(xticks=[], yticks=[], xlim=(-4, 4), ylim=(-3.2, 3.2), aspect="equal")
    ax.spines[:].set_visible(False)


machines = SVC("linear").path(X, y, [0.003, 0.1, 100.0])
fig, axes = plt.subplots(1, 3, figsize=(9.6, 2.85), layout="constrained")
for ax, model in zip(axes, machines, strict=True):
    draw(ax, model, X, y)
    w, slack = model.coef_[0], model.slack(X, y)
    ends = X + (y * slack)[:, None] * w / (w @ w)
    for start, end, colour in zip(X, ends, colours, strict=True):
        ax.plot(*np.transpose([start, end]), color=colour, lw=0.9, alpha=0.6)
    ax.set_title(
        f"C = {model.C:g}\nmargin {model.margin_:.2f}, total slack {slack.sum():.0f}", fontsize=10
    )
plt.show()

# %%
# The slack of a point says where it is: 0 outside the margin, at most 1 inside it, more on the
# wrong side.

for model in machines:
    slack = model.slack(X, y)
    inside = np.sum((slack > 1e-6) & (slack <= 1))
    print(f"C = {model.C:<6g} inside the margin {inside:2d}   wrong side {np.sum(slack > 1):2d}")

# %%
# From under- to over-fitting
# ---------------------------
#
# With the Gaussian kernel the boundary may bend, and :math:`\gamma` says how sharply. A wide kernel
# (small :math:`\gamma`) is too stiff for the disc; a narrow one draws an island round each point,
# makes every point a support vector, and fails on new ones.


def rings(n, seed):
    """Return a noisy disc inside a noisy ring."""
    rng = np.random.default_rng(seed)
    label = np.where(np.arange(n) % 2, 1, -1)
    radius, angle = np.where(label > 0, 0.8, 2.1), rng.uniform(0, 2 * np.pi, n)
    circle = np.column_stack([1.25 * np.cos(angle), np.sin(angle)])
    return radius[:, None] * circle + 0.5 * rng.normal(size=(n, 2)), label


X, y = rings(110, seed=0)
X_new, y_new = rings(2000, seed=1)
fig, axes = plt.subplots(1, 4, figsize=(9.6, 2.25), layout="constrained")
for ax, gamma in zip(axes, (0.005, 0.05, 0.7, 30.0), strict=True):
    model = SVC(RBF(gamma=gamma), C=10.0).fit(X, y)
    draw(ax, model, X, y)
    errors = [100 * (1 - model.score(*data)) for data in ((X, y), (X_new, y_new))]
    ax.set_title(
        f"γ = {gamma:g}, {len(model.support_)} vectors\n"
        f"error {errors[0]:.0f} %, on new points {errors[1]:.0f} %",
        fontsize=9,
    )
plt.show()

# %%
# The proof
# ---------
#
# The duality gap bounds how far the machine can be from the best one, and each optimality condition
# is listed with its largest violation.

print(machines[1].certificate_)
