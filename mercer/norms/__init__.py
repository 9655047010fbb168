"""Norms as small values: lengths, dual norms, unit balls and directions of steepest descent.

A norm has ‖x‖ ≥ 0, zero only at 0, with ‖ax‖ = |a|‖x‖ and ‖x + y‖ ≤ ‖x‖ + ‖y‖. `counterexample`
looks for vectors that break one of these.
"""

from mercer.norms.base import Counterexample, Norm, counterexample, inner
from mercer.norms.lp import L0, L1, L2, Linf, Lp, as_norm
from mercer.norms.quadratic import Mahalanobis, Quadratic

__all__ = [
    "L0",
    "L1",
    "L2",
    "Counterexample",
    "Linf",
    "Lp",
    "Mahalanobis",
    "Norm",
    "Quadratic",
    "as_norm",
    "counterexample",
    "inner",
]
