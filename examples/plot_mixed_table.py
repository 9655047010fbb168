"""
A table with columns of every kind
==================================

Numbers, categories, a remark in words and a curve in one table, and a kernel for each.
"""

# %%
# The table
# ---------
#
# Machines of two makers, some of which will fail: those that run hot, those of which somebody wrote
# that they rattle, and those whose current rises at the end. None of these alone tells much.

from functools import reduce
from operator import add

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline

from mercer import SVC
from mercer.kernels import RBF, GlobalAlignment, Words
from mercer.tables import ColumnsEncoder

rng = np.random.default_rng(0)
n = 240
hot, rattles, rises = rng.random((3, n)) < 0.35
FILLER = ["checked", "by", "the", "team", "as", "planned", "oil", "is", "fine", "again"]


def remark(bad):
    """Return some words, one of which may tell."""
    words = [*rng.choice(FILLER, 6), rng.choice(["rattles", "noisy"] if bad else ["quiet", "calm"])]
    return " ".join(rng.permutation(words))


def current(bad):
    """Return a curve of 25 to 40 steps that rises at the end, or does not."""
    t = np.linspace(0, 1, rng.integers(25, 40))
    return np.sin(6 * t) + 1.5 * bad * np.maximum(t - 0.7, 0) / 0.3 + rng.normal(0, 0.15, len(t))


table = pd.DataFrame(
    {
        "temperature": np.where(hot, 80.0, 60.0) + rng.normal(0, 8, n),
        "maker": rng.choice(["A", "B"], n),
        "remark": [remark(bad) for bad in rattles],
        "current": [current(bad) for bad in rises],
    }
)
fails = hot.astype(int) + rattles + rises >= 2
print(table.head(3).to_string(max_colwidth=28))

# %%
# One kernel for each kind
# ------------------------
#
# `ColumnsEncoder` standardises numbers, encodes categories and leaves texts and series to their
# kernels; a sum of these is the kernel of a row.

kinds = {"remark": "text", "current": "series"}
encoder = ColumnsEncoder(kinds).fit(table)
print(*encoder.describe(), sep="\n")
parts = {
    "numbers and categories": RBF().on(encoder.numbers_),
    "remark": Words().normalized().on("remark"),
    "current": GlobalAlignment(band=0.2).normalized().on("current"),
}
parts["all of them"] = reduce(add, parts.values())

# %%
# Which columns tell how much
# ---------------------------

right = {}
for name, kernel in parts.items():
    model = make_pipeline(ColumnsEncoder(kinds), SVC(kernel, C=10.0))
    right[name] = cross_val_score(model, table, fails, cv=5)
fig, ax = plt.subplots(figsize=(6, 2.4), layout="constrained")
means = [score.mean() for score in right.values()]
ax.barh(list(right), means, color="#1f6f8b", height=0.6)
ax.axvline(max(np.mean(fails), 1 - np.mean(fails)), color="0.3", ls="--", lw=1)
ax.set(xlim=(0.5, 1.0), xlabel="share right in five folds; dashed: always the same answer")
ax.invert_yaxis()
ax.spines[["top", "right"]].set_visible(False)
plt.show()
print({name: round(float(score.mean()), 2) for name, score in right.items()})
