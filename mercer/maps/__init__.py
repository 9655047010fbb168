"""Explicit feature maps: transformers whose inner products are a kernel, or close to one."""

from mercer.maps.empirical import EmpiricalMap, KernelPCAMap
from mercer.maps.fourier import RandomFourier
from mercer.maps.nystrom import Nystrom
from mercer.maps.polynomial import PolynomialMap

__all__ = ["EmpiricalMap", "KernelPCAMap", "Nystrom", "PolynomialMap", "RandomFourier"]
