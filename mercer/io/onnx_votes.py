"""What the values of a machine mean, as ONNX nodes: labels and probabilities."""

from __future__ import annotations

import numpy as np

from mercer.io.formulas import MachineFormula, Odds
from mercer.io.onnx_nodes import OnnxNodes
from mercer.machines._pairs import LEAST_LEAD, LIBSVM_LEAST, SINGULAR


def label(graph: OnnxNodes, machine: MachineFormula) -> str:
    """Compute labels from the values; return the places of the classes.

    By votes of pairs, the sign, or the largest.
    """
    if machine.pairs:
        code = graph.argmax(_votes(graph, machine))
    elif machine.coefs.shape[1] == 1:
        above = "Greater" if machine.above == ">" else "GreaterOrEqual"
        flat = graph.node("Squeeze", ["values", graph.constant(np.array([1]))])
        code = graph.cast(graph.node(above, [flat, graph.number(0.0)]), np.int64)
    else:
        code = graph.argmax("values")
    graph.node("Gather", [graph.constant(machine.classes), code], "label")
    return code


def _votes(graph: OnnxNodes, machine: MachineFormula) -> str:
    """Return the votes for each class, with sums of values where these break ties."""
    gains = np.zeros((len(machine.pairs), len(machine.classes)))  # type: ignore[arg-type]
    for o, (i, j) in enumerate(machine.pairs):
        gains[o, i], gains[o, j] = 1.0, -1.0
    wins = graph.node("GreaterOrEqual" if machine.ties else "Greater", ["values", graph.number(0)])
    gained = graph.node("Gemm", [graph.cast(wins, np.float64), graph.constant(gains)])
    votes = graph.node("Add", [gained, graph.constant((gains < 0).sum(axis=0).astype(float))])
    if not machine.ties:
        return votes
    sums = graph.node("Gemm", ["values", graph.constant(gains)])
    size = graph.node("Add", [graph.node("Abs", [sums]), graph.number(1.0)])
    share = graph.node("Div", [sums, graph.node("Mul", [size, graph.number(3.0)])])
    return graph.node("Add", [votes, share])


# -------------------------------------------------------------------- probabilities
def probabilities(graph: OnnxNodes, machine: MachineFormula, code: str) -> None:
    """Compute probabilities from the values and the predicted classes."""
    assert machine.odds is not None
    if machine.odds.slopes is None:
        logits = "values"
        if machine.coefs.shape[1] == 1:
            zeros = graph.node("Mul", ["values", graph.number(0.0)])
            logits = graph.node("Concat", [zeros, "values"], axis=1)
        graph.node("Softmax", [logits], "probabilities", axis=1)
        return
    P = _from_problems(graph, machine, _single(graph, machine.odds))
    if machine.agrees:
        P = _agreed(graph, P, code, len(machine.classes))  # type: ignore[arg-type]
    graph.node("Identity", [P], "probabilities")


def _single(graph: OnnxNodes, odds: Odds) -> str:
    """Return σ(af + s) of all values."""
    below, above = (graph.constant(side) for side in odds.slopes.T.copy())  # type: ignore[union-attr]
    negative = graph.node("Less", ["values", graph.number(0.0)])
    logits = graph.node("Mul", ["values", graph.node("Where", [negative, below, above])])
    if odds.shifts is None:
        return graph.node("Sigmoid", [logits])
    chance = graph.node("Sigmoid", [graph.node("Add", [logits, graph.constant(odds.shifts)])])
    ends = [graph.number(LIBSVM_LEAST), graph.number(1.0 - LIBSVM_LEAST)]
    return graph.node("Clip", [chance, *ends])


def _from_problems(graph: OnnxNodes, machine: MachineFormula, R: str) -> str:
    if machine.pairs:
        return _coupled(graph, machine, R)
    if machine.coefs.shape[1] == 1:
        return graph.node("Concat", [graph.node("Sub", [graph.number(1.0), R]), R], axis=1)
    return _shares(graph, R)


def _shares(graph: OnnxNodes, values: str) -> str:
    """Return rows over their sums."""
    total = graph.node("Max", [graph.row_sums(values), graph.number(1e-300)])
    return graph.node("Div", [values, total])


def _coupled(graph: OnnxNodes, machine: MachineFormula, R: str) -> str:
    """Return p with Qp = −λ and Σp = 1, of probabilities r of pairs.

    Q is linear in r², r(1 − r) and (1 − r)², and definite: elimination needs no pivots.
    """
    k = len(machine.classes)  # type: ignore[arg-type]
    squares, mixed, others = np.zeros((3, len(machine.pairs), k, k + 1))
    for o, (i, j) in enumerate(machine.pairs):
        others[o, i, i] = squares[o, j, j] = 1.0
        mixed[o, i, j] = mixed[o, j, i] = -1.0
    rest = graph.node("Sub", [graph.number(1.0), R])
    flat = graph.constant(np.hstack([SINGULAR * np.eye(k), np.ones((k, 1))]).ravel())
    for factors, places in (([R, R], squares), ([R, rest], mixed), ([rest, rest], others)):
        matrix = graph.constant(places.reshape(len(places), -1))
        term = graph.node("Gemm", [graph.node("Mul", factors), matrix])
        flat = graph.node("Add", [flat, term])
    A = graph.node("Reshape", [flat, graph.constant(np.array([-1, k, k + 1]))])
    for step in range(k):
        A = _eliminated(graph, A, step, k)
    return _shares(graph, graph.node("Max", [graph.taken(A, k, axis=2), graph.number(0.0)]))


def _eliminated(graph: OnnxNodes, A: str, step: int, k: int) -> str:
    """Return tables (m, k, k + 1) after a step of Gauss and Jordan: A − (a − e)bᵀ.

    b is the row of the step over its pivot, a the column, e a unit vector.
    """
    row = graph.taken(A, step, axis=1)
    row = graph.node("Div", [row, graph.column(graph.taken(row, step, axis=1))])
    column = graph.node("Sub", [graph.taken(A, step, axis=2), graph.constant(np.eye(k)[step])])
    column = graph.node("Unsqueeze", [column, graph.constant(np.array([2]))])
    return graph.node("Sub", [A, graph.node("Mul", [column, graph.column(row)])])


def _agreed(graph: OnnxNodes, P: str, code: str, k: int) -> str:
    """Return probabilities in which the predicted class is the likeliest: see ``agree``."""
    own = graph.node("Gather", [graph.constant(np.eye(k)), code])
    first = graph.node("Add", [P, own])  # the predicted one comes first, and 1 is taken off again
    sums = graph.node("TopK", [first, graph.constant(np.array([k]))], axis=1)
    sums = graph.node("CumSum", [sums, graph.constant(np.int64(1))])
    sums = graph.node("Sub", [sums, graph.number(1.0)])
    means = graph.node("Div", [sums, graph.constant(np.arange(1.0, k + 1))])
    level = graph.node("ReduceMax", [means, graph.constant(np.array([1]))], keepdims=1)
    moved = graph.node("Not", [graph.node("Equal", [graph.argmax(P), code])])
    hair = graph.node(
        "Mul", [graph.column(graph.cast(moved, np.float64)), graph.number(LEAST_LEAD)]
    )
    raised = graph.node("Mul", [own, graph.node("Add", [level, hair])])
    lowered = graph.node(
        "Mul", [graph.node("Min", [P, level]), graph.node("Sub", [graph.number(1.0), own])]
    )
    return _shares(graph, graph.node("Add", [raised, lowered]))
