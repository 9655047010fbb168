"""
Languages of surnames
=====================

Which language is a surname from? Nobody has features for that, but two names are alike by the
pieces they share: that is a kernel, and a support vector machine needs no more.
"""

# %%
# Names
# -----
#
# These are made up: a beginning and an ending that are common in a language, and a little noise.

import matplotlib.pyplot as plt
import numpy as np

from mercer import SVC, KernelPCA, plot
from mercer.kernels import Substring

BEGINNINGS = {
    "Italian": ["Ross", "Bian", "Mar", "Fer", "Gall", "Con", "Espos", "Ric", "Mor", "Bar"],
    "German": ["Schm", "Hof", "Zimm", "Berg", "Kr", "Neu", "Wein", "Schw", "Bau", "Stein"],
    "Polish": ["Kow", "Wis", "Woj", "Kam", "Lew", "Ziel", "Szym", "Woz", "Koz", "Jank"],
    "Japanese": ["Yama", "Tana", "Suzu", "Naka", "Koba", "Mori", "Hase", "Ishi", "Oga", "Saka"],
}
ENDINGS = {
    "Italian": ["i", "ini", "etti", "ello", "ano", "otti", "ucci"],
    "German": ["er", "mann", "berg", "eister", "ing", "ert", "bach"],
    "Polish": ["ski", "alski", "czyk", "iewicz", "ak", "owski", "inski"],
    "Japanese": ["moto", "ka", "ki", "mura", "yashi", "wa", "da"],
}
rng = np.random.default_rng(0)
language = np.repeat(list(BEGINNINGS), 60)
names = [str(rng.choice(BEGINNINGS[k]) + rng.choice(ENDINGS[k])) for k in language]
learn, test = np.arange(240) % 3 > 0, np.arange(240) % 3 == 0
print(names[:3], names[60:63], names[120:123], names[180:183])

# %%
# All pieces of a name
# --------------------
#
# ``Substring(weights=0.7)`` counts every piece that two names share, and a piece of length l weighs
# :math:`0.7^l`. Normalised, a long name is not more alike to everything than a short one.

kernel = Substring(weights=0.7).normalized()
train = [name for name, here in zip(names, learn, strict=True) if here]
unseen = [name for name, here in zip(names, test, strict=True) if here]
model = SVC(kernel, C=10.0, probability=True).fit(train, language[learn])
print(f"{model.score(unseen, language[test]):.0%} right on names that it has not seen")
for name in ("Takahashi", "Lewandowski", "Feuerbach", "Gattuso"):
    print(f"{name:12} {model.predict([name])[0]}")

# %%
# The pieces that decide
# ----------------------
#
# Rows whose name has a piece get a higher probability of a language than the others: these are the
# pieces with which the answers go most.

fig, axes = plt.subplots(1, 4, figsize=(11, 3.0), layout="constrained")
for k, ax in enumerate(axes):
    plot.TermsDisplay.from_estimator(model, names, kind="string", which=k, ax=ax)

# %%
# Names as points
# ---------------
#
# Kernel PCA with the same kernel puts names that share pieces near one another.

points = KernelPCA(n_components=2, kernel=kernel).fit_transform(names)
fig, ax = plt.subplots(figsize=(6, 4.2), layout="constrained")
for k in BEGINNINGS:
    own = language == k
    ax.scatter(*points[own].T, s=12, label=k)
ax.legend(frameon=False)
ax.set(xticks=[], yticks=[], xlabel="component 1", ylabel="component 2")
plt.show()
