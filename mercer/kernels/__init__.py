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
from mercer.kernels.generative import Fisher
from mercer.kernels.matern import Matern
from mercer.kernels.names import as_kernel
from mercer.kernels.radial import RBF, Exponential, Laplacian
from mercer.kernels.series import DTW, GlobalAlignment, dtw_distance
from mercer.kernels.sets import MeanEmbedding
from mercer.kernels.smooth import (
    Anova,
    Periodic,
    RationalQuadratic,
    Sobolev,
    Spline,
    Wavelet,
)
from mercer.kernels.vector import Linear, Polynomial, Sigmoid, VectorKernel

__all__ = [
    "DTW",
    "RBF",
    "Anova",
    "Constant",
    "Exp",
    "Exponential",
    "Fisher",
    "FromFeatureMap",
    "FromFunction",
    "GlobalAlignment",
    "Kernel",
    "Laplacian",
    "Linear",
    "Matern",
    "MeanEmbedding",
    "Normalized",
    "Periodic",
    "Polynomial",
    "Power",
    "PowerSeries",
    "Precomputed",
    "Product",
    "RankOne",
    "RationalQuadratic",
    "Sigmoid",
    "Sobolev",
    "Spline",
    "Sum",
    "VectorKernel",
    "Wavelet",
    "as_kernel",
    "dtw_distance",
]
