"""Kernels by name."""

from __future__ import annotations

from typing import Any

from mercer._parameters import as_object
from mercer.kernels.base import Kernel
from mercer.kernels.cells import Categorical, Gower, Ordinal
from mercer.kernels.custom import FromFunction, Precomputed
from mercer.kernels.generative import Fisher
from mercer.kernels.graphs import WeisfeilerLehman
from mercer.kernels.histograms import ChiSquared, Intersection
from mercer.kernels.matern import Matern
from mercer.kernels.radial import RBF, Exponential, Laplacian
from mercer.kernels.sample import Sample
from mercer.kernels.series import DTW, GlobalAlignment
from mercer.kernels.sets import MeanEmbedding
from mercer.kernels.smooth import Anova, Periodic, RationalQuadratic, Sobolev, Spline, Wavelet
from mercer.kernels.strings import Mismatch, Spectrum, Subsequence, WeightedDegree
from mercer.kernels.substrings import Substring
from mercer.kernels.text import Cosine, Words
from mercer.kernels.vector import Linear, Polynomial, Sigmoid

NAMES: dict[str, type[Kernel]] = {
    "linear": Linear,
    "polynomial": Polynomial,
    "poly": Polynomial,
    "rbf": RBF,
    "gaussian": RBF,
    "exponential": Exponential,
    "laplacian": Laplacian,
    "matern": Matern,
    "rational_quadratic": RationalQuadratic,
    "periodic": Periodic,
    "anova": Anova,
    "spline": Spline,
    "wavelet": Wavelet,
    "dtw": DTW,
    "global_alignment": GlobalAlignment,
    "sigmoid": Sigmoid,
    "cosine": Cosine,
    "chi_squared": ChiSquared,
    "intersection": Intersection,
    "words": Words,
    "spectrum": Spectrum,
    "mismatch": Mismatch,
    "weighted_degree": WeightedDegree,
    "subsequence": Subsequence,
    "substring": Substring,
    "weisfeiler_lehman": WeisfeilerLehman,
    "categorical": Categorical,
    "gower": Gower,
    "precomputed": Precomputed,
}


MADE_OF_MORE: tuple[Kernel, ...] = (  # examples of those that a name alone does not make
    Sobolev(),  # of columns within [0, 1]
    Ordinal(["low", "high"]),
    MeanEmbedding(RBF()),
    Fisher(model=None),
)


def as_kernel(kernel: Any) -> Kernel:
    """Return a kernel from a kernel, a name such as ``"rbf"``, or a Python function of two objects.

    Examples
    --------
    >>> from mercer.kernels import as_kernel
    >>> as_kernel("rbf")
    RBF()
    """
    if callable(kernel) and not isinstance(kernel, (Kernel, type)):
        return FromFunction(kernel)
    return as_object(kernel, Kernel, NAMES, "rbf", also="a function k(x, y)")


def bound_samples(kernel: Any, X: Any, Y: Any) -> tuple[Kernel, Sample, Sample]:
    """Return a kernel bound to the rows of the columns, and the rows of both; Y=None means X."""
    kernel = as_kernel(kernel)
    right = kernel.sample(X if Y is None else Y, "X" if Y is None else "Y")
    left = right if Y is None else kernel.sample(X, "X")
    kernel = kernel.bind(right)
    kernel.check_pair(left, right)
    return kernel, left, right
