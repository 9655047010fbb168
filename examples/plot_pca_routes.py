"""
PCA: three ways to one answer
=============================

Principal components are eigenvectors of the covariance, a matrix with one row for each column of
the table. A table with few rows and many columns has a much smaller matrix with the same
eigenvalues, the inner products of its rows; and the singular value decomposition needs neither.
`PCA` takes the smaller matrix by itself, and the three agree to rounding.
"""

# %%
# The components of the wines
# ---------------------------
#
# 178 wines, thirteen chemical measurements. The first two components hold a little more than half
# of the variance, and that is enough to see the three cultivars.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_wine

from mercer import PCA, plot

wine = load_wine()
X = (wine.data - wine.data.mean(axis=0)) / wine.data.std(axis=0)
cultivar = wine.target_names[wine.target]
pca = PCA().fit(X)

fig, axes = plt.subplots(1, 2, figsize=(10, 4.2), layout="constrained")
plot.scree(pca, ax=axes[0])
plot.embedding(pca, X, cultivar, ax=axes[1])
plt.show()

# %%
# What the components weigh: flavanoids and phenols against acid on the first, colour and alcohol
# on the second.

plot.loadings(pca, names=wine.feature_names)
plt.show()

# %%
# Three routes, wide range
# ------------------------
#
# A matrix of inner products squares the singular values: those below 10⁻⁸ of the largest would
# drown in its rounding. Here they fall over ten decades. `PCA` projects the large ones away and
# looks again, so that no route loses them.

rng = np.random.default_rng(0)
U, V = (np.linalg.qr(rng.standard_normal((n, 30)))[0] for n in (300, 60))
table = (U * np.logspace(0, -10, 30)) @ V.T
table -= table.mean(axis=0)

fig, ax = plt.subplots(figsize=(6.4, 4.2), layout="constrained")
squared = np.linalg.eigvalsh(table.T @ table)[::-1][:30]
ax.semilogy(np.sqrt(np.abs(squared)), color="#BBBBBB", label="square roots of plain eigenvalues")
for route, marker in (("covariance", "o"), ("gram", "x"), ("svd", "+")):
    values = PCA(route=route).fit(table).singular_values_
    ax.semilogy(values, marker, markersize=6, fillstyle="none", label=f'route="{route}"')
ax.set(xlabel="component", ylabel="singular value")
ax.legend(frameon=False)
plt.show()

# %%
# The proof
# ---------
#
# How well each component satisfies :math:`Cv = \lambda v`, how orthogonal they are, and what was
# left out. The reconstruction error of the training rows is what was left out.

few = PCA(0.8).fit(X)
print(few.certificate_)
error = few.reconstruction_error(X).sum() / (len(X) - 1)
print(f"discarded variance {few.certificate_.discarded * few.certificate_.trace:.12f}")
print(f"reconstruction     {error:.12f}")

# %%
# Rows in batches
# ---------------
#
# Batches give the same as all rows at once: what is kept of the past is a factor of the
# covariance, not the covariance itself, so that nothing is squared here either.

stream = PCA()
for batch in np.array_split(X, 9):
    stream.partial_fit(batch)
print(f"largest difference {np.abs(stream.components_ - pca.components_).max():.1e}")
