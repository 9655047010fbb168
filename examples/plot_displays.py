"""
Pictures of a model
===================

A *Display* is made from a fitted model, holds the plain numbers of one picture, and draws them; it
can be drawn again elsewhere. All of ``mercer.plot`` works with scikit-learn's models too.
"""

# %%
# What it has learned
# -------------------
#
# ``DecisionDisplay`` asks a model about a grid. A margin machine shows its boundary :math:`f = 0`,
# its margins :math:`f = \pm 1` and rings round its support vectors; other classifiers their
# probabilities, the darker the surer, with dashes where three of four are of one class.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_diabetes, load_iris, make_moons
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from mercer import (
    KNN,
    SVC,
    AdaBoost,
    KernelLogistic,
    KernelPCA,
    KernelRidge,
    KernelSearchCV,
    OneClassSVM,
    learning_curve,
    optimize,
)
from mercer.kernels import RBF
from mercer.plot import (
    CalibrationDisplay,
    ConfusionDisplay,
    DecisionDisplay,
    EmbeddingDisplay,
    GramDisplay,
    LearningCurveDisplay,
    PredictionDisplay,
    RocDisplay,
    SearchDisplay,
    TraceDisplay,
)

X, y = make_moons(150, noise=0.25, random_state=0)
y = np.array(["healthy", "ill"])[y]
machines = {
    "support vectors": SVC("rbf"),
    "kernel logistic": KernelLogistic("rbf", lam=0.01),
    "nearest neighbours": KNN(7),
    "boosted stumps": AdaBoost(),
}
fig, axes = plt.subplots(2, 2, figsize=(9.6, 7.2), layout="constrained")
for ax, (name, model) in zip(axes.flat, machines.items(), strict=True):
    DecisionDisplay.from_estimator(model.fit(X, y), X, y, ax=ax)
    ax.set_xlabel(name)
plt.show()

# %%
# Tables with more columns are shown in the plane of two of them, the others at their median. With
# more than two classes each has its region, a regressor is a filled contour, and a machine of one
# class shows what belongs.

iris = load_iris(as_frame=True)
species = iris.target_names[iris.target]
scaled = make_pipeline(StandardScaler(), SVC("rbf")).fit(iris.data, species)
height = np.sin(2 * X[:, 0]) + X[:, 1]
fig, axes = plt.subplots(1, 3, figsize=(12.0, 3.6), layout="constrained")
petals = ["petal length (cm)", "petal width (cm)"]
DecisionDisplay.from_estimator(scaled, iris.data, species, features=petals, ax=axes[0])
DecisionDisplay.from_estimator(OneClassSVM("rbf", nu=0.1).fit(X), X, ax=axes[1])
ridge = KernelRidge(RBF(gamma=1.0), lam=0.1).fit(X, height)
DecisionDisplay.from_estimator(ridge, X, height, ax=axes[2])
plt.show()

# %%
# What the kernel sees
# --------------------
#
# The Gram matrix with the rows in the order of their classes: a kernel that suits them has bright
# blocks along the diagonal. Beside it, the same kernel's two leading components.

kernel = RBF(gamma=0.5)
fig, axes = plt.subplots(1, 2, figsize=(10.0, 4.0), layout="constrained")
GramDisplay.from_kernel(kernel, iris.data, species, ax=axes[0])
projection = KernelPCA(2, kernel=kernel).fit(iris.data)
EmbeddingDisplay.from_estimator(projection, iris.data, species, ax=axes[1])
plt.show()

# %%
# How it was chosen
# -----------------
#
# The scores of a search, and how they grow with the number of rows. ``curve`` says what computes
# them: ``mercer.learning_curve`` reads one Gram matrix for all sizes and folds.

grid = {"C": np.logspace(-1, 2, 4), "kernel__gamma": np.logspace(-2, 1, 4)}
search = KernelSearchCV(SVC("rbf"), grid, cv=5).fit(X, y)
fig, axes = plt.subplots(1, 2, figsize=(10.0, 3.8), layout="constrained")
SearchDisplay.from_estimator(search, ax=axes[0])
LearningCurveDisplay.from_estimator(
    search.best_estimator_, X, y, curve=learning_curve, shuffle=True, random_state=0, ax=axes[1]
)
plt.show()

# %%
# How good it is
# --------------
#
# On rows that the models have not seen. Curves of several models go on the same Axes.

X_new, y_new = make_moons(1000, noise=0.25, random_state=1)
y_new = np.array(["healthy", "ill"])[y_new]
fig, axes = plt.subplots(1, 3, figsize=(12.0, 3.9), layout="constrained")
for name, model in machines.items():
    RocDisplay.from_estimator(model, X_new, y_new, name=name, ax=axes[0])
logistic = machines["kernel logistic"]
ConfusionDisplay.from_estimator(logistic, X_new, y_new, ax=axes[1])
CalibrationDisplay.from_estimator(logistic, X_new, y_new, ax=axes[2])
plt.show()

# %%
# Numbers: the truth and what is left of it against the prediction.

X, y = load_diabetes(return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0)
model = make_pipeline(StandardScaler(), KernelRidge(RBF(gamma=0.01))).fit(X_train, y_train)
fig, axes = plt.subplots(1, 2, figsize=(9.0, 3.8), layout="constrained")
for ax, kind in zip(axes, ("actual_vs_predicted", "residual_vs_predicted"), strict=True):
    PredictionDisplay.from_estimator(model, X_test, y_test, kind=kind, ax=ax)
plt.show()

# %%
# How a run went
# --------------
#
# Several methods on the same function, above the least value that any of them has found.


def valley(x):
    """Return Rosenbrock's function."""
    return (1 - x[0]) ** 2 + 100 * (x[1] - x[0] ** 2) ** 2


def slope(x):
    """Return its gradient."""
    rise = x[1] - x[0] ** 2
    return np.array([-2 * (1 - x[0]) - 400 * x[0] * rise, 200 * rise])


runs = {
    "gradient descent": optimize.gradient_descent(valley, [-1.2, 1.0], grad=slope, max_iter=150),
    "L-BFGS": optimize.lbfgs(valley, [-1.2, 1.0], grad=slope),
}
TraceDisplay.from_solution(runs)
plt.show()
