"""Kernels as text."""

from __future__ import annotations

import re

import pytest

from mercer.cli.errors import CommandError
from mercer.cli.expressions import kernel_from_text
from mercer.cli.options import seconds
from mercer.kernels import (
    DTW,
    RBF,
    Categorical,
    GlobalAlignment,
    Gower,
    Linear,
    Mismatch,
    Polynomial,
    Spectrum,
    Subsequence,
    Substring,
    WeightedDegree,
    Words,
)


def _mixed():
    return 2 * (RBF() + Linear()).on([0, 3]) * Gower().on("category")


def _words():
    return Words((1, 2), sublinear=True).normalized()


@pytest.mark.parametrize(
    ("text", "kernel"),
    [
        ("rbf", RBF()),
        ("RBF(gamma=0.5)", RBF(gamma=0.5)),
        ("0.5*rbf(gamma='scale') + linear", 0.5 * RBF(gamma="scale") + Linear()),
        ("poly(degree=3) * rbf ** 2", Polynomial(degree=3) * RBF() ** 2),
        ("rbf ** (1 + 2 ** 1)", RBF() ** 3),
        (
            "rbf(gamma=0.5).on(age,hours) + categorical.on('marital status')",
            RBF(gamma=0.5).on(["age", "hours"]) + Categorical().on("marital status"),
        ),
        ("2 * (rbf + linear).on(0, 3) * gower.on(category)", _mixed()),
        ("rbf(0.5)", RBF(0.5)),
        (
            "rbf.on(age,hours) + words.on(remarks)",
            RBF().on(["age", "hours"]) + Words().on("remarks"),
        ),
        ("words((1, 2), sublinear=True).normalized().on(a)", _words().on("a")),
        ("spectrum(3).on(seq, fill='')", Spectrum(3).on("seq", fill="")),
        ("mismatch(4, 1).on(seq)", Mismatch(4, 1).on("seq")),
        ("substring(0.5).normalized().on(seq)", Substring(0.5).normalized().on("seq")),
        ("weighted_degree(6).on(seq)", WeightedDegree(6).on("seq")),
        ("subsequence(3, 0.5).on(seq)", Subsequence(3, 0.5).on("seq")),
        ("global_alignment(0.1, band=5).on(x)", GlobalAlignment(0.1, band=5).on("x")),
        ("dtw(band=0.1).on(x) + rbf.on(y)", DTW(band=0.1).on("x") + RBF().on("y")),
        ("rbf" + " + rbf" * 60, sum((RBF() for _ in range(60)), RBF())),
    ],
)
def test_an_expression_is_its_kernel(text, kernel):
    assert kernel_from_text(text) == kernel


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("rfb", "did you mean 'rbf'"),
        ("__import__('os').system('true')", "cannot read"),
        ("rbf(gamma=open('x'))", "is not a value"),
        ("rbf.__class__", "cannot read"),
        ("lambda: 1", "cannot read"),
        ("2 + 3", "is a number"),
        ("rbf +", "is not an expression"),
        ("rbf(sigma=1)", "sigma"),
        ("rbf(0.5, None, 3)", "rbf takes 1 parameter without a name at most"),
        ("rbf(0.5, gamma=1)", "'gamma' is given twice"),
        ("words(1)", "ngram"),
        ("spectrum(3)", "as in spectrum(3).on(remarks)"),
        ("precomputed", "there is no"),
        ("rbf.on()", "cannot read"),
        ("rbf.on", "cannot read"),
        ("rbf.on(age, fill=open('x'))", "is not a value"),
        ("rbf.on(age.x)", "is not a column"),
        ("rbf.on(open('x'))", "is not a column"),
        ("rbf.on(*age)", "is not a column"),
        ("rbf.on(1.5)", "is not a column"),
        ("2.0.on(age)", "only a kernel can be on columns"),
        ("rbf.normalized", "cannot read"),
        ("rbf.normalized(2)", "cannot read"),
        ("rbf.fit()", "cannot read"),
        ("3 .normalized()", "only a kernel can be normalised"),
        ("rbf.on(age, fill=age)", "is not a value"),
        ("rbf.on(age, file=3)", "cannot read"),
        ("9**9**9*rbf", "exponents up to 1,000"),
        ("rbf**9999", "exponents up to 1,000"),
        ("rbf**(9**9**9)", "exponents up to 1,000"),
        ("2.5**999*rbf", "too large"),
        ("10**900*rbf", "numbers up to 1e+100"),
        ("1e999*rbf", "numbers up to 1e+100"),
        ("rbf(gamma=1e999)", "numbers up to 1e+100"),
        ("rbf(gamma=-1)", "gamma"),
        ("rbf(gamma={1: 2})", "gamma"),
        ("rbf(gamma=1, gamma=2)", "'gamma' is given twice"),
        ("rbf(**{'gamma': 1})", "parameter of rbf"),
        ("rbf" + "+rbf" * 120, "at most 200 are read"),
        ("rbf" + "+rbf" * 10**5, "at most 1,000 are read"),
        ("(" * 450 + "rbf" + ")" * 450, "is not an expression"),
        ("-" * 900 + "rbf", "at most 200 are read"),
        ("rbf\x00", "is not an expression"),
        ("\udc80", "is not an expression"),
        ("", "is not an expression"),
    ],
)
def test_nothing_else_is_read(text, message):
    with pytest.raises(CommandError, match=re.escape(message)) as caught:
        kernel_from_text(text)
    assert len(str(caught.value)) < 400


@pytest.mark.parametrize(
    ("text", "value"),
    [("60", 60.0), ("60s", 60.0), ("2m", 120.0), ("1.5h", 5400.0), (" 3 min ", 180.0)],
)
def test_times(text, value):
    assert seconds(text) == value


def test_no_time_limit():
    assert seconds("none") is None
    assert seconds(None) is None


@pytest.mark.parametrize("text", ["fast", "-3s", "0", "5 weeks", ""])
def test_what_is_no_time(text):
    with pytest.raises(CommandError, match="--time-limit"):
        seconds(text)


@pytest.mark.parametrize("text", ["words", "0.5*rbf + substring(weights=0.5)"])
def test_kernels_on_texts_are_not_for_tables(text):
    with pytest.raises(CommandError, match=r"compares whole objects.*say in which column they are"):
        kernel_from_text(text)
