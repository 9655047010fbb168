"""What type checkers must see of the lazy package. Checked by `make check`, never run."""

from typing import Any, assert_type

import numpy as np

import mercer
from mercer import SVC, KernelRidge, KernelSearchCV, Solution, gram, tune
from mercer.gram import Gram
from mercer.kernels import RBF, Kernel, Linear

X, y = np.zeros((4, 2)), np.zeros(4)

assert_type(SVC(C=2.0), SVC)
assert_type(SVC().fit(X, y), SVC)
assert_type(mercer.KernelRidge(lam=0.1), KernelRidge)
assert_type(tune(SVC(), X, y), KernelSearchCV)
assert_type(gram("rbf", X), Gram)
assert_type(mercer.gram("rbf", X), Gram)
assert_type(mercer.kernels.RBF(gamma=1.0), RBF)
assert_type(mercer.__version__, str)


def value(solution: Solution) -> Any:
    """Return what a solver found."""
    return solution.value


def takes_kernel(kernel: Kernel) -> Kernel:
    """Accept the algebra."""
    return kernel


takes_kernel(RBF() + Linear())
takes_kernel(RBF() * Linear())

# whatever stands on the left of an operator, the algebra gives kernels
assert_type(RBF() + Linear(), Kernel)
assert_type(0.5 * RBF(), Kernel)
assert_type(RBF() * 2, Kernel)
assert_type(1.0 + RBF(), Kernel)
assert_type(1 - RBF(), Kernel)
assert_type(-(RBF() ** 2), Kernel)
assert_type(0.5 * RBF(gamma=0.1) + Linear(), Kernel)
assert_type(0.5 * RBF() - Linear().normalized().exp(), Kernel)
assert_type(RBF().set_params(gamma=0.5), RBF)
assert_type(SVC().set_params(C=2.0), SVC)
SVC(0.5 * RBF() + Linear())
