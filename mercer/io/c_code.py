"""A fitted machine as one file of C that needs nothing but the mathematics of the language."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from mercer._docstrings import described
from mercer._replacing import replacing
from mercer.io.c_votes import decision, probabilities
from mercer.io.formulas import SHARED, Formula, MachineFormula

STATISTICS = {
    "inner": "x[j] * s[j]",
    "squared": "(x[j] - s[j]) * (x[j] - s[j])",
    "l1": "fabs(x[j] - s[j])",
    "own_x": "x[j] * x[j]",
    "own_s": "s[j] * s[j]",
}
LARGEST_POWER = 64  # integer powers up to this are products


@described(SHARED)
def write_c(model: Any, path: str | Path, name: str = "model") -> Path:
    """Write a fitted kernel machine as one file of C (C99) without any dependency.

    It defines ``void NAME_values(const double *x, double *f)`` and, of a regressor of one target,
    ``double NAME_predict(const double *x)``; of a classifier ``int NAME_predict(const double *x)``,
    the place of the label in ``NAME_classes``, and of one with probabilities
    ``void NAME_probabilities(const double *x, double *p)``. All numbers are exact float64, so that
    answers differ from the model's by rounding alone. Compile it with ``-lm``.

    Parameters
    ----------
    [model]
    name : str, default="model"
        What the names of functions begin with.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import mercer
    >>> model = mercer.SVC().fit([[0.0], [1.0], [2.0], [3.0]], ["low", "low", "high", "high"])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     text = mercer.io.write_c(model, Path(folder) / "model.c").read_text()
    >>> "int model_predict(const double *x)" in text
    True
    """
    path = Path(path)
    if not re.fullmatch(r"[A-Za-z_]\w*", name, re.ASCII):
        raise ValueError(f"name must be a name of the language C; got {name!r}")
    machine = MachineFormula.of(model)
    kernel = f" with {model.kernel_!r}" if hasattr(model, "kernel_") else ""
    about = f"{type(model).__name__} of {len(machine.centres)} centres{kernel}"
    with replacing(path) as file:
        for line in _lines(machine, name, about):
            file.write(f"{line}\n".encode())
    return path


def _lines(machine: MachineFormula, name: str, about: str) -> Iterator[str]:
    (n, d), t = machine.centres.shape, machine.coefs.shape[1]
    yield f"/* {about.replace('*/', '* /')} */"
    yield "#include <math.h>"
    yield f"enum {{ {name}_columns = {d}, {name}_centres = {n}, {name}_outputs = {t} }};"
    yield from _table(f"static const double {name}_s[{max(n, 1)}][{d}]", machine.centres)
    yield from _table(f"static const double {name}_a[{max(n, 1)}][{t}]", machine.coefs)
    yield from _table(f"static const double {name}_b[1][{t}]", machine.offsets[None])
    if machine.odds is not None and machine.odds.slopes is not None:
        yield from _table(f"static const double {name}_slope[{t}][2]", machine.odds.slopes)
        shifts = np.zeros(t) if machine.odds.shifts is None else machine.odds.shifts
        yield from _table(f"static const double {name}_shift[1][{t}]", shifts[None])
    yield from _kernel(machine.kernel, name, d)
    yield f"void {name}_values(const double *x, double *f) {{"
    yield f"  for (int o = 0; o < {t}; o++) f[o] = 0.0;"
    yield f"  for (int i = 0; i < {n}; i++) {{"
    yield f"    const double k = {name}_kernel(x, {name}_s[i]);"
    yield f"    for (int o = 0; o < {t}; o++) f[o] += k * {name}_a[i][o];"
    yield "  }"
    yield f"  for (int o = 0; o < {t}; o++) f[o] += {name}_b[0][o];"
    yield "}"
    yield from _prediction(machine, name, t)


def _table(head: str, values: np.ndarray) -> Iterator[str]:
    yield f"{head} = {{"
    rows = values if len(values) else np.zeros((1, values.shape[1]))
    for row in rows:
        yield "  {" + ", ".join(_number(value) for value in row) + "},"
    yield "};"


def _number(value: float) -> str:
    """Return a number that is read back to the last bit."""
    if not np.isfinite(value):
        raise ValueError(f"a model with {value} in it can't be written")
    return repr(float(value))


def _string(text: str) -> str:
    """Return a text in UTF-8; whatever C could read as something else is a number."""
    plain = set(range(32, 127)) - set(b'"\\?')
    return '"' + "".join(chr(b) if b in plain else f"\\{b:03o}" for b in text.encode()) + '"'


def _kernel(formula: Formula, name: str, d: int) -> Iterator[str]:
    used = sorted(formula.statistics())
    yield f"static double {name}_power(double v, int e) {{"
    yield "  double p = 1.0;"
    yield "  for (; e > 0; e >>= 1, v *= v) if (e & 1) p *= v;"
    yield "  return p;"
    yield "}"
    yield f"static double {name}_kernel(const double *x, const double *s) {{"
    yield f"  (void)x; (void)s; (void){name}_power;"
    for statistic in used:
        yield f"  double {statistic} = 0.0;"
    if used:
        yield f"  for (int j = 0; j < {d}; j++) {{"
        for statistic in used:
            yield f"    {statistic} += {STATISTICS[statistic]};"
        yield "  }"
    yield f"  return {_expression(formula, name)};"
    yield "}"


def _expression(formula: Formula, name: str) -> str:
    parts = [_expression(part, name) for part in formula.parts]
    if formula.name == "number":
        return f"({_number(formula.value)})"
    if not parts:
        return formula.name
    if formula.name in ("add", "multiply"):
        return f"({parts[0]} {'+' if formula.name == 'add' else '*'} {parts[1]})"
    if formula.name != "power":
        return f"{formula.name}({parts[0]})"
    if formula.value == 0.5:
        return f"sqrt({parts[0]})"
    if formula.value.is_integer() and 0 <= formula.value <= LARGEST_POWER:
        return f"{name}_power({parts[0]}, {int(formula.value)})"
    return f"pow({parts[0]}, {_number(formula.value)})"


def _prediction(machine: MachineFormula, name: str, t: int) -> Iterator[str]:
    if machine.classes is None:
        if t == 1:
            yield f"double {name}_predict(const double *x) {{"
            yield f"  double f[1]; {name}_values(x, f); return f[0];"
            yield "}"
        return
    labels = machine.classes.tolist()
    kind = "char *const" if isinstance(labels[0], str) else "double"
    text = [_string(v) if isinstance(v, str) else _number(v) for v in labels]
    yield f"const {kind} {name}_classes[{len(text)}] = {{{', '.join(text)}}};"
    yield from decision(machine, name)
    yield f"int {name}_predict(const double *x) {{"
    yield f"  double f[{t}]; {name}_values(x, f); return {name}_decision(f);"
    yield "}"
    if machine.odds is not None:
        yield from probabilities(machine, name)
