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
from mercer.kernels.generative import Fisher
from mercer.kernels.graphs import WeisfeilerLehman
from mercer.kernels.histograms import ChiSquared, Intersection
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
from mercer.kernels.strings import Mismatch, Spectrum, Subsequence, WeightedDegree
from mercer.kernels.substrings import Substring
from mercer.kernels.text import Cosine, Words
from mercer.kernels.vector import Linear, Polynomial, Sigmoid, VectorKernel

__all__ = [
    "DTW",
    "RBF",
    "Anova",
    "Categorical",
    "ChiSquared",
    "Constant",
    "Cosine",
    "Exp",
    "Exponential",
    "Fisher",
    "FromFeatureMap",
    "FromFunction",
    "GlobalAlignment",
    "Gower",
    "Intersection",
    "Kernel",
    "Laplacian",
    "Linear",
    "Matern",
    "MeanEmbedding",
    "Mismatch",
    "Normalized",
    "On",
    "Ordinal",
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
    "Spectrum",
    "Spline",
    "Subsequence",
    "Substring",
    "Sum",
    "VectorKernel",
    "Wavelet",
    "WeightedDegree",
    "WeisfeilerLehman",
    "Words",
    "as_kernel",
    "dtw_distance",
]
