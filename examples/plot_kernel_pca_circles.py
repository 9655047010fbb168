"""
Kernel PCA unrolls two circles
==============================

Two rings, one inside the other. No straight line separates them, and principal
component analysis, which can only turn the plane, does not help. With a Gaussian kernel
the same analysis happens in feature space, and there the first few components tell the
rings apart.
"""

# %%
# The same data, two kernels
# --------------------------
#
# With the linear kernel, kernel PCA *is* PCA.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_circles

from mercer import KernelPCA
from mercer.kernels import RBF, Linear

X, ring = make_circles(n_samples=400, factor=0.35, noise=0.05, random_state=0)
linear = KernelPCA(kernel=Linear(), n_components=2).fit(X)
gaussian = KernelPCA(kernel=RBF(gamma=2.0), n_components=2).fit(X)

colors = np.array(["#1f6f8b", "#d1495b"])[ring]
panels = {
    "data": X,
    "Linear()": linear.transform(X),
    "RBF(gamma=2.0)": gaussian.transform(X),
}
fig, axes = plt.subplots(1, 3, figsize=(9.6, 3.4), layout="constrained")
for ax, (title, points) in zip(axes, panels.items(), strict=True):
    ax.scatter(*points.T, c=colors, s=12, alpha=0.8, linewidths=0)
    ax.set(title=title, aspect="equal")
    ax.spines[["top", "right"]].set_visible(False)
for ax in axes[1:]:
    ax.set(xlabel="first component", ylabel="second component")
plt.show()

# %%
# Components as functions on the plane
# ------------------------------------
#
# A component is a function: new points have coordinates too. Drawn over the plane, the
# first components of the Gaussian kernel show what they measure: distance from the
# centre, and directions around it.

model = KernelPCA(kernel=RBF(gamma=2.0), n_components=4).fit(X)
ticks = np.linspace(-1.6, 1.6, 81)
plane = np.stack(np.meshgrid(ticks, ticks), axis=-1).reshape(-1, 2)
values = model.transform(plane)

fig, axes = plt.subplots(1, 4, figsize=(9.6, 2.8), layout="constrained")
for j, ax in enumerate(axes):
    limit = np.abs(values[:, j]).max()
    levels = np.linspace(-limit, limit, 17)
    surface = values[:, j].reshape(81, 81)
    ax.contourf(ticks, ticks, surface, levels=levels, cmap="RdBu_r")
    ax.scatter(*X.T, c="black", s=2, alpha=0.35, linewidths=0)
    ax.set(title=f"component {j + 1}", aspect="equal", xticks=[], yticks=[])
plt.show()

# %%
# The proof
# ---------
#
# The certificate is computed from the fitted components: how well each satisfies
# :math:`Kv = \mu v`, how orthogonal they are to one another, and how much of the
# variance in feature space was left out.

print(model.certificate_)
