"""scikit-learn's tests of kernel maps."""

from __future__ import annotations

from tests.peers import adapters_spectral as adapters
from tests.peers.borrow import borrowed

NAMES = ("Nystroem", "RBFSampler")
MACHINES = {name: getattr(adapters, name) for name in NAMES}

PRIVATE = "looks at private attributes of the map"
ANOTHER = "kernels of histograms are not here: `FromFunction` takes their formula"
LEFT_OUT = {
    "test_rbf_sampler_fitted_attributes_dtype": PRIVATE,
    "test_rbf_sampler_dtype_equivalence": PRIVATE,
    "test_rbf_sampler_gamma_scale": PRIVATE,
    "test_nystroem_approximation": ANOTHER,
    "test_nystroem_default_parameters": ANOTHER,
    "test_nystroem_poly_kernel_params": "the degree of a polynomial is an integer",
    "test_nystroem_callable": "counts the calls of a function with parameters of its own",
    "test_nystroem_precomputed_kernel": "gamma is a parameter of the kernel, and none beside it",
}

FILE = "sklearn.tests.test_kernel_approximation"
globals().update(borrowed(FILE, {"sklearn.kernel_approximation": MACHINES}, LEFT_OUT))
