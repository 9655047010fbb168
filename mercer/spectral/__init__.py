"""Projections from eigenproblems."""

from mercer.spectral.cca import CCA
from mercer.spectral.ica import ICA
from mercer.spectral.isomap import Isomap
from mercer.spectral.kernel_cca import KernelCCA
from mercer.spectral.kernel_fda import KernelFDA
from mercer.spectral.kernel_ica import KernelICA
from mercer.spectral.kernel_kmeans import KernelKMeans
from mercer.spectral.kernel_pca import KernelPCA
from mercer.spectral.lda import LDA
from mercer.spectral.lle import LLE
from mercer.spectral.mds import MDS
from mercer.spectral.pca import PCA
from mercer.spectral.random_projection import RandomProjection
from mercer.spectral.robust_pca import RobustPCA
from mercer.spectral.sir import SIR, LocalSIR
from mercer.spectral.sparse_pca import SparsePCA
from mercer.spectral.spectral_clustering import SpectralClustering, SpectralEmbedding
from mercer.spectral.supervised_pca import SupervisedPCA
from mercer.spectral.whitening import Whitening

__all__ = [
    "CCA",
    "ICA",
    "LDA",
    "LLE",
    "MDS",
    "PCA",
    "SIR",
    "Isomap",
    "KernelCCA",
    "KernelFDA",
    "KernelICA",
    "KernelKMeans",
    "KernelPCA",
    "LocalSIR",
    "RandomProjection",
    "RobustPCA",
    "SparsePCA",
    "SpectralClustering",
    "SpectralEmbedding",
    "SupervisedPCA",
    "Whitening",
]
