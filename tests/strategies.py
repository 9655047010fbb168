"""Random expressions and random tables for hypothesis."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from mercer.kernels import (
    RBF,
    Constant,
    Exponential,
    Kernel,
    Laplacian,
    Linear,
    Polynomial,
    PowerSeries,
    Sigmoid,
)

positive = st.floats(0.125, 2.0)
degrees = st.integers(0, 3)

radial_leaves = st.one_of(
    st.builds(RBF, gamma=positive),
    st.builds(Exponential, gamma=positive),
    st.builds(Laplacian, gamma=positive),
)
psd_leaves = st.one_of(
    radial_leaves,
    st.builds(Linear, bias=positive),
    st.builds(Polynomial, degree=degrees, scale=positive, bias=positive),
    st.builds(Constant, value=positive),
)
any_leaves = st.one_of(
    psd_leaves,
    st.builds(Linear, bias=st.floats(-2.0, 2.0)),
    st.builds(Sigmoid, scale=positive, bias=st.floats(-1.0, 1.0)),
    st.builds(Constant, value=st.floats(-2.0, 2.0)),
)


def _combine(kernels: Any) -> Any:
    """One step of the algebra with non-negative coefficients."""
    return st.one_of(
        st.builds(lambda a, b: a + b, kernels, kernels),
        st.builds(lambda a, b: a * b, kernels, kernels),
        st.builds(lambda c, k: c * k, positive, kernels),
        st.builds(lambda k, n: k**n, kernels, degrees),
        st.builds(PowerSeries, kernels, st.lists(positive, min_size=1, max_size=3)),
    )


def _grow_psd(kernels: Any) -> Any:
    """One step of the closure that keeps positive semidefiniteness."""
    return st.one_of(
        _combine(kernels),
        st.builds(lambda k: k.normalized(), kernels),
        st.builds(lambda k: k.normalized().exp(), kernels),  # normalised: exp stays small
    )


psd_expressions: st.SearchStrategy[Kernel] = st.recursive(psd_leaves, _grow_psd, max_leaves=4)


def _grow_any(kernels: Any) -> Any:
    """One step of the algebra, definite or not (only k(x, x) ≥ 0 can be normalised)."""
    return st.one_of(
        _combine(kernels),
        st.builds(lambda k: k.normalized(), psd_expressions),
        st.builds(lambda a, b: a - b, kernels, kernels),
        st.builds(lambda k: -k, kernels),
        st.builds(lambda k, c: k + c, kernels, st.floats(-2.0, 2.0)),
    )


any_expressions: st.SearchStrategy[Kernel] = st.recursive(any_leaves, _grow_any, max_leaves=5)


@st.composite
def tables(draw: Any, max_rows: int = 6) -> np.ndarray:
    """Draw a table of up to 6 rows and 3 columns with entries in [−2, 2], zeros and repeats too."""
    shape = draw(st.tuples(st.integers(1, max_rows), st.integers(1, 3)))
    entries = st.one_of(st.floats(-2.0, 2.0, width=32), st.sampled_from([0.0, 1.0, -1.0]))
    return draw(arrays(np.float64, shape, elements=entries))
