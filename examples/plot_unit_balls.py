"""
Unit balls of norms
===================

A norm measures the length of a vector. All vectors of length at most 1 are its *unit ball*, and the
shape of the ball says what the norm thinks of directions: the corners of the diamond are why L1
penalties give sparse solutions. A ball with dents is not the ball of a norm.
"""

# %%
# Powers
# ------
#
# :math:`\|x\|_p = (\sum_i |x_i|^p)^{1/p}` is a norm from :math:`p = 1` on.

import matplotlib.pyplot as plt
import numpy as np

from mercer.norms import L0, L1, L2, Linf, Lp, Mahalanobis, Quadratic, counterexample


def new_axes():
    ax = plt.subplots(figsize=(5.5, 4.6), layout="constrained")[1]
    ax.set_aspect("equal")
    ax.spines[["top", "right"]].set_visible(False)
    return ax


ax = new_axes()
colours = plt.cm.viridis(np.linspace(0, 0.9, 5))
powers = {"p = ½": Lp(0.5), "p = 1": L1, "p = 2": L2, "p = 4": Lp(4), "p = ∞": Linf}
for (label, norm), colour in zip(powers.items(), colours, strict=True):
    ax.plot(*norm.ball().T, color=colour, lw=2, ls="-" if norm.is_norm else ":", label=label)
ax.legend(frameon=False, loc="center")
plt.show()

# %%
# The dotted star of :math:`p = 1/2` is no ball of a norm: the way across is longer than the two
# steps along the axes. The number of entries that are not 0 is no norm either, though it does keep
# the triangle inequality: twice a vector is not twice as long.

for norm in (Lp(0.5), L0):
    print(norm, counterexample(norm))

# %%
# Quadratic norms
# ---------------
#
# :math:`\|x\|_P = \sqrt{x^\top P x}` has an ellipse. With the inverse of a covariance it is
# Mahalanobis' distance: the ellipse follows the cloud, and in whitened coordinates it is a circle.

rng = np.random.default_rng(0)
cloud = 0.5 * rng.multivariate_normal([0, 0], [[1.0, 0.7], [0.7, 1.0]], 300)
follows = Mahalanobis(np.cov(cloud.T))
ax = new_axes()
ax.scatter(*cloud.T, s=8, color="0.75")
ax.plot(*follows.ball().T, color="#0072B2", lw=2, label="Mahalanobis")
ax.plot(*Quadratic([[1.0, 0.0], [0.0, 4.0]]).ball().T, color="#D55E00", lw=2, label="quadratic")
ax.legend(frameon=False, loc="upper left")
plt.show()

# %%
# In whitened coordinates the lengths are Euclidean.

print(np.abs(follows.value(cloud) - L2.value(follows.whiten(cloud))).max())
