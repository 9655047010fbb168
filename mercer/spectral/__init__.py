"""Projections from eigenproblems."""

from mercer.spectral.kernel_pca import KernelPCA

__all__ = ["KernelPCA"]
