"""
A few labels and the shape of all rows
======================================

One label for each class, and rows that show where the classes lie. `LaplacianSVC` adds to the
penalty of a support vector machine how much :math:`f` changes along a graph of neighbours:

.. math::

    \\tfrac{1}{2} \\|f\\|^2 + \\tfrac{1}{2} \\lambda_G f^\\top L f
    + C \\sum_{i\\ \\text{labelled}} \\max\\bigl(0,\\; 1 - y_i f(x_i)\\bigr).
"""

# %%
# Two moons, one label a class
# ----------------------------
#
# Without the graph the boundary is half way between the two labels. As :math:`\lambda_G` grows, the
# labels spread along the moons. Edges of the graph are drawn in grey, rows with a label as stars.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits, make_moons

from mercer import SVC, LaplacianSVC
from mercer.kernels import RBF

X, truth = make_moons(240, noise=0.09, random_state=1)
y = np.full(240, -1)
labelled = [int(np.flatnonzero(truth == c)[7]) for c in (0, 1)]
y[labelled] = truth[labelled]
u, v = np.meshgrid(np.linspace(-1.6, 2.6, 180), np.linspace(-1.1, 1.6, 120))
grid = np.column_stack([u.ravel(), v.ravel()])

fig, axes = plt.subplots(1, 4, figsize=(11.2, 2.3), layout="constrained")
for ax, lam in zip(axes, [0.0, 1.0, 10.0, 1000.0], strict=True):
    model = LaplacianSVC(RBF(gamma=5.0), C=1e4, lam_graph=lam, n_neighbors=10).fit(X, y)
    f = model.decision_function(grid).reshape(u.shape)
    ax.contourf(u, v, f, levels=[-1e9, 0, 1e9], colors=["#1f6f8b", "#d1495b"], alpha=0.15)
    i, j = model.graph_.nonzero()
    ax.plot([X[i, 0], X[j, 0]], [X[i, 1], X[j, 1]], color="0.75", lw=0.3, zorder=1)
    ax.scatter(*X.T, c=np.where(truth, "#d1495b", "#1f6f8b"), s=5, zorder=2)
    ax.scatter(
        *X[labelled].T, c=["#1f6f8b", "#d1495b"], marker="*", s=170, edgecolors="k", zorder=3
    )
    right = np.mean(model.predict(X) == truth)
    ax.set_title(f"$\\lambda_G$ = {lam:g}: {100 * right:.0f} % right", fontsize=10)
    ax.set(xticks=[], yticks=[], aspect="equal")
    ax.spines[:].set_visible(False)
plt.show()

# %%
# Every one of these fits is proved: the gap is that of the whole objective, and the certificate
# says what part of it the graph is.

print(model.certificate_)

# %%
# Digits with ten labels
# ----------------------
#
# One label for each digit, drawn at random; all other rows have none. A supervised machine sees the
# ten rows alone.

X, truth = load_digits(return_X_y=True)
X = X / 16.0
shares = []
for seed in range(5):
    rng = np.random.default_rng(seed)
    ten = [int(rng.choice(np.flatnonzero(truth == digit))) for digit in range(10)]
    y = np.full(len(truth), -1)
    y[ten] = truth[ten]
    rest = y < 0
    machine = SVC(C=100.0).fit(X[ten], truth[ten])
    graph = LaplacianSVC(C=100.0, lam_graph=100.0, power=2, n_neighbors=5).fit(X, y)
    shares.append([np.mean(m.predict(X[rest]) == truth[rest]) for m in (machine, graph)])
print("draw   labels alone   with the graph")
for seed, (alone, both) in enumerate(shares):
    print(f"{seed}      {100 * alone:5.1f} %        {100 * both:5.1f} %")

# %%
# The ten images with a label, and for each the image farthest along the graph that still gets its
# digit: the one with the least decision value.

values = graph.decision_function(X)
told = values.argmax(axis=1)
fig, axes = plt.subplots(2, 10, figsize=(9.6, 2.2), layout="constrained")
for digit in range(10):
    rows = np.flatnonzero(told == digit)
    for ax, row in zip(
        axes[:, digit], (ten[digit], rows[values[rows, digit].argmin()]), strict=True
    ):
        ax.imshow(X[row].reshape(8, 8), cmap="gray_r")
        ax.set(xticks=[], yticks=[])
plt.show()
