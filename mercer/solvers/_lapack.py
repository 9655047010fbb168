"""BLAS and LAPACK on parts of arrays, by address.

SciPy's own wrappers copy a block that is not a whole array, which costs more than the work on it,
and several of them (``eigh``, ``dsyrk``, ``solve_triangular``) let no other thread run meanwhile.
All arrays here are in Fortran's order (columns one after the other), whole or part of a whole.
Calling one library for everything matters too: NumPy brings a BLAS of its own, and the idle
threads of one spin for a while against those of the other.
"""

from __future__ import annotations

import ctypes
from functools import cache, lru_cache
from typing import Any

import numpy as np
from numba.extending import get_cython_function_address

from mercer._scratch import scratch

_LETTER = {np.dtype(np.float32): "s", np.dtype(np.float64): "d"}
_REAL = {np.dtype(np.float32): ctypes.c_float, np.dtype(np.float64): ctypes.c_double}


def matmul(A: np.ndarray, B: np.ndarray) -> np.ndarray:
    """Return A B; rows of A may come one after the other, too."""
    out = np.empty((A.shape[0], B.shape[1]), B.dtype, order="F")
    if A.flags.f_contiguous:
        return add_product(out, A, B, factor=1.0, keep=0.0)
    return add_product(out, A.T, B, transposed=True, factor=1.0, keep=0.0)


def add_product(
    out: np.ndarray,
    A: np.ndarray,
    B: np.ndarray,
    *,
    transposed: bool = False,
    factor: float = 1.0,
    keep: float = 1.0,
) -> np.ndarray:
    """Set ``out`` to keep · out + factor · A B (or Aᵀ B) and return it."""
    (m, n), k = out.shape, B.shape[0]
    form = "T" if transposed else "N"
    args = (form, "N", m, n, k, factor, A, _step(A), B, _step(B), keep, out, _step(out))
    _call("blas", "gemm", out.dtype, *args)
    return out


def symmetric_product(A: np.ndarray, B: np.ndarray) -> np.ndarray:
    """Return A B of a symmetric A whose lower triangle is read."""
    m, n = B.shape
    out = np.empty((m, n), B.dtype, order="F")
    args = ("L", "L", m, n, 1.0, A, _step(A), B, _step(B), 0.0, out, _step(out))
    _call("blas", "symm", A.dtype, *args)
    return out


def subtract_symmetric(A: np.ndarray, V: np.ndarray, W: np.ndarray) -> None:
    """Subtract V Wᵀ + W Vᵀ from the lower triangle of A."""
    n, k = V.shape
    args = ("L", "N", n, k, -1.0, V, _step(V), W, _step(W), 1.0, A, _step(A))
    _call("blas", "syr2k", A.dtype, *args)


def householder(P: np.ndarray) -> np.ndarray:
    """Write R and the reflectors V of P = (I − V T Vᵀ) R over P and return T."""
    m, n = P.shape
    k = min(m, n)
    T, work = np.zeros((k, k), P.dtype, order="F"), np.empty((k, n), P.dtype, order="F")
    info = ctypes.c_int()
    _call("lapack", "geqrt", P.dtype, m, n, k, P, _step(P), T, k, work, info)
    _require_lawful(info, "geqrt")
    return np.asfortranarray(np.triu(T))


def eigen(A: np.ndarray) -> np.ndarray:
    """Write the eigenvectors of a symmetric A over it; return its eigenvalues, rising.

    The lower triangle is read. Divide and conquer takes twice the matrix beside it.
    """
    n = len(A)
    values = np.empty(n, A.dtype)
    work = scratch((1 + 6 * n + 2 * n * n,), A.dtype, brief=True)
    whole, info = np.empty(3 + 5 * n, np.int32), ctypes.c_int()
    args = (A, _step(A), values, work, len(work), whole, len(whole), info)
    _call("lapack", "syevd", A.dtype, "V", "L", n, *args)
    _require_lawful(info, "syevd")
    if info.value > 0:
        raise np.linalg.LinAlgError("the eigenvalues of a matrix were not found")
    return values


def cholesky(A: np.ndarray) -> bool:
    """Write L with A = L Lᵀ over the lower triangle of A; return whether there is one."""
    info = ctypes.c_int()
    _call("lapack", "potrf", A.dtype, "L", len(A), A, _step(A), info)
    _require_lawful(info, "potrf")
    return info.value == 0


def invert_lower(L: np.ndarray) -> None:
    """Write the inverse of a lower triangle over it."""
    info = ctypes.c_int()
    _call("lapack", "trtri", L.dtype, "L", "N", len(L), L, _step(L), info)
    _require_lawful(info, "trtri")


def solve_transposed(U: np.ndarray, B: np.ndarray) -> np.ndarray:
    """Return U⁻ᵀ B of an upper triangle U, in either order."""
    X = np.array(B, dtype=U.dtype, order="F")
    triangle, form = (U, ("U", "T")) if U.flags.f_contiguous else (U.T, ("L", "N"))
    args = ("N", *X.shape, 1.0, triangle, _step(triangle), X, _step(X))
    _call("blas", "trsm", U.dtype, "L", *form, *args)
    return X


def add_square(total: np.ndarray, V: np.ndarray) -> None:
    """Add V Vᵀ to the lower triangle of ``total``."""
    n, k = V.shape
    args = ("L", "N", n, k, 1.0, V, _step(V), 1.0, total, _step(total))
    _call("blas", "syrk", total.dtype, *args)


# ---------------------------------------------------------------- calls
def _call(library: str, name: str, dtype: np.dtype, *args: Any) -> None:
    _routine(library, _LETTER[dtype] + name)(*[_pointer(a, _REAL[dtype]) for a in args])


@cache
def _routine(library: str, name: str) -> Any:
    address = get_cython_function_address(f"scipy.linalg.cython_{library}", name)
    return ctypes.CFUNCTYPE(None)(address)


def _pointer(value: Any, real: Any) -> Any:
    if isinstance(value, np.ndarray):
        return ctypes.c_void_p(value.__array_interface__["data"][0])
    if isinstance(value, ctypes.c_int):
        return ctypes.byref(value)
    return _constant(value, ctypes.c_int if isinstance(value, int) else real)


@lru_cache(4096)
def _constant(value: Any, kind: Any) -> Any:
    """Return the address of a number or a letter, which no routine writes to."""
    return ctypes.c_char_p(value.encode()) if isinstance(value, str) else ctypes.byref(kind(value))


def _step(A: np.ndarray) -> int:
    """Return the distance between columns."""
    if A.shape[0] > 1 and A.strides[0] != A.itemsize:
        raise ValueError("the array must be in Fortran's order")
    return max(A.strides[1] // A.itemsize, A.shape[0], 1)


def _require_lawful(info: ctypes.c_int, routine: str) -> None:
    if info.value < 0:
        raise ValueError(f"{routine} refuses its argument number {-info.value}")
