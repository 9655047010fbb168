"""
Descent in different norms
==========================

"Downhill" depends on how steps are measured. The steepest direction of a norm is

.. math::

    \\Delta = \\operatorname{argmin}_u \\{ \\nabla f(x)^\\top u : \\|u\\| \\le 1 \\}.

In L2 it is the negative gradient, in L1 one coordinate at a time, in L∞ all coordinates move by the
same amount. With :math:`\\|u\\|_P = \\sqrt{u^\\top P u}` it is :math:`-P^{-1}\\nabla f(x)`, and
if P is the Hessian that is Newton's method: it sees circles where others see a narrow valley.
"""

# %%
# An ill-conditioned quadratic, four norms, one start.

import matplotlib.pyplot as plt
import numpy as np

from mercer import plot
from mercer.norms import Quadratic
from mercer.optimize import gradient_descent, lbfgs

H = np.array([[1.0, 3.0], [3.0, 20.0]])
start = np.array([4.0, 1.2])


def f(x):
    return 0.5 * x @ H @ x


def grad(x):
    return H @ x


norms = {"L2": "l2", "L1": "l1", "L∞": "linf", "Hessian": Quadratic(H)}
runs = {
    name: gradient_descent(f, start, grad=grad, norm=norm, keep_points=True)
    for name, norm in norms.items()
}

x, y = np.meshgrid(np.linspace(-2, 5, 200), np.linspace(-1.6, 1.6, 200))
height = 0.5 * (H[0, 0] * x**2 + 2 * H[0, 1] * x * y + H[1, 1] * y**2)
fig, axes = plt.subplots(2, 2, figsize=(10, 6), layout="constrained", sharex=True, sharey=True)
for ax, (name, run) in zip(axes.flat, runs.items(), strict=True):
    path = run.stats["trace"]["points"]
    ax.contour(x, y, height, levels=np.geomspace(0.05, 60, 12), colors="0.8", linewidths=1)
    ax.plot(*path.T, "o-", color="#0072B2", ms=3, lw=1.3)
    ax.set_title(f"{name}: {run.stats['iterations']} steps")
    ax.spines[["top", "right"]].set_visible(False)
plt.show()

# %%
# Every run carries its proof, the dual norm of the gradient at the returned point.

print(runs["L1"].certificate)

# %%
# How a run went
# --------------
#
# ``plot.trace`` shows what is left of the objective: steepest descent converges linearly, L-BFGS
# learns the curvature from its steps and bends down.

fig, axes = plt.subplots(1, 2, figsize=(10, 3.8), layout="constrained", sharey=True)
plot.trace(runs["L2"], ax=axes[0]).set_title("gradient descent")
plot.trace(lbfgs(f, start, grad), ax=axes[1]).set_title("L-BFGS")
plt.show()
