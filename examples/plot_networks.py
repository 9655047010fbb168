"""
Small networks, and what they can prove
=======================================

A network is trained by following a gradient that backpropagation computes. The problem is not
convex, so that there is no proof of a global optimum; what can be proved is that the gradient has
vanished, and the certificate says no more than that.
"""

# %%
# Two moons
# ---------
#
# Hidden units turn the plane into coordinates in which a straight line is enough. A kernel does the
# same with infinitely many coordinates that are not learned.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_iris, make_moons

from mercer import PCA, SVC, Autoencoder, MLPClassifier

X, y = make_moons(400, noise=0.25, random_state=0)
grid = np.meshgrid(np.linspace(-1.8, 2.8, 160), np.linspace(-1.4, 1.9, 130))
plane = np.column_stack([axis.ravel() for axis in grid])
models = {
    "no hidden layer": MLPClassifier(hidden=(), random_state=0),
    "20 hidden units, tanh": MLPClassifier((20,), activation="tanh", lam=0.003, random_state=0),
    "SVC with a Gaussian kernel": SVC(probability=True),
}
fig, axes = plt.subplots(1, 3, figsize=(9.6, 3.2), layout="constrained")
for ax, (title, model) in zip(axes, models.items(), strict=True):
    shade = model.fit(X, y).predict_proba(plane)[:, 1].reshape(grid[0].shape)
    ax.contourf(*grid, shade, levels=np.linspace(0, 1, 11), cmap="RdBu_r", alpha=0.6)
    ax.contour(*grid, shade, levels=[0.5], colors="#333333", linewidths=1.2)
    ax.scatter(*X.T, c=np.array(["#0072B2", "#D55E00"])[y], s=8, linewidths=0)
    ax.set(title=f"{title}\n{model.score(X, y):.1%} right", xticks=[], yticks=[])

# %%
# The proof: the gradient over all rows, relative to where the run began.

print(models["20 hidden units, tanh"].certificate_)

# %%
# A linear autoencoder is PCA
# ---------------------------
#
# A network that has to reproduce its input through two linear units finds the plane of the first
# two principal components, though not the components themselves.

flowers = load_iris().data
code = Autoencoder(hidden=(), n_components=2, activation="linear", random_state=0).fit(flowers)
print(f"autoencoder {code.reconstruction_error_:.6f}")
print(f"PCA         {PCA(2).fit(flowers).reconstruction_error(flowers).mean():.6f}")

# %%
# Where another tool takes over
# -----------------------------
#
# These networks are a few dense layers, on the CPU, in float32, for tables of up to some hundred
# thousand rows. Convolutions, attention, recurrent layers, millions of weights or a GPU are the
# domain of PyTorch.
