"""
Directions that bend: an arc and three clusters
===============================================

In feature space kernel PCA finds straight directions. Seen from the data they bend: each component
is a function of the plane, drawn here as a colour, and its level lines are what a straight
coordinate axis has become.
"""

# %%
# An arc
# ------
#
# The first component runs along the arc. The second looks like the square of the first: it is
# orthogonal to it *in feature space*, not across the arc. Kernel PCA does not give a direction
# that is locally orthogonal in the plane.

import matplotlib.pyplot as plt
import numpy as np

from mercer import KernelPCA
from mercer.kernels import RBF

rng = np.random.default_rng(0)
angle = np.sort(rng.uniform(0.1 * np.pi, 0.9 * np.pi, 200))
radius = 1.0 + 0.05 * rng.normal(size=200)
arc = np.column_stack([radius * np.cos(angle), radius * np.sin(angle)])


def picture(X, kernel, title):
    """Draw the Gram matrix and the first two components over the plane."""
    model = KernelPCA(n_components=2, kernel=kernel).fit(X)
    low, high = X.min(axis=0) - 0.4, X.max(axis=0) + 0.4
    grid = np.meshgrid(*(np.linspace(a, b, 90) for a, b in zip(low, high, strict=True)))
    scores = model.transform(np.column_stack([axis.ravel() for axis in grid]))
    _, axes = plt.subplots(1, 3, figsize=(9.6, 3.2), layout="constrained")
    axes[0].imshow(kernel(X), cmap="cividis")
    axes[0].set(title=f"Gram matrix of {title}", xticks=[], yticks=[])
    for k, ax in enumerate(axes[1:]):
        heights = scores[:, k].reshape(grid[0].shape)
        size = np.abs(heights).max()
        ax.contourf(*grid, heights, levels=np.linspace(-size, size, 16), cmap="RdBu_r", alpha=0.7)
        ax.contour(*grid, heights, levels=8, colors="#333333", linewidths=0.5)
        ax.scatter(*X.T, c="#111111", s=7, linewidths=0)
        share = model.explained_variance_ratio_[k]
        ax.set(title=f"component {k + 1}: {share:.0%} of the variance", xticks=[], yticks=[])
        ax.set_aspect("equal")
    return model


along = picture(arc, RBF(gamma=1.0), "the arc")

# %%
# How well it runs along the arc is a number: the rank correlation of the first score and the angle.

order = np.argsort(np.argsort(along.transform(arc)[:, 0]))
abs(np.corrcoef(order, np.arange(200))[0, 1]).round(3)

# %%
# Three clusters
# --------------
#
# The first component splits off one cluster, the second separates the other two. With sharp
# clusters the Gram matrix is nearly block diagonal, and its leading eigenvectors are nearly the
# indicators of the blocks: this is the link to spectral clustering.

centres = np.array([[0.0, 0.0], [2.0, 0.3], [1.1, 1.8]])
clusters = np.vstack([c + 0.22 * rng.normal(size=(60, 2)) for c in centres])
split = picture(clusters, RBF(gamma=2.0), "three clusters")

# %%
# Each component carries its proof.

print(split.certificate_)
