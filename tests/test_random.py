"""Seeds and draws: the same for the same integer, and whatever the order of the rows."""

from __future__ import annotations

import numpy as np

from mercer._random import drawn_in_order, generator_of, seed_of


def test_an_integer_gives_the_same_seed_and_the_same_generator():
    assert seed_of(3) == seed_of(3) != seed_of(4)
    assert generator_of(3).normal() == generator_of(3).normal()
    given = np.random.default_rng(0)
    assert generator_of(given) is given


def test_rows_are_drawn_in_proportion_to_their_chance():
    rng = np.random.default_rng(0)
    chance, order = np.array([0.0, 3.0, 1.0]), np.array([2, 0, 1])
    drawn = drawn_in_order(chance, order, rng.random(20_000))
    counts = np.bincount(drawn, minlength=3)
    assert counts[0] == 0
    assert abs(counts[1] / 20_000 - 0.75) < 5 * np.sqrt(0.75 * 0.25 / 20_000)


def test_the_order_of_the_rows_changes_no_draw():
    rng = np.random.default_rng(0)
    chance, u, moved = rng.random(50), rng.random(30), rng.permutation(50)
    one = drawn_in_order(chance, np.argsort(chance), u)
    other = drawn_in_order(chance[moved], np.argsort(chance[moved]), u)
    np.testing.assert_array_equal(chance[one], chance[moved][other])
