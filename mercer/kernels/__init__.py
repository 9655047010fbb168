"""Kernels: functions k(x, y) as objects, with an algebra and a known definiteness."""

from mercer.kernels.base import (
    Constant,
    Exp,
    Kernel,
    Normalized,
    Power,
    Product,
    Sum,
)
from mercer.kernels.cells import Categorical, Gower, Ordinal
from mercer.kernels.columns import On
from mercer.kernels.custom import FromFeatureMap, FromFunction, PowerSeries, Precomputed, RankOne
from mercer.kernels.matern import Matern
from mercer.kernels.names import as_kernel
from mercer.kernels.radial import RBF, Exponential, Laplacian
from mercer.kernels.vector import Linear, Polynomial, Sigmoid, VectorKernel

__all__ = [
    "RBF",
    "Categorical",
    "Constant",
    "Exp",
    "Exponential",
    "FromFeatureMap",
    "FromFunction",
    "Gower",
    "Kernel",
    "Laplacian",
    "Linear",
    "Matern",
    "Normalized",
    "On",
    "Ordinal",
    "Polynomial",
    "Power",
    "PowerSeries",
    "Precomputed",
    "Product",
    "RankOne",
    "Sigmoid",
    "Sum",
    "VectorKernel",
    "as_kernel",
]
