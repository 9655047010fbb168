"""The kernel of graphs equals refinement by hand, whatever the nodes are called."""

from __future__ import annotations

from collections import Counter
from types import SimpleNamespace

import numpy as np
import pytest

from mercer import SVC, check_kernel, tune
from mercer.kernels import WeisfeilerLehman
from tests.kernels.everywhere import assert_works_everywhere

TRIANGLE, PATH = [(0, 1), (1, 2), (2, 0)], [(0, 1), (1, 2)]
STAR = [("hub", leaf) for leaf in range(4)]
WATER = ([("O", "h1"), ("O", "h2")], {"O": "oxygen", "h1": "hydrogen", "h2": "hydrogen"})
GRAPHS = [TRIANGLE, PATH, STAR, WATER, [], [(0, 0), (0, 1)], ([], {"alone": 7}), STAR[:1]]


def slow(graph, rounds):
    """Return how often each refined label occurs, labels written out as nested tuples."""
    edges, labels = graph if isinstance(graph, tuple) else (graph, {})
    nodes = dict.fromkeys([*labels, *(node for edge in edges for node in edge)])
    around = {node: set() for node in nodes}
    for u, v in edges:
        around[u].add(v)
        around[v].add(u)
    now = {node: repr(labels.get(node, 0)) for node in nodes}
    counts = Counter((0, label) for label in now.values())
    for r in range(1, rounds + 1):
        now = {u: repr((now[u], sorted(now[v] for v in around[u]))) for u in nodes}
        counts.update((r, label) for label in now.values())
    return counts


def products(X, rounds):
    counts = [slow(graph, rounds) for graph in X]
    return np.array([[sum(a[t] * b[t] for t in a) for b in counts] for a in counts], dtype=float)


@pytest.mark.parametrize("rounds", [0, 1, 2, 5])
def test_it_counts_refined_labels(rounds):
    kernel = WeisfeilerLehman(rounds)
    np.testing.assert_array_equal(kernel(GRAPHS), products(GRAPHS, rounds))
    np.testing.assert_array_equal(kernel(GRAPHS[:3], GRAPHS), products(GRAPHS, rounds)[:3])
    np.testing.assert_array_equal(kernel.diagonal(GRAPHS), np.diag(products(GRAPHS, rounds)))


@pytest.mark.parametrize("seed", range(5))
def test_random_graphs(seed):
    rng = np.random.default_rng(seed)
    X = [
        ([tuple(map(int, rng.integers(0, 7, 2))) for _ in range(9)], dict(enumerate("abcabca")))
        for _ in range(6)
    ]
    kernel = WeisfeilerLehman(3)
    np.testing.assert_array_equal(kernel(X), products(X, 3))
    assert check_kernel(kernel, X).ok
    order = rng.permutation(7)
    named = [
        ([(int(order[v]), int(order[u])) for u, v in edges[::-1]],
         {int(order[node]): label for node, label in labels.items()})
        for edges, labels in X
    ]  # fmt: skip
    np.testing.assert_array_equal(kernel(named, X), kernel(X))


def test_graphs_of_networkx_are_read():
    networkx = pytest.importorskip("networkx")
    graph = networkx.Graph(WATER[0])
    networkx.set_node_attributes(graph, WATER[1], "label")
    _same_as_water(graph)


def test_whatever_has_nodes_and_edges_is_a_graph():
    def nodes(data):
        return [(node, {"label": label}) for node, label in WATER[1].items()]

    _same_as_water(SimpleNamespace(nodes=nodes, edges=WATER[0]))


def _same_as_water(graph):
    kernel = WeisfeilerLehman(2)
    np.testing.assert_array_equal(kernel([graph], GRAPHS), kernel([WATER], GRAPHS))


def test_it_works_everywhere(tmp_path):
    assert_works_everywhere(WeisfeilerLehman(2), GRAPHS, tmp_path)


def test_rings_are_told_from_paths_without_a_grid():
    sizes = np.arange(4, 16)
    rings = [[(i, (i + 1) % n) for i in range(n)] for n in sizes]
    paths = [[(i, i + 1) for i in range(n - 1)] for n in sizes]
    y = np.repeat([0, 1], len(sizes))
    search = tune(SVC(WeisfeilerLehman().normalized()), rings + paths, y, cv=3)
    assert search.best_score_ == 1.0
    assert search.route_ == "shared Gram matrix"


@pytest.mark.parametrize(
    ("X", "message"),
    [
        (["a text"], "row 0 is 'a text', of type str"),
        ([TRIANGLE, 3.5], "row 1 is 3.5, of type float"),
        ([[(0, 1, 2)]], r"row 0 has the edge \(0, 1, 2\)"),
        ([["ab"]], "row 0 has the edge 'ab'"),
        ([([(0, 1)], {0: 0.5})], "row 0 has 0.5"),
    ],
    ids=str,
)
def test_what_is_no_graph_is_refused(X, message):
    with pytest.raises(TypeError, match=f"WeisfeilerLehman takes graphs.*{message}"):
        WeisfeilerLehman()(X)
