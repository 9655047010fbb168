"""Made tables whose truth is known."""

from __future__ import annotations

import numpy as np
import pytest

pl = pytest.importorskip("polars")


def plain(n: int = 300, seed: int = 0):
    """Four columns of every kind and classes that depend on them, with noise: nothing is odd."""
    rng = np.random.default_rng(seed)
    x, age = rng.normal(size=n), rng.integers(18, 90, n)
    city = rng.choice(["Bonn", "Köln", "Ulm"], n)
    y = (x + (city == "Ulm") + rng.normal(size=n) > 0).astype(int)
    frame = pl.DataFrame({"x": x, "age": age, "city": city, "weight": rng.gamma(4.0, 10.0, n)})
    return frame, y


def amounts(n: int = 300, seed: int = 0):
    """The same with numbers to be predicted."""
    frame, _ = plain(n, seed)
    noise = np.random.default_rng(seed + 1).normal(size=n)
    return frame, (frame["x"] + 0.05 * frame["age"]).to_numpy() + 0.3 * noise


def patients(n: int = 60, visits: int = 5, seed: int = 0):
    """Rows of patients, whose features and diagnosis are their own."""
    rng = np.random.default_rng(seed)
    who = np.repeat(np.arange(n), visits)
    height, ill = rng.normal(170, 10, n), rng.integers(2, size=n)
    pulse = rng.normal(70, 10, n)[who] + rng.normal(0, 3, n * visits)
    names = [f"p{i}" for i in who]
    frame = pl.DataFrame({"patient": names, "height": height[who], "pulse": pulse})
    order = rng.permutation(n * visits)
    return frame[order], ill[who][order]


def walk(n: int = 400, seed: int = 0):
    """A random walk on dates, in no order, with a column of noise."""
    rng = np.random.default_rng(seed)
    days = np.datetime64("2020-01-01") + np.arange(n)
    order = rng.permutation(n)
    frame = pl.DataFrame({"date": days[order], "noise": rng.normal(size=n)})
    return frame, np.cumsum(rng.normal(size=n))[order]
