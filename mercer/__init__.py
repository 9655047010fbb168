"""mercer: kernel machines with a proof with every fit."""

from mercer import kernels
from mercer.feature_space import feature_distance, mean_distance, rkhs_inner, rkhs_norm
from mercer.gram import Gram, center_rows, gram
from mercer.kernels import as_kernel
from mercer.machines import SVC, SVR, KernelRidge, LinearSVC, OneClassSVM
from mercer.result import Certificate, Solution, Status
from mercer.spectral import KernelPCA
from mercer.testing import check_gram, check_kernel, check_solver

__version__ = "0.1.0.dev0"

__all__ = [
    "SVC",
    "SVR",
    "Certificate",
    "Gram",
    "KernelPCA",
    "KernelRidge",
    "LinearSVC",
    "OneClassSVM",
    "Solution",
    "Status",
    "as_kernel",
    "center_rows",
    "check_gram",
    "check_kernel",
    "check_solver",
    "feature_distance",
    "gram",
    "kernels",
    "mean_distance",
    "rkhs_inner",
    "rkhs_norm",
]
