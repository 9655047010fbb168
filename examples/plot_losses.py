"""
One theorem, many machines
==========================

The representer theorem says that whatever the loss, the minimiser of

.. math::

    \\sum_{i=1}^{n} w_i\\, \\ell\\bigl(y_i, f(x_i) + b\\bigr) + \\lambda \\|f\\|^2

is a sum over the training points, :math:`f(x) = \\sum_i \\alpha_i k(x, x_i)`. ``KernelMachine`` is
that theorem as an estimator: choose a loss, choose a kernel, and get the function with a proof of
how close to the minimum it is.
"""

# %%
# Outliers and quantiles
# ----------------------
#
# The squared loss gives the mean and is drawn to outliers; Huber's loss forgives them. Quantile
# losses give the edges of a band that holds a chosen share of the points.

import matplotlib.pyplot as plt
import numpy as np

from mercer import KernelMachine
from mercer.kernels import RBF
from mercer.losses import Huber, Quantile, Squared

rng = np.random.default_rng(0)
X = np.sort(rng.uniform(0, 6, 150))[:, None]
noise = (0.15 + 0.25 * X[:, 0] / 6) * rng.standard_normal(150)
y = np.sin(X[:, 0]) + noise
y[rng.choice(150, 8, replace=False)] += 3.0
grid = np.linspace(0, 6, 400)[:, None]


def fit(loss, lam):
    return KernelMachine(loss, RBF(gamma=1.0), lam=lam).fit(X, y)


fig, axes = plt.subplots(1, 2, figsize=(10, 3.8), layout="constrained", sharey=True)
for ax in axes:
    ax.scatter(X, y, s=12, color="0.6", zorder=1)
    ax.spines[["top", "right"]].set_visible(False)
    ax.set(xlabel="x", ylim=(-2, 4.2))
for loss, colour in ((Squared(), "#d1495b"), (Huber(delta=0.3), "#1f6f8b")):
    model = fit(loss, 0.5)
    axes[0].plot(grid, model.predict(grid), color=colour, lw=2, label=repr(loss))
for q, style in ((0.1, ":"), (0.5, "-"), (0.9, "--")):
    model = fit(Quantile(q), 0.2)
    axes[1].plot(grid, model.predict(grid), color="#1f6f8b", ls=style, lw=2, label=f"{q:.0%}")
for ax in axes:
    ax.legend(frameon=False, loc="upper right")
plt.show()

# %%
# Every fit carries its proof: the duality gap of its own loss.

print(model.certificate_)

# %%
# A loss of your own
# ------------------
#
# Two functions make a loss: its value and its derivative. What else the solver and the proof need
# is found numerically; ``check_loss`` tells whether the loss is convex and its derivative right.

from mercer.losses import Loss
from mercer.testing import check_loss


class LogCosh(Loss):
    """log cosh(y − f): squared for small errors, absolute for large ones."""

    kind = "regress"
    smooth = True

    def value(self, y, f):
        r = np.abs(y - f)
        return r + np.log1p(np.exp(-2 * r)) - np.log(2.0)

    def derivative(self, y, f):
        return np.tanh(f - y)


print(check_loss(LogCosh()))
model = fit(LogCosh(), 0.5)
print(model.certificate_.kind, f"{model.certificate_.value:.1e}", model.certificate_.ok)
