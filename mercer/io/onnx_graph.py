"""A fitted machine as an ONNX graph, in float64."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from mercer._docstrings import described
from mercer._floats import TINY
from mercer._replacing import replacing
from mercer.io.formulas import SHARED, Formula, MachineFormula
from mercer.io.onnx_nodes import OnnxNodes
from mercer.io.onnx_views import seen
from mercer.io.onnx_votes import label, probabilities

OPERATORS = {"add": "Add", "multiply": "Mul", "exp": "Exp", "tanh": "Tanh"}


@described(SHARED)
def write_onnx(model: Any, path: str | Path) -> Path:
    """Write a fitted kernel machine as an ONNX model, which other runtimes can ask.

    Its input ``X`` is a float64 table (m, d). ``values`` are the decision values of all problems or
    the targets, shape (m, t); of a classifier ``label`` are the labels, shape (m,), and of one with
    probabilities ``probabilities`` are these, shape (m, k). All is computed in float64. Needs the
    package ``onnx`` (``pip install mercer[onnx]``).

    Parameters
    ----------
    [model]
    """
    path = Path(path)
    machine = MachineFormula.of(model)
    graph = _KernelNodes(machine.centres.shape[1])
    K = graph.kernel(machine)
    graph.node(
        "Gemm", [K, graph.constant(machine.coefs), graph.constant(machine.offsets)], "values"
    )
    outputs = {"values": (np.dtype(np.float64), ["m", machine.coefs.shape[1]])}
    if machine.classes is not None:
        code = label(graph, machine)
        outputs["label"] = (machine.classes.dtype, ["m"])
        if machine.odds is not None:
            probabilities(graph, machine, code)
            outputs["probabilities"] = (np.dtype(np.float64), ["m", len(machine.classes)])
    with replacing(path) as file:
        file.write(graph.serialized(outputs))
    return path


class _KernelNodes(OnnxNodes):
    """The kernel between rows X and centres."""

    def kernel(self, machine: MachineFormula) -> str:
        """Return k(X, centres), shape (m, n)."""
        statistics = sorted(machine.kernel.statistics(), key=repr)
        if not statistics:
            ones = self.row_sums(self.node("Mul", ["X", self.number(0.0)]))
            shape = self.constant(np.ones((1, len(machine.centres))))
            whole = self.node("MatMul", [self.node("Exp", [ones]), shape])
            return self.node("Mul", [whole, self.formula(machine.kernel, {})])
        sides = {v: self._both_sides(machine, v) for v in {s.view for s in statistics}}
        values = {s: self._statistic(s, *sides[s.view]) for s in statistics}
        return self.formula(machine.kernel, values)

    def _both_sides(self, machine: MachineFormula, number: int) -> tuple[str, np.ndarray]:
        """Return the name of a view of the rows, and the view of the centres."""
        view = machine.views[number]
        return seen(self, view), view.rows(machine.centres)

    def formula(self, formula: Formula, values: dict[Formula, str]) -> str:
        """Return what a formula of statistics computes."""
        if formula.name == "number":
            return self.number(formula.value)
        if not formula.parts:
            return values[formula]
        parts = [self.formula(part, values) for part in formula.parts]
        if formula.name == "power":
            if formula.value == 0.5:
                return self.node("Sqrt", parts)
            return self.node("Pow", [*parts, self.number(formula.value)])
        return self.node(OPERATORS[formula.name], parts)

    def _statistic(self, statistic: Formula, rows: str, centres: np.ndarray) -> str:
        """Return a statistic of rows z and centres, which broadcasts to (m, n)."""
        if statistic.sides == "xx":
            return self.row_sums(
                self.node("Mul", [rows, rows]) if statistic.name == "inner" else rows
            )
        if statistic.sides == "ss":
            own = centres**2 if statistic.name == "inner" else centres
            return self.constant(own.sum(axis=1)[None])
        if statistic.name == "inner":
            # no MatMul: runtimes fuse it with a factor that follows, which they keep in float32
            return self.node("Gemm", [rows, self.constant(centres.T.copy())])
        if statistic.name == "squared":
            # about the mean of the centres: large columns would cancel
            return self._squared(rows, centres, centres.mean(axis=0))
        return self._by_columns(statistic, rows, centres)

    def _squared(self, rows: str, centres: np.ndarray, mean: np.ndarray) -> str:
        """Return ‖x‖² + ‖s‖² − 2x·s, not below 0."""
        rows, centres = self.node("Sub", [rows, self.constant(mean)]), centres - mean
        inner = self.node("Gemm", [rows, self.constant(-2.0 * centres.T)])
        squares = self.node("Add", [inner, self.row_sums(self.node("Mul", [rows, rows]))])
        squares = self.node("Add", [squares, self.constant((centres**2).sum(axis=1)[None])])
        return self.node("Max", [squares, self.number(0.0)])

    def _by_columns(self, statistic: Formula, rows: str, centres: np.ndarray) -> str:
        """Return a sum over columns of what each pair of cells gives."""
        a = self.node("Unsqueeze", [rows, self.constant(np.array([1]))])
        b = self.constant(centres[None])
        if statistic.name == "least":
            cells = self.node("Min", [a, b])
        else:
            cells = self.node("Abs", [self.node("Sub", [a, b])])
        if statistic.name == "lp":
            cells = self.node("Pow", [cells, self.number(statistic.value)])
        if statistic.name == "chi":
            both = self.node("Max", [self.node("Add", [a, b]), self.number(TINY)])
            cells = self.node("Mul", [cells, self.node("Div", [cells, both])])
        return self.node("ReduceSum", [cells, self.constant(np.array([2]))], keepdims=0)
