"""A kernel on graphs: nodes that look alike up to a distance."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from numbers import Integral
from typing import Any, ClassVar, NamedTuple

import numpy as np

from mercer._sklearn import Interval
from mercer.kernels.counting import Counted, CountedParts
from mercer.kernels.sample import Sample
from mercer.kernels.sequences import mixed, token_code

ACCEPTED = (
    "WeisfeilerLehman takes graphs, one for each row: a list of edges (u, v), a pair (edges, "
    "labels) with a dictionary of the labels of the nodes, or a graph of networkx"
)
UNLABELLED = 0  # the label of nodes that have none


class WeisfeilerLehman(CountedParts):
    """Weisfeiler–Lehman kernel of graphs: k(x, y) = Σ c_t(x) c_t(y) over rounds and labels t.

    In round 0 every node has its own label; in each further round a label stands for the node's
    label before and those of its neighbours, so that after r rounds it tells what is around the
    node up to distance r. c_t(x) counts the nodes of x with the label t. Edges have no direction,
    and count once; nodes without a label have the label 0.

    Parameters
    ----------
    rounds : int, default=3
        How often labels are refined, ≥ 0.
    label : str, default="label"
        The attribute of the nodes of networkx graphs that holds their label.

    Notes
    -----
    A graph is a list of edges, a pair ``(edges, labels)`` where ``labels`` is a dictionary with a
    label (text or integer) for each node, isolated ones included, or a graph of networkx. A model
    whose graphs are those of networkx cannot be saved.

    Examples
    --------
    >>> from mercer.kernels import WeisfeilerLehman
    >>> triangle, path = [(0, 1), (1, 2), (2, 0)], [(0, 1), (1, 2)]
    >>> WeisfeilerLehman(rounds=1)([triangle, path])
    array([[18., 12.],
           [12., 14.]])
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "rounds": [Interval(Integral, 0, None, closed="left")],
        "label": [str],
    }

    def __init__(self, rounds: int = 3, label: str = "label"):
        self.rounds = rounds
        self.label = label

    def grid(self, X: Sample) -> dict[str, tuple[Any, ...]]:
        return {"rounds": (0, 1, 2, 3, 5)}

    def check_pair(self, X: Sample, Y: Sample) -> None:
        for sample in (X, Y):
            self._parted(sample)

    def _parted(self, X: Sample) -> Sample:
        read = lambda data: [_graph(item, i, self.label) for i, item in enumerate(data)]  # noqa: E731
        return X.derive(("graphs", self.label), read)

    def _count(self, parts: list[LabelledGraph]) -> Counted:
        sizes = np.array([len(graph.codes) for graph in parts])
        first = np.cumsum(sizes) - sizes
        codes = np.concatenate([graph.codes for graph in parts])
        ends = np.concatenate([graph.edges + k for graph, k in zip(parts, first, strict=True)])
        row = np.repeat(np.arange(len(parts)), sizes)
        found = [codes]
        for _ in range(self.rounds):
            found.append(_refined(found[-1], ends))
        keys = np.concatenate([mixed(keys ^ np.uint64(r)) for r, keys in enumerate(found)])
        return Counted.of(np.tile(row, len(found)), keys, np.ones(len(keys)), len(parts))


def _refined(codes: np.ndarray, ends: np.ndarray) -> np.ndarray:
    """Return labels that stand for a node's own and the sum of its neighbours', in any order."""
    spread, around = mixed(codes), np.zeros(len(codes), dtype=np.uint64)
    left, right = ends.T
    np.add.at(around, left, spread[right])
    loops = left == right
    np.add.at(around, right[~loops], spread[left[~loops]])
    return mixed(mixed(spread) ^ around)


# ---------------------------------------------------------------- reading
class LabelledGraph(NamedTuple):
    """The labels of the nodes as numbers, and the edges between their places, each once."""

    codes: np.ndarray
    edges: np.ndarray


def _graph(item: Any, i: int, label: str) -> LabelledGraph:
    edges, labels = _parts(item, i, label)
    pairs = [_pair(edge, i) for edge in edges]
    place: dict[Any, int] = {}
    for node in (*labels, *(node for pair in pairs for node in pair)):
        place.setdefault(node, len(place))
    codes = np.array([_code(labels.get(node, UNLABELLED), i) for node in place], dtype=np.int64)
    both = {tuple(sorted((place[u], place[v]))) for u, v in pairs}
    return LabelledGraph(
        codes.view(np.uint64), np.array(sorted(both), dtype=np.intp).reshape(-1, 2)
    )


def _parts(item: Any, i: int, label: str) -> tuple[Iterable[Any], Mapping[Any, Any]]:
    if hasattr(item, "nodes") and hasattr(item, "edges"):  # networkx, which need not be installed
        nodes = {node: data.get(label, UNLABELLED) for node, data in item.nodes(data=True)}
        return [edge[:2] for edge in item.edges], nodes
    if isinstance(item, (tuple, list)) and len(item) == 2 and isinstance(item[1], Mapping):
        return item[0], item[1]
    if isinstance(item, (list, tuple, set, frozenset)) or np.ndim(item) == 2:
        return item, {}
    raise TypeError(f"{ACCEPTED}; row {i} is {item!r}, of type {type(item).__name__}")


def _pair(edge: Any, i: int) -> tuple[Any, Any]:
    if isinstance(edge, (str, bytes)) or not hasattr(edge, "__len__") or len(edge) != 2:
        raise TypeError(f"{ACCEPTED}; row {i} has the edge {edge!r}, which is no pair of nodes")
    u, v = (node.item() if isinstance(node, np.generic) else node for node in edge)
    return u, v


def _code(label: Any, i: int) -> int:
    try:
        return token_code(label)
    except TypeError:
        raise TypeError(
            f"{ACCEPTED}; labels must be texts or integers, row {i} has {label!r}"
        ) from None
