r"""
The curse of dimensionality
===========================

High-dimensional space is empty, and what lies in it lies near the edge. Both are short sums, and
both are what makes methods that look for neighbours fail where there are many columns.
"""

# %%
# A ball has its volume at its surface
# ------------------------------------
#
# Of points that are uniform in the unit ball of :math:`\mathbb{R}^p` the share :math:`r^p` is
# closer than :math:`r` to the centre. For :math:`p = 10` and :math:`r = 0.9` that is less than
# 35 %: two points in three lie in the outermost tenth.

import matplotlib.pyplot as plt
import numpy as np

from mercer import KNN
from mercer.assess import evaluate

rng = np.random.default_rng(0)


def in_ball(n, p):
    """Return n points that are uniform in the unit ball: a direction and a radius."""
    direction = rng.standard_normal((n, p))
    radius = rng.uniform(size=(n, 1)) ** (1 / p)
    return radius * direction / np.linalg.norm(direction, axis=1, keepdims=True)


inside = np.mean(np.linalg.norm(in_ball(100_000, 10), axis=1) < 0.9)
print(f"0.9^10 = {0.9**10:.4f}, counted: {inside:.4f}")
assert 0.9**10 < 0.35
assert abs(inside - 0.9**10) < 0.01

dimensions = np.arange(1, 51)
fig, ax = plt.subplots(figsize=(6.4, 3.6), layout="constrained")
for r, colour in ((0.5, "#d1495b"), (0.9, "#1f6f8b"), (0.99, "#66a182")):
    ax.plot(dimensions, r**dimensions, color=colour, lw=2, label=f"closer than {r}")
ax.plot([10], [inside], "o", color="#1f6f8b", label="counted, p = 10")
ax.set(xlabel="dimension p", ylabel="share of the points", ylim=(0, 1.02))
ax.legend(frameon=False)
ax.spines[["top", "right"]].set_visible(False)
plt.show()

# %%
# All distances become equal
# --------------------------
#
# The nearest of 500 points is hardly nearer than the farthest: the spread of the distances stays
# what it was while their mean grows with :math:`\sqrt{p}`.

fig, axes = plt.subplots(1, 2, figsize=(9.6, 3.6), layout="constrained")
contrast = []
for p in dimensions:
    distance = np.linalg.norm(rng.uniform(size=(500, p)) - rng.uniform(size=p), axis=1)
    contrast.append(distance.min() / distance.max())
    if p in (1, 5, 50):
        axes[0].hist(distance / distance.mean(), bins=30, histtype="step", lw=2, label=f"p = {p}")
axes[0].set(xlabel="distance / mean distance", ylabel="points")
axes[0].legend(frameon=False)
axes[1].plot(dimensions, contrast, color="#1f6f8b", lw=2)
axes[1].set(xlabel="dimension p", ylabel="nearest / farthest", ylim=(0, 1))
for ax in axes:
    ax.spines[["top", "right"]].set_visible(False)
plt.show()

# %%
# What neighbours lose
# --------------------
#
# Two classes differ in their first two columns. Each further column is noise: it adds to every
# distance and says nothing, and the vote of the nearest comes closer to a guess.

columns = [2, 5, 10, 20, 50, 100, 200]
n = 400
y = np.repeat([0, 1], n)
rates, low, high = [], [], []
for p in columns:
    X, new = (rng.standard_normal((2 * n, p)) for _ in range(2))
    X[:, :2] += 1.2 * y[:, None]
    new[:, :2] += 1.2 * y[:, None]
    result = evaluate(y, KNN(5).fit(X, y).predict(new))
    rates.append(result.accuracy)
    ends = result.interval("accuracy")
    low.append(ends.low)
    high.append(ends.high)

fig, ax = plt.subplots(figsize=(6.4, 3.6), layout="constrained")
ax.fill_between(columns, low, high, color="#1f6f8b", alpha=0.15, lw=0, label="95 % interval")
ax.semilogx(columns, rates, "o-", color="#1f6f8b", lw=2, label="five nearest neighbours")
ax.axhline(0.5, color="0.5", lw=1, ls="--", label="a coin")
ax.set(xlabel="columns, of which two matter", ylabel="accuracy", ylim=(0.45, 0.95))
ax.set_xticks(columns, columns)
ax.set_xticks([], minor=True)
ax.legend(frameon=False)
ax.spines[["top", "right"]].set_visible(False)
plt.show()

# %%
# The way out is to look for few directions that matter: ``PCA``, ``LDA``, ``SIR`` and their kernel
# versions do.
