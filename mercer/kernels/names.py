"""Kernels by name."""

from __future__ import annotations

from typing import Any

from mercer.kernels.base import Kernel
from mercer.kernels.custom import FromFunction, Precomputed
from mercer.kernels.vector import RBF, Exponential, Laplacian, Linear, Polynomial, Sigmoid

NAMES: dict[str, type[Kernel]] = {
    "linear": Linear,
    "polynomial": Polynomial,
    "poly": Polynomial,
    "rbf": RBF,
    "gaussian": RBF,
    "exponential": Exponential,
    "laplacian": Laplacian,
    "sigmoid": Sigmoid,
    "precomputed": Precomputed,
}


def as_kernel(kernel: Any) -> Kernel:
    """Return a kernel from a kernel, a name such as ``"rbf"``, or a Python function of two objects.

    Examples
    --------
    >>> from mercer.kernels import as_kernel
    >>> as_kernel("rbf")
    RBF()
    """
    if isinstance(kernel, Kernel):
        return kernel
    if isinstance(kernel, str):
        if kernel.lower() not in NAMES:
            raise ValueError(f"kernel must be one of {sorted(NAMES)} or a Kernel; got {kernel!r}")
        return NAMES[kernel.lower()]()
    if isinstance(kernel, type) and issubclass(kernel, Kernel):
        raise TypeError(f"kernel must be a Kernel object: write {kernel.__name__}(), with brackets")
    if callable(kernel):
        return FromFunction(kernel)
    raise TypeError(
        f"kernel must be a Kernel, a name such as 'rbf' or a function k(x, y); "
        f"got {type(kernel).__name__}"
    )
