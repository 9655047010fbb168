"""Views of rows, as ONNX nodes."""

from __future__ import annotations

import numpy as np

from mercer.io.onnx_nodes import OnnxNodes
from mercer.io.views import CIRCLES, GIVEN, MAPPED, UNIT, RowView

SMALLEST = float(np.nextafter(0.0, 1.0))


def seen(graph: OnnxNodes, view: RowView) -> str:
    """Add a view of the rows X; return its name."""
    if view.kind == GIVEN:
        return "X"
    if view.kind == UNIT:
        return _unit(graph)
    moved = graph.node("Sub", ["X", graph.constant(view.origin)])
    table = graph.constant(view.table)
    if view.kind == CIRCLES:
        turns = graph.node("Div", [moved, table])
        part = graph.node("Sub", [turns, graph.node("Floor", [turns])])
        angle = graph.node("Mul", [part, graph.number(2.0 * np.pi)])
        both = [graph.node("Cos", [angle]), graph.node("Sin", [angle])]
        return graph.node("Mul", [graph.node("Concat", both, axis=1), graph.number(0.5)])
    return graph.node("Gemm" if view.kind == MAPPED else "Mul", [moved, table])


def _unit(graph: OnnxNodes) -> str:
    """Divide by the largest entry first, so that no square vanishes; rows of zeros stay."""
    largest = graph.node(
        "ReduceMax", [graph.node("Abs", ["X"]), graph.constant(np.array([1]))], keepdims=1
    )
    rows = graph.node("Div", ["X", graph.node("Max", [largest, graph.number(SMALLEST)])])
    squares = graph.row_sums(graph.node("Mul", [rows, rows]))
    length = graph.node("Max", [graph.node("Sqrt", [squares]), graph.number(1.0)])
    return graph.node("Div", [rows, length])
