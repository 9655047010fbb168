"""Nodes and constants of an ONNX model, and its bytes."""

from __future__ import annotations

from typing import Any

import numpy as np

OPSET = 18
IR_VERSION = 10  # runtimes read older ones too


class OnnxNodes:
    """Nodes and constants, named as they come."""

    def __init__(self, columns: int):
        import onnx  # type: ignore[import-not-found,unused-ignore]

        self.onnx, self.columns = onnx, columns
        self.nodes: list[Any] = []
        self.constants: list[Any] = []

    def node(self, kind: str, inputs: list[str], name: str = "", **attributes: Any) -> str:
        """Add an operation; return the name of what it computes first."""
        name = name or f"v{len(self.nodes)}"
        outputs = [name, f"{name}_places"] if kind == "TopK" else [name]
        self.nodes.append(self.onnx.helper.make_node(kind, inputs, outputs, **attributes))
        return name

    def constant(self, values: Any) -> str:
        """Add values; return their name."""
        name, values = f"c{len(self.constants)}", np.asarray(values)
        if values.dtype.kind in "US":
            values = values.astype(object)
        self.constants.append(self.onnx.numpy_helper.from_array(values, name))
        return name

    def number(self, value: float) -> str:
        """Add a number; return its name."""
        return self.constant(np.float64(value))

    def row_sums(self, values: str) -> str:
        """Return the sum of each row, as a column."""
        return self.node("ReduceSum", [values, self.constant(np.array([1]))], keepdims=1)

    def column(self, values: str) -> str:
        """Return a vector as a column."""
        return self.node("Unsqueeze", [values, self.constant(np.array([1]))])

    def taken(self, values: str, place: int, axis: int) -> str:
        """Return one slice along an axis, without that axis."""
        return self.node("Gather", [values, self.constant(np.int64(place))], axis=axis)

    def argmax(self, values: str) -> str:
        """Return the place of the largest of each row."""
        return self.node("ArgMax", [values], axis=1, keepdims=0)

    def cast(self, values: str, dtype: Any) -> str:
        """Return values in another type."""
        return self.node("Cast", [values], to=self._type(dtype))

    def _type(self, dtype: Any) -> int:
        dtype = np.dtype(object) if np.dtype(dtype).kind in "US" else np.dtype(dtype)
        return int(self.onnx.helper.np_dtype_to_tensor_dtype(dtype))

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
