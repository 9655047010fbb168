"""
Series that are warped in time
==============================

Two people draw a gun, or only point a finger: the hand goes up, stays, and comes down, sooner or
later and faster or slower each time. Step by step such series differ a lot; along an alignment that
stretches time they do not.
"""

# %%
# Series
# ------
#
# These are made up in that manner: a plateau of random place and length, and for those who draw a
# gun a dip before and after it, as the hand reaches for the holster.

import matplotlib.pyplot as plt
import numpy as np

from mercer import SVC, dtw_distance, plot
from mercer.kernels import RBF, GlobalAlignment

rng = np.random.default_rng(1)


def motion(gun):
    """Return the height of a hand over 120 steps."""
    t = np.arange(120.0)
    up, down = rng.uniform(25, 45), rng.uniform(75, 95)
    slope = rng.uniform(2.0, 4.0)
    height = 1 / (1 + np.exp((up - t) / slope)) - 1 / (1 + np.exp((down - t) / slope))
    dips = np.exp(-(((t - up + 12) / 4) ** 2)) + np.exp(-(((t - down - 12) / 4) ** 2))
    return 2 * height - 0.7 * dips * gun + rng.normal(0, 0.05, 120)


y = np.array(["gun" if i % 2 else "point" for i in range(120)])
X = np.array([motion(label == "gun") for label in y])

# %%
# The path of an alignment
# ------------------------
#
# Dynamic time warping looks for the path through all pairs of steps along which two series differ
# least. It is found cell by cell, and read off backwards.


def warping_path(a, b):
    """Return the pairs of steps of the best alignment, and the distance along it."""
    cost = np.full((len(a) + 1, len(b) + 1), np.inf)
    cost[0, 0] = 0.0
    for i in range(len(a)):
        for j in range(len(b)):
            before = min(cost[i, j], cost[i, j + 1], cost[i + 1, j])
            cost[i + 1, j + 1] = (a[i] - b[j]) ** 2 + before
    path = [(len(a), len(b))]
    while path[-1] != (1, 1):
        i, j = path[-1]
        path.append(min([(i - 1, j - 1), (i - 1, j), (i, j - 1)], key=lambda step: cost[step]))
    return np.array(path[::-1]) - 1, np.sqrt(cost[-1, -1])


first, second = X[1], X[3]
path, distance = warping_path(first, second)
print(f"step by step {np.linalg.norm(first - second):.2f}, along the path {distance:.2f}")
assert np.isclose(distance, dtw_distance(first, second))
fig, ax = plt.subplots(figsize=(7, 3.2), layout="constrained")
plot.warping(first, second, path, ax=ax)

# %%
# A machine on alignments
# -----------------------
#
# ``GlobalAlignment`` sums over all alignments instead of taking the best one, and that is a
# positive semidefinite kernel. Beside it stands a Gaussian kernel, which compares step by step;
# both have 20 series to learn from.

learn, test = slice(0, 20), slice(20, None)
aligned = SVC(GlobalAlignment(band=0.2).normalized(), C=10.0).fit(X[learn], y[learn])
plain = SVC(RBF(), C=10.0).fit(X[learn], y[learn])
for name, model in (("all alignments", aligned), ("step by step", plain)):
    print(f"{name}: {model.score(X[test], y[test]):.0%} right")

# %%
# What carries the model
# ----------------------
#
# Support vectors are bold: new series are compared with these alone.

fig, ax = plt.subplots(figsize=(7, 3.4), layout="constrained")
plot.SeriesDisplay.from_series(list(X[learn]), y[learn], model=aligned, name="height", ax=ax)
plt.show()
