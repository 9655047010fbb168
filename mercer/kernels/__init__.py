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
from mercer.kernels.custom import FromFeatureMap, FromFunction, PowerSeries, Precomputed, RankOne
from mercer.kernels.histograms import ChiSquared, Intersection
from mercer.kernels.matern import Matern
from mercer.kernels.names import as_kernel
from mercer.kernels.radial import RBF, Exponential, Laplacian
from mercer.kernels.strings import Mismatch, Spectrum, Subsequence, WeightedDegree
from mercer.kernels.substrings import Substring
from mercer.kernels.text import Cosine, Words
from mercer.kernels.vector import Linear, Polynomial, Sigmoid, VectorKernel

__all__ = [
    "RBF",
    "ChiSquared",
    "Constant",
    "Cosine",
    "Exp",
    "Exponential",
    "FromFeatureMap",
    "FromFunction",
    "Intersection",
    "Kernel",
    "Laplacian",
    "Linear",
    "Matern",
    "Mismatch",
    "Normalized",
    "Polynomial",
    "Power",
    "PowerSeries",
    "Precomputed",
    "Product",
    "RankOne",
    "Sigmoid",
    "Spectrum",
    "Subsequence",
    "Substring",
    "Sum",
    "VectorKernel",
    "WeightedDegree",
    "Words",
    "as_kernel",
]
