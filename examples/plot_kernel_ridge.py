"""
Kernel ridge regression and the width of the kernel
===================================================

A sine, forty noisy observations of it, and one model at three values of
:math:`\\gamma`. Kernel ridge regression looks for a function
:math:`f(x) = \\sum_i \\alpha_i\\, k(x_i, x) + b`, a sum of kernels centred at the data,
and minimises

.. math::

    \\sum_{i=1}^{n} \\bigl(y_i - f(x_i)\\bigr)^2 + \\lambda\\, \\alpha^\\top K \\alpha.

The first term wants to meet the observations, the second wants a smooth function.
"""

# %%
# Too wide, about right, too narrow
# ---------------------------------
#
# :math:`\gamma = 1 / (2\sigma^2)`, so a small :math:`\gamma` is a wide kernel. Too
# wide, and :math:`f` can't bend. Too narrow, and it bends to the noise, and falls back
# to the offset :math:`b` where there are no data.

import matplotlib.pyplot as plt
import numpy as np

from mercer import KernelRidge
from mercer.kernels import RBF

rng = np.random.default_rng(3)
X = np.sort(rng.uniform(0, 6, size=(40, 1)), axis=0)
y = np.sin(X[:, 0]) + 0.25 * rng.normal(size=40)
grid = np.linspace(-0.5, 6.5, 400)[:, None]

gammas = (0.002, 0.3, 60.0)
models = {g: KernelRidge(RBF(gamma=g), lam=0.1).fit(X, y) for g in gammas}

fig, axes = plt.subplots(1, 3, figsize=(9.6, 3.2), sharey=True, layout="constrained")
for ax, (gamma, model) in zip(axes, models.items(), strict=True):
    curve = model.predict(grid)
    error = np.sqrt(np.mean((curve - np.sin(grid[:, 0])) ** 2))
    ax.plot(grid, np.sin(grid), color="0.65", ls="--", lw=1.5, label="sine")
    ax.plot(X, y, "o", color="#1f6f8b", ms=4, alpha=0.75, label="observations")
    ax.plot(grid, curve, color="#d1495b", lw=2, label="fit")
    ax.set_title(f"γ = {gamma:g}    error {error:.2f}", fontsize=11)
    ax.set(xlabel="x", ylim=(-1.9, 1.9))
    ax.spines[["top", "right"]].set_visible(False)
lines = axes[0].get_legend_handles_labels()
fig.legend(*lines, loc="outside lower center", ncols=3, frameon=False)
plt.show()

# %%
# The proof
# ---------
#
# A fit ends with a linear system. The certificate multiplies it out again with the
# coefficients that are returned, and estimates how much the system amplifies errors.

print(models[0.3].certificate_)

# %%
# A wide kernel makes the columns of the Gram matrix nearly equal, and with a small
# :math:`\lambda` little keeps the system away from a singular one. The certificate tells:
# the condition estimate grows, and the residual has fewer digits to spare.

for g in gammas:
    proof = KernelRidge(RBF(gamma=g), lam=1e-6).fit(X, y).certificate_
    print(f"γ = {g:<6g} condition {proof.condition_estimate:.0e}   residual {proof.residual:.0e}")
