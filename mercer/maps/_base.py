"""What all maps share: checked rows, output columns, precision, and the error of inner products."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from mercer._array import format_bytes, parse_memory
from mercer._estimator import KernelEstimator, TableTransformer, Transformer
from mercer.kernels import Kernel

SAMPLE = 256  # rows on which inner products are compared with the kernel


class TableMap(TableTransformer):
    """A map of tables, dense or sparse."""

    accepts_sparse = True


class KernelMap(Transformer, KernelEstimator):
    """A map of any objects that a kernel takes, by its values against kept ones."""

    accepts_sparse = True


def require_room(n: int, columns: int, memory: Any, what: str) -> None:
    """Raise if n rows of so many columns do not fit into the budget."""
    needed, budget = 8 * n * columns, parse_memory(memory)
    if needed > budget:
        raise ValueError(
            f"{what} makes {columns} columns: {n} rows take {format_bytes(needed)}, the budget is "
            f"{format_bytes(budget)}"
        )


def some_rows(n: int, most: int = SAMPLE) -> np.ndarray:
    """Return the numbers of at most ``most`` rows, the same in every run."""
    if n <= most:
        return np.arange(n)
    return np.sort(np.random.default_rng(0).choice(n, most, replace=False))


def inner_products(F: Any) -> np.ndarray:
    """Return φ(x)·φ(y) of all pairs of rows of dense or sparse features, in float64."""
    F = F.astype(np.float64)
    if not sp.issparse(F):
        return F @ F.T
    # scipy's transpose holds a number for each column, used or not, and there may be billions
    used, columns = np.unique(F.indices, return_inverse=True)
    F = sp.csr_array((F.data, columns, F.indptr), shape=(F.shape[0], len(used)))
    return (F @ F.T).toarray()


def kernel_values(kernel: Kernel, rows: Any) -> np.ndarray:
    """Return k(x, y) of all pairs of rows in float64."""
    sample = kernel.sample(rows.astype(np.float64))
    return kernel.block_of(sample, sample)
