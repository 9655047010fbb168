"""Kernels propose values for their own parameters, so that ``tune`` needs no grid."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from mercer import GMM, SVC, KernelSearchCV, dtw_distance, tune
from mercer.cv_results import Trials
from mercer.kernels import (
    DTW,
    RBF,
    Anova,
    Categorical,
    ChiSquared,
    Fisher,
    GlobalAlignment,
    Gower,
    MeanEmbedding,
    Mismatch,
    Periodic,
    Sobolev,
    Spectrum,
    Subsequence,
    Substring,
    Wavelet,
    WeightedDegree,
    Words,
)
from mercer.kernels import series as series_module
from mercer.kernels.shared import SharedStatistics
from mercer.select.choices import around
from mercer.select.grids import axes, for_machines
from tests.cases import table

N = 24
SIDES = np.arange(N) % 2


def bumps(n: int = N, unequal: bool = True) -> list[np.ndarray]:
    """Return series with a bump somewhere: a narrow one in one class, a wide one in the other."""
    rng = np.random.default_rng(0)
    found = []
    for i in range(n):
        t = np.arange(rng.integers(24, 34) if unequal else 30)
        width, place = (2.0, 4.0)[i % 2], rng.uniform(8, 20)
        bump = np.exp(-(((t - place) / width) ** 2))
        found.append(bump + 0.05 * rng.normal(size=len(t)))
    return found


def strings() -> list[str]:
    """Return strings of two letters, in which one class likes to repeat a letter."""
    rng = np.random.default_rng(1)
    stays = np.where(SIDES, 0.8, 0.3)
    flips = [rng.random(15) > stay for stay in stays]
    return ["".join("ab"[turns % 2] for turns in np.cumsum(row)) for row in flips]


def people() -> pd.DataFrame:
    rng = np.random.default_rng(2)
    says = np.array(["good and quick", "bad, slow, late"])
    remarks = np.where(rng.random(N) < 0.8, says[SIDES], says[1 - SIDES])
    return pd.DataFrame({"age": rng.normal(40, 9, N) + 9 * SIDES, "remarks": remarks})


BAGS = [np.random.default_rng(i).normal(size=(4, 2)) + i % 2 for i in range(N)]
ROWS = np.abs(table(N, 3))

PROPOSING = [
    (DTW(), bumps()),
    (GlobalAlignment().normalized(), bumps()),
    (MeanEmbedding(RBF()), BAGS),
    (Spectrum(), strings()),
    (Mismatch(), strings()),
    (Subsequence(), strings()),
    (WeightedDegree(), strings()),
    (Substring(), strings()),
    (Words(), ["so so good", "good and quick", "bad, bad, bad"] * 8),
    (Words(weighting="counts", analyzer="char"), list(people()["remarks"])),
    (Categorical().on("remarks"), people()),
    (ChiSquared(), ROWS),
    (Periodic(), ROWS),
    (Anova(), ROWS),
    (Wavelet(), ROWS),
    (Sobolev(), ROWS / 4.0),
]


def proposed(kernel, X):
    found = axes(SVC(kernel), X, SIDES[: len(X)], np.random.default_rng(0))
    return {axis.name: axis.values for axis in found if axis.name.startswith("kernel__")}


@pytest.mark.parametrize(("kernel", "X"), PROPOSING, ids=[repr(k) for k, _ in PROPOSING])
def test_every_value_that_is_proposed_makes_a_kernel(kernel, X):
    found = proposed(kernel, X)
    assert found
    for name, values in found.items():
        assert len(set(map(repr, values))) == len(values) > 1
        grams = []
        for value in values:
            machine = SVC(kernel).set_params(**{name: value})
            grams.append(machine.kernel(X))
            assert np.isfinite(grams[-1]).all()
        assert any(not np.allclose(grams[0], K) for K in grams[1:])


@pytest.mark.parametrize(
    ("kernel", "power", "rows"),
    [
        (DTW(), 2, bumps()),
        (GlobalAlignment().normalized(), 2, bumps()),
        (ChiSquared(), 1, ROWS),
        (Anova(), 2, ROWS),
        (Wavelet(), 2, ROWS),
        (MeanEmbedding(RBF()), 2, BAGS),
    ],
    ids=str,
)
def test_widths_follow_the_units_of_the_rows(kernel, power, rows):
    near, far = proposed(kernel, rows), proposed(kernel, [100.0 * row for row in rows])
    name = next(name for name in near if name.endswith("gamma"))
    np.testing.assert_allclose(np.divide(near[name], far[name]), 100.0**power, rtol=0.02)


def test_the_widths_of_dtw_are_around_its_own_distances():
    rows = bumps(20)
    squares = dtw_distance(rows)[np.triu_indices(20, 1)] ** 2
    middle = np.exp(np.mean(np.log(proposed(DTW(), rows)["kernel__gamma"])))
    np.testing.assert_allclose(middle * np.median(squares), 0.5, rtol=0.01)


def test_pieces_are_no_longer_than_most_strings():
    short, long = ["ab", "ba", "abab"], ["abcdefgh" * 4] * 3
    assert proposed(Spectrum(), short)["kernel__length"] == (1, 2)
    assert proposed(WeightedDegree(), short)["kernel__degree"] == (1, 2)
    assert max(proposed(WeightedDegree(), long)["kernel__degree"]) == 16
    assert proposed(Mismatch(), short)["kernel__length"] == (3,)


def test_parts_that_read_the_same_strings_are_left_as_they_are():
    assert not proposed(Spectrum(2) + Spectrum(4), strings())
    assert not proposed(Gower(), people())


def test_a_kernel_of_a_model_proposes_kinds_of_information_until_it_is_bound():
    kernel = Fisher(GMM(1))
    assert proposed(kernel, ROWS) == {"kernel__information": ("diagonal", "full")}
    assert not proposed(kernel.bind(ROWS), ROWS)


# ---------------------------------------------------------------- tune, without a grid
TUNED = {
    "alignments": (GlobalAlignment(), bumps()),
    "warping": (DTW(), bumps()),
    "substrings": (Substring(), strings()),
    "columns": (RBF().on("age") + Words().on("remarks"), people()),
    "bags": (MeanEmbedding(RBF()), BAGS),
}


@pytest.mark.parametrize("name", TUNED)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")  # of DTW
def test_objects_are_tuned_without_a_grid(name):
    kernel, X = TUNED[name]
    search = tune(SVC(kernel), X, SIDES, cv=3)
    assert search.best_score_ > 0.75
    assert search.route_ == "shared Gram matrix"
    assert any(name.startswith("kernel__") for name in search.best_params_)
    assert np.mean(search.predict(X) == SIDES) > 0.75
    assert "best score" in search.report_


def test_alignments_are_normalised_for_machines():
    """Alone they are beyond any machine, and beyond float64 from 400 steps on."""
    normal = GlobalAlignment().normalized()
    search = tune(SVC(GlobalAlignment()), bumps(unequal=False), SIDES, cv=3)
    assert search.best_params_["kernel"].get_params(deep=False).keys() == {"kernel"}
    assert type(search.best_estimator_.kernel) is type(normal)
    assert for_machines(normal) is normal
    assert for_machines(0.5 * GlobalAlignment() + 1.0) == 0.5 * normal + 1.0
    assert for_machines(RBF()) == RBF()


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_warping_is_computed_once_for_all_widths_folds_and_penalties(monkeypatch):
    computed = []

    def counting(*args, band, **kwargs):
        computed.append(band)
        return fill_pairs(*args, band=band, **kwargs)

    fill_pairs = series_module.fill_pairs
    monkeypatch.setattr(series_module, "fill_pairs", counting)
    grid = {"kernel__gamma": [0.01, 0.1, 1.0], "kernel__band": [2, None], "C": [1.0, 10.0]}
    KernelSearchCV(SVC(DTW()), grid, cv=3, refit=False).fit(bumps(), SIDES)
    assert sorted(computed) == [-1, 2]


def test_shared_warping_gives_the_same_values():
    kernel = (0.5 * DTW(0.3, band=4) + DTW(0.1, band=4)).bind(bumps())
    sample = kernel.sample(bumps())
    shared = SharedStatistics(sample, np.float64, [DTW(band=4).shares])
    np.testing.assert_array_equal(shared.gram(kernel), kernel(bumps()))
    assert list(shared._stored) == [DTW(band=4).shares]


def test_shares_have_no_neighbors_beyond_one():
    point = {"C": 1.0, "kernel__decay": 0.5, "kernel__band": 0.4, "kernel__gamma": 2.0}
    scores = {"mean_test_score": [0.9], "std_test_score": [0.1], "split0_test_score": [0.9]}
    neighbors = around(Trials.read({"params": [point], **scores}), 0)
    assert {p["kernel__decay"] for p in neighbors} == {0.5}
    assert {p["kernel__band"] for p in neighbors} == {0.4}
    assert {p["kernel__gamma"] for p in neighbors} == {1.0, 2.0, 4.0}
