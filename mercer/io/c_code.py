"""A fitted machine as one file of C that needs nothing but the mathematics of the language."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from mercer._docstrings import described
from mercer._replacing import replacing
from mercer.io.c_views import c_number, c_table, c_view
from mercer.io.c_votes import decision, probabilities
from mercer.io.formulas import SHARED, Formula, MachineFormula

TERMS = {
    "inner": "{a} * {b}",
    "least": "({a} < {b} ? {a} : {b})",
    "squared": "({a} - {b}) * ({a} - {b})",
    "l1": "fabs({a} - {b})",
    "lp": "pow(fabs({a} - {b}), {p})",
    "chi": "({a} + {b} > 0.0 ? ({a} - {b}) * (({a} - {b}) / ({a} + {b})) : 0.0)",
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
    views = sorted({statistic.view for statistic in machine.kernel.statistics()})
    yield f"/* {about.replace('*/', '* /')} */"
    yield "#include <math.h>"
    yield f"enum {{ {name}_columns = {d}, {name}_centres = {n}, {name}_outputs = {t} }};"
    for v in views:
        view = machine.views[v]
        head = f"static const double {name}_s{v}[{max(n, 1)}][{view.columns}]"
        yield from c_table(head, view.rows(machine.centres))
        yield from c_view(view, f"{name}_view{v}")
    yield from c_table(f"static const double {name}_a[{max(n, 1)}][{t}]", machine.coefs)
    yield from c_table(f"static const double {name}_b[1][{t}]", machine.offsets[None])
    if machine.odds is not None and machine.odds.slopes is not None:
        yield from c_table(f"static const double {name}_slope[{t}][2]", machine.odds.slopes)
        shifts = np.zeros(t) if machine.odds.shifts is None else machine.odds.shifts
        yield from c_table(f"static const double {name}_shift[1][{t}]", shifts[None])
    yield from _kernel(machine, name, views)
    yield f"void {name}_values(const double *x, double *f) {{"
    for v in views:
        yield f"  double z{v}[{machine.views[v].columns}];"
        yield f"  {name}_view{v}(x, z{v});"
    yield f"  for (int o = 0; o < {t}; o++) f[o] = 0.0;"
    yield f"  for (int i = 0; i < {n}; i++) {{"
    yield f"    const double k = {name}_kernel({', '.join(['i', *(f'z{v}' for v in views)])});"
    yield f"    for (int o = 0; o < {t}; o++) f[o] += k * {name}_a[i][o];"
    yield "  }"
    yield f"  for (int o = 0; o < {t}; o++) f[o] += {name}_b[0][o];"
    yield "  (void)x;"
    yield "}"
    yield from _prediction(machine, name, t)


def _string(text: str) -> str:
    """Return a text in UTF-8; whatever C could read as something else is a number."""
    plain = set(range(32, 127)) - set(b'"\\?')
    return '"' + "".join(chr(b) if b in plain else f"\\{b:03o}" for b in text.encode()) + '"'


def _kernel(machine: MachineFormula, name: str, views: list[int]) -> Iterator[str]:
    places = {statistic: f"v{i}" for i, statistic in enumerate(_ordered(machine.kernel))}
    yield f"static double {name}_power(double v, int e) {{"
    yield "  double p = 1.0;"
    yield "  for (; e > 0; e >>= 1, v *= v) if (e & 1) p *= v;"
    yield "  return p;"
    yield "}"
    given = ", ".join(["int i", *(f"const double *z{v}" for v in views)])
    yield f"static double {name}_kernel({given}) {{"
    yield f"  (void)i; (void){name}_power;"
    for v in views:
        own = {statistic: place for statistic, place in places.items() if statistic.view == v}
        yield f"  const double *s{v} = {name}_s{v}[i];"
        yield f"  (void)z{v}; (void)s{v};"
        yield f"  double {', '.join(f'{place} = 0.0' for place in own.values())};"
        yield f"  for (int j = 0; j < {machine.views[v].columns}; j++) {{"
        for statistic, place in own.items():
            yield f"    {place} += {_term(statistic)};"
        yield "  }"
    yield f"  return {_expression(machine.kernel, name, places)};"
    yield "}"


def _ordered(kernel: Formula) -> list[Formula]:
    return sorted(kernel.statistics(), key=repr)


def _term(statistic: Formula) -> str:
    """Return what a column adds to a statistic."""
    letters = {"x": "z", "s": "s"}
    a, b = (f"{letters[side]}{statistic.view}[j]" for side in statistic.sides)
    return TERMS[statistic.name].format(a=a, b=b, p=c_number(statistic.value))


def _expression(formula: Formula, name: str, places: dict[Formula, str]) -> str:
    parts = [_expression(part, name, places) for part in formula.parts]
    if formula.name == "number":
        return f"({c_number(formula.value)})"
    if not parts:
        return places[formula]
    if formula.name in ("add", "multiply"):
        return f"({parts[0]} {'+' if formula.name == 'add' else '*'} {parts[1]})"
    if formula.name != "power":
        return f"{formula.name}({parts[0]})"
    if formula.value == 0.5:
        return f"sqrt({parts[0]})"
    if formula.value.is_integer() and 0 <= formula.value <= LARGEST_POWER:
        return f"{name}_power({parts[0]}, {int(formula.value)})"
    return f"pow({parts[0]}, {c_number(formula.value)})"


def _prediction(machine: MachineFormula, name: str, t: int) -> Iterator[str]:
    if machine.classes is None:
        if t == 1:
            yield f"double {name}_predict(const double *x) {{"
            yield f"  double f[1]; {name}_values(x, f); return f[0];"
            yield "}"
        return
    labels = machine.classes.tolist()
    kind = "char *const" if isinstance(labels[0], str) else "double"
    text = [_string(v) if isinstance(v, str) else c_number(v) for v in labels]
    yield f"const {kind} {name}_classes[{len(text)}] = {{{', '.join(text)}}};"
    yield from decision(machine, name)
    yield f"int {name}_predict(const double *x) {{"
    yield f"  double f[{t}]; {name}_values(x, f); return {name}_decision(f);"
    yield "}"
    if machine.odds is not None:
        yield from probabilities(machine, name)
