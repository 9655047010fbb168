"""ICA: sources come back up to order, sign and scale; the point is stationary, and says so."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.decomposition import FastICA
from sklearn.exceptions import ConvergenceWarning

from mercer import ICA
from mercer.spectral import _contrast_loops as loops
from mercer.spectral import _separation as separation
from mercer.spectral._covariance import whiten
from mercer.spectral._rotations import RotationPoint, descend, random_rotation, turn
from mercer.spectral.ica import multi_information
from tests.cases import SAMPLES, table
from tests.compare import refuses
from tests.naive import amari_index

CONTRASTS = ["logcosh", "exp", "kurtosis"]
PEERS = {"logcosh": "logcosh", "exp": "exp", "kurtosis": "cube"}
every_contrast = pytest.mark.parametrize("contrast", CONTRASTS)
every_algorithm = pytest.mark.parametrize("algorithm", ["symmetric", "deflation"])


def uniform(rng, n, k):
    return rng.uniform(-1, 1, size=(n, k))


def laplace(rng, n, k):
    return rng.laplace(size=(n, k))


def both(rng, n, k):
    return np.where(np.arange(k) % 2, laplace(rng, n, k), uniform(rng, n, k))


SOURCES = {"uniform": uniform, "Laplacian": laplace, "sub- and super-Gaussian": both}


def mixed(sources, seed=0, n=4000, k=4):
    rng = np.random.default_rng(seed)
    A = rng.normal(size=(k, k))
    return sources(rng, n, k) @ A.T, A


# ---------------------------------------------------------------- sources
@every_contrast
@every_algorithm
@pytest.mark.parametrize("sources", SOURCES.values(), ids=SOURCES.keys())
def test_mixed_sources_are_recovered(sources, algorithm, contrast):
    X, A = mixed(sources)
    ica = ICA(contrast=contrast, algorithm=algorithm, random_state=0).fit(X)
    assert amari_index(ica.components_, A) < 0.05
    assert ica.certificate_.ok
    assert ica.certificate_.gaussian_like == 0


@every_contrast
def test_the_optimum_is_that_of_fast_ica(contrast):
    X, _ = mixed(both, n=2000)
    ica = ICA(contrast=contrast, tol=1e-9, random_state=0).fit(X)
    peer = FastICA(
        fun=PEERS[contrast], whiten="unit-variance", tol=1e-12, max_iter=2000, random_state=0
    ).fit(X)
    assert amari_index(ica.components_, peer.mixing_) < 1e-5


@every_algorithm
def test_scores_are_white_and_unmixing_undoes_mixing(algorithm):
    X, _ = mixed(laplace, n=500)
    ica = ICA(algorithm=algorithm, random_state=0)
    S = ica.fit_transform(X)
    np.testing.assert_allclose(S.T @ S / len(S), np.eye(4), atol=1e-10)
    np.testing.assert_allclose(S.mean(axis=0), 0.0, atol=1e-12)
    np.testing.assert_allclose(ica.components_ @ ica.mixing_, np.eye(4), atol=1e-10)
    np.testing.assert_allclose(ica.inverse_transform(S), X, atol=1e-10)


def test_fewer_components_unmix_the_leading_principal_components():
    X, _ = mixed(laplace, n=500)
    ica = ICA(2, random_state=0).fit(X)
    centered = X - X.mean(axis=0)
    _, _, axes = np.linalg.svd(centered, full_matrices=False)
    back = ica.inverse_transform(ica.transform(X)) - ica.mean_
    np.testing.assert_allclose(back, centered @ axes[:2].T @ axes[:2], atol=1e-9)


def test_the_answer_does_not_depend_on_the_axes_of_the_table():
    X, _ = mixed(both)
    turned = X @ np.random.default_rng(1).normal(size=(4, 4)).T
    first = ICA(tol=1e-9, random_state=0).fit(X)
    second = ICA(tol=1e-9, random_state=1).fit(turned)
    np.testing.assert_allclose(
        np.sort(first.contrast_), np.sort(second.contrast_), atol=1e-10
    )  # of an affine image the same sources


def test_sources_are_in_the_order_of_their_contrast():
    X, _ = mixed(both)
    symmetric = ICA(random_state=0).fit(X)
    assert (np.diff(symmetric.contrast_) <= 0).all()
    G = separation.CONTRASTS["logcosh"].G
    wanted = np.abs(
        G(symmetric.transform(X)).mean(axis=0) - separation.gaussian_figures("logcosh")[0]
    )
    np.testing.assert_allclose(symmetric.contrast_, wanted, rtol=1e-9)


def test_the_best_of_several_starts_is_kept():
    X, _ = mixed(both, n=300)
    one = ICA(random_state=0).fit(X)  # the first of the five
    many = ICA(n_init=5, random_state=0).fit(X)
    assert many.contrast_.sum() >= one.contrast_.sum() - 1e-9


# ---------------------------------------------------------------- the proof
@every_contrast
def test_the_certificate_is_the_derivative_by_the_angles(contrast):
    """By finite differences of Σ D E G(y) over rotations of the returned sources."""
    X, _ = mixed(both, n=400, k=3)
    ica = ICA(contrast=contrast, tol=1e-3, random_state=3).fit(X)
    Z = whiten(X, None).signals
    objective = separation.SeparationContrast(Z, contrast)
    W = random_rotation(3, np.random.RandomState(0))
    point = objective.at(W)
    for i, j in ((0, 1), (0, 2), (1, 2)):
        A = np.zeros((3, 3))
        A[i, j], A[j, i] = 1e-5, -1e-5
        change = objective.at(turn(W, A)).value - objective.at(turn(W, -A)).value
        assert change / 2e-5 == pytest.approx(point.slope[i, j], abs=1e-8)
    g = {"logcosh": np.tanh, "exp": lambda y: y * np.exp(-y * y / 2), "kurtosis": lambda y: y**3}
    S = ica.transform(X)
    M = g[contrast](S).T @ S / len(S)
    D = np.sign(np.diag(M) - _mean_slope(contrast, S))
    wanted = np.abs(D[:, None] * M - (D[:, None] * M).T).max()
    assert ica.certificate_.stationarity == pytest.approx(wanted, abs=1e-12)


def _mean_slope(contrast, S):
    slopes = {
        "logcosh": 1 - np.tanh(S) ** 2,
        "exp": (1 - S**2) * np.exp(-(S**2) / 2),
        "kurtosis": 3 * S**2,
    }
    return slopes[contrast].mean(axis=0)


def test_each_source_of_a_deflation_is_stationary_against_those_after_it():
    X, _ = mixed(both, n=400)
    ica = ICA(algorithm="deflation", random_state=0).fit(X)
    S = ica.transform(X)
    M = np.tanh(S).T @ S / len(S)
    assert np.abs(np.triu(M, 1)).max() <= 1e-6
    assert np.abs(np.tril(M, -1)).max() > 1e-4  # the others need not be


def test_gaussian_sources_are_admitted():
    X = table(2000, 3) @ table(3, 3, seed=5)
    ica = ICA(random_state=0).fit(X)
    assert ica.certificate_.ok
    assert ica.certificate_.gaussian_like == 3
    assert "cannot be told from Gaussian" in ica.certificate_.about


def test_one_gaussian_source_among_others_is_found():
    rng = np.random.default_rng(0)
    S = np.column_stack([rng.normal(size=5000), rng.laplace(size=(5000, 2))])
    A = rng.normal(size=(3, 3))
    ica = ICA(random_state=0).fit(S @ A.T)
    assert amari_index(ica.components_, A) < 0.05
    assert ica.certificate_.gaussian_like == 1
    assert "Gaussian" not in ica.certificate_.about


def test_no_global_guarantee_is_claimed():
    assert "no global guarantee" in ICA(random_state=0).fit(table(50, 2)).certificate_.about


def test_too_few_steps_are_admitted():
    X, _ = mixed(both, n=500)
    with pytest.warns(ConvergenceWarning, match="ICA: stopped at max_iter"):
        ica = ICA(max_iter=1, random_state=0).fit(X)
    assert not ica.certificate_.ok
    assert ica.status_ == "max_iter"


# ---------------------------------------------------------------- parts
@pytest.mark.parametrize("name", CONTRASTS)
@pytest.mark.parametrize("shape", [(1, 1), (3, 511), (2, 1025)])
def test_the_compiled_pass_is_the_formula(name, shape):
    Y = np.random.default_rng(0).standard_cauchy(size=shape)
    loop = {"logcosh": loops.logcosh, "exp": loops.gauss, "kurtosis": loops.quartic}[name]
    g, value, slope = np.empty(shape), np.zeros(shape[0]), np.zeros(shape[0])
    loop(Y, g, value, slope)
    G = separation.CONTRASTS[name].G(Y).sum(axis=1)
    wanted = {"logcosh": np.tanh(Y), "exp": Y * np.exp(-(Y**2) / 2), "kurtosis": Y**3}[name]
    np.testing.assert_allclose(g, wanted, rtol=1e-13, atol=1e-15)
    np.testing.assert_allclose(value, G, rtol=1e-12)
    np.testing.assert_allclose(slope / shape[1], _mean_slope(name, Y.T), rtol=1e-10, atol=1e-14)
    rough, slopes = separation.CONTRASTS[name].rough(Y)
    np.testing.assert_allclose(rough, wanted, rtol=1e-13, atol=1e-15)
    np.testing.assert_allclose(slopes, slope, rtol=1e-10, atol=1e-12)


def test_the_gaussian_figures_are_those_of_gaussian_numbers():
    sample = np.random.default_rng(0).normal(size=1_000_000)
    for name, (mean, spread) in {n: separation.gaussian_figures(n) for n in CONTRASTS}.items():
        G = separation.CONTRASTS[name].G(sample)
        assert G.mean() == pytest.approx(mean, abs=6 * G.std() / 1000)
        rest = G - np.polyval(np.polyfit(sample**2, G, 1), sample**2)
        assert rest.std() == pytest.approx(spread, rel=0.02)


@given(seed=st.integers(0, 1000), k=st.integers(2, 6))
def test_steps_stay_orthogonal(seed, k):
    rng = np.random.default_rng(seed)
    A = rng.normal(size=(k, k))
    W = turn(random_rotation(k, np.random.RandomState(seed)), A - A.T)
    np.testing.assert_allclose(W @ W.T, np.eye(k), atol=1e-12)


class Procrustes:
    """min −tr(BᵀW): the polar factor of B is the least, and known."""

    def __init__(self, B):
        self.B = B

    def at(self, W):
        M = -self.B @ W.T
        return RotationPoint(float(np.trace(M)), M - M.T, None)

    def settle(self, point):
        return point


@given(seed=st.integers(0, 1000), k=st.integers(2, 5))
def test_the_descent_finds_a_least_value_that_is_known(seed, k):
    rng = np.random.RandomState(seed)
    B = random_rotation(k, rng) @ np.diag(rng.uniform(1, 3, k)) @ random_rotation(k, rng)
    U, sizes, Vt = np.linalg.svd(B)
    polar = U @ Vt
    start = polar @ turn(np.eye(k), 0.3 * (B - B.T) / np.abs(B).max())  # the same component of O(k)
    end = descend(Procrustes(B), start, tol=1e-9, max_iter=300)
    assert end.status.ok
    assert end.point.value == pytest.approx(-sizes.sum(), rel=1e-9)
    np.testing.assert_allclose(end.W, polar, atol=1e-6)


@pytest.mark.parametrize("rho", [0.0, 0.5, 0.9])
def test_mutual_information_of_gaussian_signals_is_its_formula(rho):
    rng = np.random.default_rng(0)
    S = rng.multivariate_normal([0, 0], [[1, rho], [rho, 1]], size=3000)
    assert multi_information(S) == pytest.approx(-0.5 * np.log(1 - rho**2), abs=0.05)


def test_sources_share_less_information_than_the_mixture():
    X, _ = mixed(uniform, n=1500, k=3)
    ica = ICA(random_state=0).fit(X)
    assert abs(ica.mutual_information(X)) < 0.1
    assert multi_information(X) > 0.3
    refuses(lambda: ica.mutual_information(X[:3], n_neighbors=3), ValueError, "n_neighbors must")
    assert ICA(1, random_state=0).fit(X).mutual_information(X) == 0.0


# ---------------------------------------------------------------- degenerate tables
@every_algorithm
@pytest.mark.parametrize("rows", SAMPLES.values(), ids=SAMPLES.keys())
def test_every_kind_of_rows(rows, algorithm):
    if not isinstance(rows, np.ndarray):
        refuses(lambda: ICA().fit(rows), TypeError, "[Ss]parse")
        return
    ica = ICA(algorithm=algorithm, max_iter=1000, random_state=0).fit(rows)
    centered = rows - rows.mean(axis=0, dtype=np.float64)
    rank = np.linalg.matrix_rank(centered, tol=1e-5)
    assert ica.components_.shape == (rank, rows.shape[1])
    assert ica.certificate_.ok
    tolerance = 1e-10 if rows.dtype == np.float64 else 1e-4
    np.testing.assert_allclose(ica.inverse_transform(ica.transform(rows)), rows, atol=tolerance)


@pytest.mark.parametrize("scale", [1e-150, 1e-20, 1e20, 1e149])
def test_tables_of_any_size(scale):
    X, A = mixed(laplace, n=2000, k=3)
    ica = ICA(random_state=0).fit(scale * X)
    assert ica.certificate_.ok
    assert amari_index(ica.components_ * scale, A) < 0.05


def test_columns_of_very_different_size_and_a_far_mean():
    X, A = mixed(laplace, n=2000, k=3)
    units = np.array([1e-5, 1.0, 1e5])
    ica = ICA(random_state=0).fit((X + 1e4) * units)
    assert ica.certificate_.ok
    assert amari_index(ica.components_ * units, A) < 0.05


def test_single_precision_rows_stay_single():
    X, _ = mixed(laplace, n=500)
    ica = ICA(random_state=0).fit(X.astype(np.float32))
    assert ica.transform(X.astype(np.float32)).dtype == np.float32
    assert ica.inverse_transform(X.astype(np.float32)).dtype == np.float32
    assert ica.components_.dtype == np.float64


def test_output_columns_have_names():
    frame = pd.DataFrame(mixed(laplace, n=200)[0], columns=list("abcd"))
    scores = ICA(2, random_state=0).set_output(transform="pandas").fit_transform(frame)
    assert list(scores.columns) == ["ica0", "ica1"]


@pytest.mark.parametrize("rough", [False, True])
@pytest.mark.parametrize("contrast", CONTRASTS)
def test_several_threads_add_up_the_same_moments(contrast, rough):
    Z = table(3, 5000)
    signals = separation.turned(np.eye(3), Z)
    alone, together = (
        separation.moments(signals, Z.shape, contrast, rough=rough, covariance=True, workers=w)
        for w in (1, 2)
    )
    for got, wanted in zip(together, alone, strict=True):
        np.testing.assert_allclose(got, wanted, atol=1e-12)


BAD = {
    "no components": ({"n_components": 0}, "'n_components'.*Got 0"),
    "an unknown contrast": ({"contrast": "tanh"}, "'contrast'.*Got 'tanh'"),
    "an unknown algorithm": ({"algorithm": "parallel"}, "'algorithm'.*Got 'parallel'"),
    "no tolerance": ({"tol": 0.0}, "'tol'.*Got 0.0"),
    "no starts": ({"n_init": 0}, "'n_init'.*Got 0"),
}


@pytest.mark.parametrize(("parameters", "match"), BAD.values(), ids=BAD.keys())
def test_bad_parameters_are_named(parameters, match):
    refuses(lambda: ICA(**parameters).fit(table(10, 2)), ValueError, match)


def test_sources_of_the_wrong_number_are_named():
    ica = ICA(2, random_state=0).fit(table(30, 3))
    refuses(lambda: ica.inverse_transform(table(4, 3)), ValueError, "X must have 2 columns.*got 3")


def test_more_components_than_columns_are_the_rank():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert ICA(9, random_state=0).fit(table(30, 3)).components_.shape == (3, 3)


# ---------------------------------------------------------------- contrasts of one's own
def _log_cosh(y):
    t = np.tanh(y)
    return np.logaddexp(y, -y) - np.log(2.0), t, 1.0 - t * t


@pytest.mark.parametrize("algorithm", ["symmetric", "deflation"])
def test_a_function_is_a_contrast(algorithm):
    X = np.random.default_rng(0).uniform(-1, 1, size=(1500, 3)) @ np.array(
        [[1.0, 0.4, 0.1], [0.2, 1.0, 0.3], [0.0, 0.5, 1.0]]
    )
    given = {"algorithm": algorithm, "random_state": 0, "tol": 1e-9}
    own, named = ICA(contrast=_log_cosh, **given).fit(X), ICA(**given).fit(X)
    np.testing.assert_allclose(own.components_, named.components_, atol=1e-6)
    np.testing.assert_allclose(own.contrast_, named.contrast_, atol=1e-9)
    assert own.certificate_.ok


def test_a_function_that_is_no_contrast_is_refused():
    X = np.random.default_rng(0).uniform(size=(50, 2))
    for bad in (
        lambda y: (y**4 / 4, y**2, 3 * y**2),
        lambda y: (y**4 / 4, y**3, 2 * y**2),
    ):
        with pytest.raises(ValueError, match="derivative"):
            ICA(contrast=bad).fit(X)


def test_white_rows_need_no_whitening():
    rng = np.random.default_rng(1)
    S = rng.uniform(-1, 1, size=(2000, 3))
    S = S - S.mean(axis=0)
    white = np.linalg.qr(S)[0] * 2000**0.5 + 5.0
    model = ICA(whiten=False, random_state=0).fit(white)
    assert model.certificate_.ok
    np.testing.assert_allclose(model.components_ @ model.components_.T, np.eye(3), atol=1e-10)
    agreement = np.abs(np.corrcoef(model.transform(white).T, S.T)[:3, 3:])
    assert (agreement.max(axis=1) > 0.99).all()
    np.testing.assert_allclose(model.inverse_transform(model.transform(white)), white, atol=1e-10)


def test_rows_that_are_not_white_are_not_proved():
    X = np.random.default_rng(1).uniform(size=(300, 2)) * [1.0, 5.0]
    with pytest.warns(match="ICA"):
        assert not ICA(whiten=False, random_state=0).fit(X).certificate_.ok
    with pytest.raises(ValueError, match="n_components"):
        ICA(1, whiten=False).fit(X)
