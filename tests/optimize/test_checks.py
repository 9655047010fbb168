"""Convexity is refuted by a witness, Slater's condition is shown by a point."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mercer.optimize import Problem, affine, check_convex, check_slater
from tests.compare import refuses

CONVEX = {
    "square": np.square,
    "absolute": np.abs,
    "exponential": np.exp,
    "straight": lambda x: 3.0 * x - 1.0,
    "constant": lambda x: 2.0,
    "barrier": lambda x: -np.log(x),  # outside its domain for x ≤ 0
    "huge": lambda x: 1e150 * x**2,
}
NOT_CONVEX = {
    "cosine": np.cos,
    "root": lambda x: np.sqrt(np.abs(x)),
    "cube": lambda x: x**3,
    "dent": lambda x: x**2 - 0.05 * np.exp(-1e3 * (x - 1.0) ** 2),
    "domain with a hole": lambda x: np.where(np.abs(x) < 0.5, np.nan, 0.0),
}


# ---------------------------------------------------------------- convexity
@pytest.mark.parametrize("f", CONVEX.values(), ids=CONVEX.keys())
def test_convex_functions_pass(f):
    report = check_convex(f)
    assert report.ok
    assert report.witness is None


@pytest.mark.parametrize("f", NOT_CONVEX.values(), ids=NOT_CONVEX.keys())
def test_other_functions_are_refuted_by_a_witness(f):
    report = check_convex(f, n_chords=3000)
    assert not report
    x, y, t = report.witness
    chord = t * f(x) + (1 - t) * f(y)
    middle = f(t * x + (1 - t) * y)
    assert np.isnan(middle).any() or (middle > chord).all()
    assert "not convex" in str(report)
    assert "not convex" in report._repr_html_()


@given(seed=st.integers(0, 10_000))
def test_quadratics_are_convex_just_if_no_eigenvalue_is_negative(seed):
    rng = np.random.default_rng(seed)
    root = rng.standard_normal((3, 3))
    Q = root @ root.T
    least = np.linalg.eigvalsh(Q)[0]
    assert check_convex(lambda x: x @ Q @ x, 3, n_chords=90).ok
    shifted = Q - (least + 2.0) * np.eye(3)
    assert not check_convex(lambda x: x @ shifted @ x, 3, n_chords=300).ok


def test_given_points_are_used():
    # convex where x > 0, not elsewhere
    points = np.linspace(0.1, 3.0, 20)[:, None]
    assert check_convex(lambda x: x[0] ** 3, points=points).ok
    assert not check_convex(lambda x: x[0] ** 3, points=-points).ok


def test_runs_repeat_themselves():
    a, b = (check_convex(np.cos, random_state=3) for _ in range(2))
    assert a.witness[2] == b.witness[2]


# ---------------------------------------------------------------- Slater
def problem(*, inequalities=(), equalities=()):
    return Problem(
        lambda x: x.sum(), np.ones_like, inequalities=inequalities, equalities=equalities
    )


def ball(center, radius):
    center = np.asarray(center, dtype=float)
    return (lambda x: (x - center) @ (x - center) - radius**2, lambda x: 2 * (x - center))


def assert_strictly_feasible(given_problem, report):
    assert report.ok
    for constraint in given_problem.inequalities:
        values = constraint.value(report.point)
        assert (values <= 1e-9).all() if constraint.affine else (values < 0).all()
    assert np.abs(given_problem.h(report.point)).max(initial=0.0) < 1e-8


HOLDS = {
    "no constraint": problem(),
    "disc": problem(inequalities=[ball([0, 0], 1.0)]),
    "lens": problem(inequalities=[ball([0, 0], 1.0), ball([1.9, 0], 1.0)]),
    "disc and line": problem(inequalities=[ball([0, 0], 1.0)], equalities=[affine([1, 1], 0.5)]),
    "disc and half-plane": problem(inequalities=[ball([0, 0], 1.0), affine([-1, 0], -0.9)]),
    "affine that only touch": problem(inequalities=[affine([[1, 1], [-1, -1]], [1.0, -1.0])]),
    "disc and affine that only touch": problem(
        inequalities=[ball([0, 0], 1.0), affine([[1, 1], [-1, -1]], [1.0, -1.0])]
    ),
    "far away": problem(inequalities=[ball([300, -200], 0.1)]),
    "without end": problem(
        inequalities=[(lambda x: np.exp(x[0]) - 1, lambda x: [np.exp(x[0]), 0])]
    ),
}
FAILS = {
    "a point": problem(inequalities=[ball([0, 0], 0.0)]),
    "discs that touch": problem(inequalities=[ball([0, 0], 1.0), ball([2, 0], 1.0)]),
    "discs apart": problem(inequalities=[ball([0, 0], 1.0), ball([3, 0], 1.0)]),
    "disc and tangent": problem(inequalities=[ball([0, 0], 1.0)], equalities=[affine([1, 0], 1.0)]),
    "affine contradiction": problem(inequalities=[affine([[1, 0], [-1, 0]], [0.0, -1.0])]),
    "lines that do not meet": problem(equalities=[affine([[1, 0], [1, 0]], [0.0, 1.0])]),
}


@pytest.mark.parametrize("given_problem", HOLDS.values(), ids=HOLDS.keys())
def test_a_strictly_feasible_point_is_found(given_problem):
    assert_strictly_feasible(given_problem, check_slater(given_problem, [2.0, 3.0]))


@pytest.mark.parametrize("given_problem", FAILS.values(), ids=FAILS.keys())
def test_where_there_is_none_none_is_found(given_problem):
    report = check_slater(given_problem, [2.0, 3.0])
    assert not report
    assert report.point is None
    assert "NOT FOUND" in str(report)


def test_the_margin_is_the_room_that_is_left():
    report = check_slater(problem(inequalities=[ball([0, 0], 1.0)]), [0.5, 0.0])
    assert report.margin == pytest.approx(1.0 - report.point @ report.point)
    apart = check_slater(problem(inequalities=[ball([0, 0], 1.0), ball([3, 0], 1.0)]), [0.0, 0.0])
    # the best point is (3/2, 0), where both are 9/4 − 1
    assert apart.margin == pytest.approx(-1.25, abs=1e-3)


BAD = {
    "curved equality": (
        lambda: check_slater(problem(equalities=[ball([0, 0], 1.0)]), [1.0, 1.0]),
        ValueError,
        "equalities must be affine",
    ),
    "f": (lambda: check_convex(3.0), TypeError, "f must be a function"),
    "dimension": (lambda: check_convex(np.square, 0), ValueError, "dimension"),
    "points": (lambda: check_convex(np.square, points=[[1.0]]), ValueError, "two or more"),
}


@pytest.mark.parametrize(("call", "error", "match"), BAD.values(), ids=BAD.keys())
def test_bad_input_is_named(call, error, match):
    refuses(call, error, match)
