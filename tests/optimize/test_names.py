"""The public names of the optimiser and of the norms: all are listed and explained by example."""

from __future__ import annotations

import inspect

import pytest

from mercer import norms, optimize

OPTIMIZE = {
    "Constraint",
    "ConvexityReport",
    "Multipliers",
    "Problem",
    "SlaterReport",
    "affine",
    "check_convex",
    "check_gradient",
    "check_slater",
    "coordinate_descent",
    "dual_function",
    "duality_gap",
    "gradient_descent",
    "kkt_residuals",
    "lbfgs",
    "linear_program",
    "newton",
    "proximal_gradient",
    "soft_threshold",
}
NORMS = {
    "L0",
    "L1",
    "L2",
    "Counterexample",
    "Linf",
    "Lp",
    "Mahalanobis",
    "Norm",
    "Quadratic",
    "as_norm",
    "counterexample",
    "inner",
}


def test_the_names_are_these():
    assert set(optimize.__all__) == OPTIMIZE
    assert set(norms.__all__) == NORMS


@pytest.mark.parametrize("name", sorted(OPTIMIZE | NORMS))
def test_a_public_name_is_explained(name):
    owner = optimize if name in OPTIMIZE else norms
    text = inspect.getdoc(getattr(owner, name))
    assert text.splitlines()[0].endswith(".")
    if inspect.isfunction(getattr(owner, name)):
        assert ">>> " in text
