"""Spectral embedding and clustering: scikit-learn's answer, planted clusters, new points."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn import cluster, manifold
from sklearn.datasets import make_blobs, make_circles, make_moons, make_swiss_roll
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import adjusted_rand_score
from sklearn.neighbors import KNeighborsTransformer, kneighbors_graph

from mercer import SpectralClustering, SpectralEmbedding
from mercer.kernels import RBF, FromFunction
from mercer.spectral._laplacian import is_thin, laplacian_eigenpairs
from tests.cases import WORDS, shared_letters, sparse_table, table
from tests.compare import refuses
from tests.spectral.test_mds import assert_same_up_to_sign

ROLL = make_swiss_roll(400, noise=0.05, random_state=0)[0]
X, NEW = ROLL[:300], ROLL[300:]


def laplacian(W):
    W = W - np.diag(np.diag(W))
    root = np.sqrt(W.sum(axis=1))
    return np.eye(len(W)) - W / np.outer(root, root)


def torus(m):
    """Return the grid of m × m points with its edges glued: eigenvalues occur four times."""
    step = sp.csr_array((np.ones(m), (np.arange(m), (np.arange(m) + 1) % m)), shape=(m, m))
    circle, one = step + step.T, sp.eye_array(m)
    waves = np.cos(2 * np.pi * np.arange(m) / m)
    values = np.sort(1.0 - ((waves[:, None] + waves) / 2).ravel())
    return sp.csr_array(sp.kron(circle, one) + sp.kron(one, circle)), values


# ---------------------------------------------------------------- embedding = scikit-learn
def test_of_a_graph_it_equals_scikit_learn():
    model = SpectralEmbedding(3, n_neighbors=9).fit(X)
    reference = manifold.SpectralEmbedding(3, affinity="nearest_neighbors", n_neighbors=9).fit(X)
    assert_same_up_to_sign(model.embedding_, reference.embedding_, atol=1e-9)


def test_of_a_kernel_it_equals_scikit_learn():
    model = SpectralEmbedding(3, affinity=RBF(gamma=0.02)).fit(X)
    reference = manifold.SpectralEmbedding(3, affinity="rbf", gamma=0.02).fit(X)
    assert_same_up_to_sign(model.embedding_, reference.embedding_, atol=1e-9)


def test_a_given_matrix_serves_dense_or_sparse():
    wanted = SpectralEmbedding(2, affinity=RBF(gamma=0.02)).fit(X).embedding_
    W = RBF(gamma=0.02)(X)
    for matrix in (W, sp.csr_array(W)):
        model = SpectralEmbedding(2, affinity="precomputed").fit(matrix)
        assert_same_up_to_sign(model.embedding_, wanted, atol=1e-9)
        np.testing.assert_allclose(model.transform(matrix), model.embedding_, atol=1e-9)


def test_eigenvalues_are_those_of_the_laplacian():
    model = SpectralEmbedding(4, affinity=RBF(gamma=0.02)).fit(X)
    wanted = np.linalg.eigvalsh(laplacian(RBF(gamma=0.02)(X)))
    np.testing.assert_allclose(model.eigenvalues_, wanted[1:5], atol=1e-12)
    graph = kneighbors_graph(X, 9, include_self=False).toarray()
    model = SpectralEmbedding(4, n_neighbors=10).fit(X)
    wanted = np.linalg.eigvalsh(laplacian((graph + graph.T) / 2))
    np.testing.assert_allclose(model.eigenvalues_, wanted[1:5], atol=1e-12)


def test_a_large_kernel_matrix_takes_products():
    rows = table(700, 2)
    model = SpectralEmbedding(2, affinity=RBF(gamma=2.0)).fit(rows)
    wanted = np.linalg.eigvalsh(laplacian(RBF(gamma=2.0)(rows)))
    assert model.certificate_.ok
    np.testing.assert_allclose(model.eigenvalues_, wanted[1:3], atol=1e-9)


# ---------------------------------------------------------------- Laplacians
@pytest.mark.parametrize("thin", [0.0, np.inf], ids=["factors", "products"])
def test_eigenvalues_that_occur_several_times_are_all_found(thin):
    W, wanted = torus(30)
    solution = laplacian_eigenpairs(W, 9, thin=thin)
    np.testing.assert_allclose(solution.value.values, wanted[:9], atol=1e-11)
    np.testing.assert_allclose(solution.value.degrees, 4.0)
    assert solution.certificate.ok


def test_parts_are_solved_one_by_one():
    (A, of_a), (B, of_b) = torus(9), torus(6)
    W = sp.csr_array(sp.block_diag([A, B, A]))
    order = np.random.default_rng(0).permutation(W.shape[0])
    solution = laplacian_eigenpairs(sp.csr_array(W[order][:, order]), 12)
    wanted = np.sort(np.concatenate([of_a, of_b, of_a]))[:12]
    np.testing.assert_allclose(solution.value.values, wanted, atol=1e-12)
    assert solution.certificate.ok


def test_the_shape_of_a_graph_decides_the_way():
    line = sp.csr_array(sp.diags_array([np.ones(899), np.ones(899)], offsets=[-1, 1]))
    everywhere = sp.csr_array(kneighbors_graph(table(900, 10), 8))
    assert is_thin(line)
    assert not is_thin(everywhere + everywhere.T)


# ---------------------------------------------------------------- new points
AFFINITIES = {"graph": "nearest_neighbors", "kernel": RBF(gamma=0.02)}


@pytest.mark.parametrize("affinity", AFFINITIES.values(), ids=AFFINITIES.keys())
def test_training_points_are_new_points_too(affinity):
    model = SpectralEmbedding(2, affinity=affinity)
    Z = model.fit_transform(X)
    np.testing.assert_allclose(model.transform(X), Z, atol=1e-10)


@pytest.mark.parametrize("affinity", AFFINITIES.values(), ids=AFFINITIES.keys())
def test_new_points_lie_near_their_neighbors(affinity):
    model = SpectralEmbedding(2, affinity=affinity).fit(X)
    nearest = ((NEW[:, None] - X) ** 2).sum(axis=2).argmin(axis=1)
    Z, own = model.transform(NEW), model.embedding_[nearest]
    assert all(np.corrcoef(Z[:, c], own[:, c])[0, 1] > 0.97 for c in range(2))


def test_a_point_far_from_all_goes_with_the_nearest():
    rows, y = make_blobs([60, 60], centers=[[-5.0, 0.0], [5.0, 0.0]], random_state=0)
    model = SpectralClustering(2, affinity=RBF(gamma=0.5), random_state=0).fit(rows)
    far = model.predict([[-25.0, 0.0], [25.0, 0.0]])
    assert far[0] == model.labels_[y == 0][0] != far[1]


def test_sparse_rows_and_words():
    rows = sparse_table(60, 6)
    for affinity in ("nearest_neighbors", "rbf"):
        model = SpectralEmbedding(2, affinity=affinity, n_neighbors=20)
        got = model.fit(rows).transform(rows[:7])
        wanted = model.fit(rows.toarray()).transform(rows[:7].toarray())
        np.testing.assert_allclose(got, wanted, atol=1e-9)
    kernel = FromFunction(shared_letters, definiteness="psd")
    model = SpectralClustering(2, affinity=kernel, random_state=0).fit(WORDS)
    assert model.predict(WORDS).tolist() == model.labels_.tolist()


# ---------------------------------------------------------------- clusters
@pytest.mark.parametrize("make", [make_moons, make_circles])
def test_clusters_that_are_not_round(make):
    options = {"factor": 0.4} if make is make_circles else {}
    rows, y = make(300, noise=0.04, random_state=0, **options)
    model = SpectralClustering(2, random_state=0).fit(rows[:250])
    assert adjusted_rand_score(y[:250], model.labels_) == 1.0
    assert adjusted_rand_score(y[250:], model.predict(rows[250:])) == 1.0
    np.testing.assert_array_equal(model.predict(rows[:250]), model.labels_)


def test_the_eigengap_tells_the_number_of_clusters():
    rows, y = make_blobs(150, centers=[[0, 0], [6, 0], [0, 6]], random_state=0)
    gaps = []
    for k in range(2, 7):
        model = SpectralClustering(k, affinity=RBF(gamma=0.5), random_state=0).fit(rows)
        gaps.append(model.eigengap_)
        if k == 3:
            assert adjusted_rand_score(y, model.labels_) == 1.0
            assert model.eigengap_ == model.eigenvalues_[3] - model.eigenvalues_[2]
    assert np.argmax(gaps) == 1


@pytest.mark.filterwarnings("ignore:Graph is not fully connected")
def test_clusters_are_those_of_scikit_learn():
    rows, _ = make_blobs(200, centers=4, cluster_std=1.5, random_state=3)
    model = SpectralClustering(4, affinity=RBF(gamma=0.3), random_state=0).fit(rows)
    reference = cluster.SpectralClustering(4, affinity="rbf", gamma=0.3, random_state=0).fit(rows)
    assert adjusted_rand_score(reference.labels_, model.labels_) == 1.0
    graph = SpectralClustering(4, random_state=0).fit(rows)
    reference = cluster.SpectralClustering(4, affinity="nearest_neighbors", random_state=0)
    reference.fit(rows)
    assert adjusted_rand_score(reference.labels_, graph.labels_) > 0.95


def test_the_proof_covers_eigenvectors_and_labels():
    model = SpectralClustering(3, random_state=0).fit(X)
    certificate = model.certificate_
    assert certificate.ok
    assert certificate.would_move == 0
    assert certificate.residual < 1e-10
    assert "no global guarantee" in certificate.about
    centers = np.array([model.embedding_[model.labels_ == c].mean(axis=0) for c in range(3)])
    np.testing.assert_allclose(model.cluster_centers_, centers, atol=1e-12)
    gaps = model.embedding_ - centers[model.labels_]
    assert model.inertia_ == pytest.approx(float((gaps**2).sum()), rel=1e-6)


# ---------------------------------------------------------------- degenerate and bad input
def test_parts_are_said():
    rows = np.vstack([X[:60], X[60:120] + 1000.0])
    with pytest.warns(ConvergenceWarning, match="falls into parts"):
        model = SpectralEmbedding(1, affinity=RBF(gamma=0.05)).fit(rows)
    assert model.n_graph_components_ == 2
    z = model.embedding_[:, 0]
    np.testing.assert_allclose(z[:60], z[0], atol=1e-8)
    np.testing.assert_allclose(z[60:], z[-1], atol=1e-8)


def test_a_point_without_affinity_is_a_part():
    rows = np.vstack([X[:50], [[1e6, 0.0, 0.0]]])
    labels = SpectralClustering(2, affinity=RBF(gamma=0.05), random_state=0).fit(rows).labels_
    assert len(set(labels[:50])) == 1
    assert labels[50] != labels[0]


def test_bad_input_is_refused():
    refuses(lambda: SpectralEmbedding(n_neighbors=10).fit(X[:9]), ValueError, "n_neighbors")
    refuses(lambda: SpectralEmbedding(affinity="linear").fit(X), ValueError, "values ≥ 0")
    refuses(lambda: SpectralEmbedding(affinity="cubic").fit(X), ValueError, "'cubic'")
    refuses(lambda: SpectralClustering(9, affinity="rbf").fit(X[:5]), ValueError, "n_samples = 5")
    fit = SpectralEmbedding(affinity="precomputed").fit
    refuses(lambda: fit(X), ValueError, "square")
    lopsided = sp.csr_array(np.array([[0.0, 1.0], [0.0, 0.0]]))
    refuses(lambda: fit(lopsided), ValueError, "symmetric")
    refuses(lambda: fit(-(lopsided + lopsided.T)), ValueError, "≥ 0")


def test_given_distances_to_neighbours_are_those_of_the_rows():
    """A sparse table of more neighbours than are wanted, as scikit-learn's pipelines make it."""
    rows = X[:90]
    far = KNeighborsTransformer(n_neighbors=20, mode="distance").fit(rows)
    name = "precomputed_nearest_neighbors"
    given = SpectralEmbedding(2, affinity=name, n_neighbors=9).fit(far.transform(rows))
    own = SpectralEmbedding(2, n_neighbors=9).fit(rows)
    np.testing.assert_allclose(np.abs(given.embedding_), np.abs(own.embedding_), atol=1e-8)
    new = rows[:7] + 0.1
    np.testing.assert_allclose(
        np.abs(given.transform(far.transform(new))), np.abs(own.transform(new)), atol=1e-8
    )
    with pytest.raises(ValueError, match="distances to at least 30 points"):
        SpectralEmbedding(2, affinity=name, n_neighbors=30).fit(far.transform(rows))
    with pytest.raises(ValueError, match="square sparse matrix"):
        SpectralEmbedding(2, affinity=name).fit(rows)


def test_a_sparse_matrix_that_is_not_symmetric_is_named_by_its_place():
    W = sp.lil_array(np.ones((6, 6)))
    W[4, 1] = 3.0
    with pytest.raises(ValueError, match=r"W\[1, 4\] = 1 and W\[4, 1\] = 3, which differ most"):
        SpectralEmbedding(2, affinity="precomputed").fit(W.tocsr())
