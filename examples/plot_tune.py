"""
Choosing C, γ and λ
===================

A kernel machine is only as good as its parameters. ``tune`` chooses a grid by itself, from the
distances of the data, looks closer where the best score was, and returns a fitted search that
predicts. All folds and all values of C share one Gram matrix for each γ, so that a hundred settings
cost little more than a few fits.
"""

# %%
# One call
# --------

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer, load_diabetes
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

from mercer import SVC, KernelRidge, KernelSearchCV, plot, tune
from mercer.kernels import RBF, Linear

X, y = load_breast_cancer(return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0)
scaler = StandardScaler().fit(X_train)
X_train, X_test = scaler.transform(X_train), scaler.transform(X_test)

search = tune(SVC(), X_train, y_train)
print(search.report_)
print(f"accuracy on rows that it has not seen: {search.score(X_test, y_test):.3f}")

# %%
# The surface of the scores shows whether the choice is a sharp peak or a broad plateau.

fig, ax = plt.subplots(figsize=(6.4, 4.6), layout="constrained")
plot.search(search, ax=ax)
plt.show()

# %%
# A grid of your own
# ------------------
#
# ``KernelSearchCV`` takes scikit-learn's grids and gives scikit-learn's results. Several kernels
# may stand in one grid, and nested parameters are reached by their path.

grid = [
    {"kernel": [Linear()], "C": [0.01, 0.1, 1.0]},
    {"kernel": [RBF()], "kernel__gamma": np.logspace(-4, 0, 9), "C": np.logspace(-1, 4, 11)},
]
search = KernelSearchCV(SVC(), grid, cv=5).fit(X_train, y_train)
print(search.best_params_, f"{search.best_score_:.4f}")
print(search.best_estimator_.certificate_.ok)

# %%
# Every λ of kernel ridge at once
# -------------------------------
#
# For kernel ridge one eigendecomposition gives the exact leave-one-out error of every λ: no folds,
# no repetition. Generalised cross-validation is its smoother cousin.

X, y = load_diabetes(return_X_y=True)
X = StandardScaler().fit_transform(X)
model = KernelRidge(RBF(gamma=0.01), lam=np.logspace(-4, 4, 60)).fit(X, y)

fig, ax = plt.subplots(figsize=(6.4, 4.0), layout="constrained")
ax.semilogx(model.lams_, model.loo_error_, color="#1f6f8b", lw=2, label="leave-one-out")
ax.semilogx(model.lams_, model.gcv_error_, color="#d1495b", lw=1.5, ls="--", label="generalised")
ax.axvline(model.lam_, color="0.4", lw=1)
ax.annotate(f"λ = {model.lam_:.2g}", (model.lam_, model.loo_error_.max()), xytext=(6, -4),
            textcoords="offset points")  # fmt: skip
ax.set(xlabel="λ", ylabel="mean squared error")
ax.legend(frameon=False)
ax.spines[["top", "right"]].set_visible(False)
plt.show()
