"""A fitted machine as an ONNX graph, in float64."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from mercer._docstrings import described
from mercer._replacing import replacing
from mercer.io.formulas import SHARED, Formula, MachineFormula
from mercer.io.onnx_nodes import OnnxNodes
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
        if not machine.kernel.statistics():
            ones = self.row_sums(self.node("Mul", ["X", self.number(0.0)]))
            shape = self.constant(np.ones((1, len(machine.centres))))
            whole = self.node("MatMul", [self.node("Exp", [ones]), shape])
            return self.node("Mul", [whole, self.formula(machine.kernel, {})])
        # distances about the mean of the centres: large columns would cancel
        mean = machine.centres.mean(axis=0)
        about = {
            name: self._statistic(name, machine.centres, mean)
            for name in sorted(machine.kernel.statistics())
        }
        return self.formula(machine.kernel, about)

    def formula(self, formula: Formula, about: dict[str, str]) -> str:
        """Return what a formula of statistics computes."""
        if formula.name == "number":
            return self.number(formula.value)
        if not formula.parts:
            return about[formula.name]
        parts = [self.formula(part, about) for part in formula.parts]
        if formula.name == "power":
            if formula.value == 0.5:
                return self.node("Sqrt", parts)
            return self.node("Pow", [*parts, self.number(formula.value)])
        return self.node(OPERATORS[formula.name], parts)

    def _statistic(self, name: str, centres: np.ndarray, mean: np.ndarray) -> str:
        if name == "inner":
            # no MatMul: runtimes fuse it with a factor that follows, which they keep in float32
            return self.node("Gemm", ["X", self.constant(centres.T.copy())])
        if name == "own_x":
            return self.row_sums(self.node("Mul", ["X", "X"]))
        if name == "own_s":
            return self.constant((centres**2).sum(axis=1)[None])
        if name == "squared":
            return self._squared(centres - mean, mean)
        return self._l1(centres)

    def _squared(self, centres: np.ndarray, mean: np.ndarray) -> str:
        """Return ‖x‖² + ‖s‖² − 2x·s, not below 0."""
        rows = self.node("Sub", ["X", self.constant(mean)])
        inner = self.node("Gemm", [rows, self.constant(-2.0 * centres.T)])
        squares = self.node("Add", [inner, self.row_sums(self.node("Mul", [rows, rows]))])
        squares = self.node("Add", [squares, self.constant((centres**2).sum(axis=1)[None])])
        return self.node("Max", [squares, self.number(0.0)])

    def _l1(self, centres: np.ndarray) -> str:
        rows = self.node("Unsqueeze", ["X", self.constant(np.array([1]))])
        apart = self.node("Abs", [self.node("Sub", [rows, self.constant(centres[None])])])
        axes = self.constant(np.array([2]))
        return self.node("ReduceSum", [apart, axes], keepdims=0)
