"""A fitted machine as an ONNX graph, in float64."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from mercer._replacing import replacing
from mercer.io.formulas import Formula, MachineFormula

OPSET = 18
IR_VERSION = 10  # runtimes read older ones too
OPERATORS = {"add": "Add", "multiply": "Mul", "exp": "Exp", "tanh": "Tanh"}


def write_onnx(model: Any, path: str | Path) -> Path:
    """Write a fitted kernel machine as an ONNX model, which other runtimes can ask.

    Its input ``X`` is a float64 table (m, d). ``values`` are the decision values of all problems or
    the targets, shape (m, t); of a classifier ``label`` are the labels, shape (m,). All is computed
    in float64. Needs the package ``onnx`` (``pip install mercer[onnx]``).

    Parameters
    ----------
    model : estimator
        A fitted `SVC`, `NuSVC`, `SVR`, `NuSVR`, `OneClassSVM`, `KernelRidge`,
        `KernelRidgeClassifier`, `KernelLogistic` or `KernelMachine` with a kernel of inner products
        or distances.
    path : str or Path
        Where to.
    """
    path = Path(path)
    machine = MachineFormula.of(model)
    graph = _Graph(machine.centres.shape[1])
    K = graph.kernel(machine)
    graph.node(
        "Gemm", [K, graph.constant(machine.coefs), graph.constant(machine.offsets)], "values"
    )
    outputs = {"values": (np.dtype(np.float64), ["m", machine.coefs.shape[1]])}
    if machine.classes is not None:
        graph.label(machine)
        outputs["label"] = (machine.classes.dtype, ["m"])
    with replacing(path) as file:
        file.write(graph.serialized(outputs))
    return path


class _Graph:
    """Nodes and constants, named as they come."""

    def __init__(self, columns: int):
        import onnx  # type: ignore[import-not-found,unused-ignore]

        self.onnx, self.columns = onnx, columns
        self.nodes: list[Any] = []
        self.constants: list[Any] = []

    def node(self, kind: str, inputs: list[str], name: str = "", **attributes: Any) -> str:
        """Add an operation; return the name of what it computes."""
        name = name or f"v{len(self.nodes)}"
        self.nodes.append(self.onnx.helper.make_node(kind, inputs, [name], **attributes))
        return name

    def constant(self, values: Any) -> str:
        name, values = f"c{len(self.constants)}", np.asarray(values)
        if values.dtype.kind in "US":
            values = values.astype(object)
        self.constants.append(self.onnx.numpy_helper.from_array(values, name))
        return name

    # ------------------------------------------------------------ the kernel
    def kernel(self, machine: MachineFormula) -> str:
        """Return k(X, centres), shape (m, n)."""
        if not machine.kernel.statistics():
            ones = self._row_sums(self.node("Mul", ["X", self.constant(0.0)]))
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
            return self.constant(np.float64(formula.value))
        if not formula.parts:
            return about[formula.name]
        parts = [self.formula(part, about) for part in formula.parts]
        if formula.name == "power":
            if formula.value == 0.5:
                return self.node("Sqrt", parts)
            return self.node("Pow", [*parts, self.constant(np.float64(formula.value))])
        return self.node(OPERATORS[formula.name], parts)

    def _statistic(self, name: str, centres: np.ndarray, mean: np.ndarray) -> str:
        if name == "inner":
            # no MatMul: runtimes fuse it with a factor that follows, which they keep in float32
            return self.node("Gemm", ["X", self.constant(centres.T.copy())])
        if name == "own_x":
            return self._row_sums(self.node("Mul", ["X", "X"]))
        if name == "own_s":
            return self.constant((centres**2).sum(axis=1)[None])
        if name == "squared":
            return self._squared(centres - mean, mean)
        return self._l1(centres)

    def _squared(self, centres: np.ndarray, mean: np.ndarray) -> str:
        """Return ‖x‖² + ‖s‖² − 2x·s, not below 0."""
        rows = self.node("Sub", ["X", self.constant(mean)])
        inner = self.node("Gemm", [rows, self.constant(-2.0 * centres.T)])
        squares = self.node("Add", [inner, self._row_sums(self.node("Mul", [rows, rows]))])
        squares = self.node("Add", [squares, self.constant((centres**2).sum(axis=1)[None])])
        return self.node("Max", [squares, self.constant(np.float64(0.0))])

    def _l1(self, centres: np.ndarray) -> str:
        rows = self.node("Unsqueeze", ["X", self.constant(np.array([1]))])
        apart = self.node("Abs", [self.node("Sub", [rows, self.constant(centres[None])])])
        axes = self.constant(np.array([2]))
        return self.node("ReduceSum", [apart, axes], keepdims=0)

    def _row_sums(self, values: str) -> str:
        return self.node("ReduceSum", [values, self.constant(np.array([1]))], keepdims=1)

    # ------------------------------------------------------------ labels
    def label(self, machine: MachineFormula) -> None:
        """Compute labels from the values: votes of pairs, the sign, or the largest."""
        zero, k = self.constant(np.float64(0.0)), len(machine.classes)  # type: ignore[arg-type]
        if machine.pairs:
            first, second = np.zeros((2, len(machine.pairs), k), np.float32)
            for o, (i, j) in enumerate(machine.pairs):
                first[o, i] = second[o, j] = 1.0
            won = self._as_numbers(self.node("Greater", ["values", zero]))
            lost = self.node("Sub", [self.constant(np.float32(1.0)), won])
            votes = [self.node("MatMul", [won, self.constant(first)])]
            votes.append(self.node("MatMul", [lost, self.constant(second)]))
            code = self.node("ArgMax", [self.node("Add", votes)], axis=1, keepdims=0)
        elif machine.coefs.shape[1] == 1:
            above = "Greater" if machine.above == ">" else "GreaterOrEqual"
            flat = self.node("Squeeze", ["values", self.constant(np.array([1]))])
            code = self.node("Cast", [self.node(above, [flat, zero])], to=self._type(np.int64))
        else:
            code = self.node("ArgMax", ["values"], axis=1, keepdims=0)
        self.node("Gather", [self.constant(machine.classes), code], "label")

    def _as_numbers(self, truth: str) -> str:
        return self.node("Cast", [truth], to=self._type(np.float32))

    def _type(self, dtype: Any) -> int:
        dtype = np.dtype(object) if np.dtype(dtype).kind in "US" else np.dtype(dtype)
        return int(self.onnx.helper.np_dtype_to_tensor_dtype(dtype))

    # ------------------------------------------------------------ the file
    def serialized(self, outputs: dict[str, tuple[np.dtype, list[Any]]]) -> bytes:
        """Return the checked model as bytes."""
        helper = self.onnx.helper
        info = helper.make_tensor_value_info
        X = info("X", self._type(np.float64), ["m", self.columns])
        found = [info(name, self._type(kind), shape) for name, (kind, shape) in outputs.items()]
        graph = helper.make_graph(self.nodes, "mercer", [X], found, self.constants)
        opset = helper.make_opsetid("", OPSET)
        model = helper.make_model(graph, opset_imports=[opset], producer_name="mercer")
        model.ir_version = IR_VERSION
        self.onnx.checker.check_model(model)
        return bytes(model.SerializeToString())
