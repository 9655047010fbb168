"""Numbers, tables and views of rows, in C."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from mercer.io.views import CIRCLES, GIVEN, MAPPED, UNIT, RowView


def c_number(value: float) -> str:
    """Return a number that is read back to the last bit."""
    if not np.isfinite(value):
        raise ValueError(f"a model with {value} in it can't be written")
    return repr(float(value))


def c_table(head: str, values: np.ndarray) -> Iterator[str]:
    """Write a table of numbers; C has none without a row."""
    yield f"{head} = {{"
    rows = values if len(values) else np.zeros((1, values.shape[1]))
    for row in rows:
        yield "  {" + ", ".join(c_number(value) for value in row) + "},"
    yield "};"


def c_view(view: RowView, name: str) -> Iterator[str]:
    """Write a function from a row x to its z."""
    d = len(view.origin)
    if view.kind not in (GIVEN, UNIT):
        yield from c_table(f"static const double {name}_origin[1][{d}]", view.origin[None])
        table = np.atleast_2d(view.table)
        yield from c_table(
            f"static const double {name}_table[{len(table)}][{table.shape[1]}]", table
        )
    yield f"static void {name}(const double *x, double *z) {{"
    yield from (f"  {line}" for line in _body(view, name, d))
    yield "}"


def _body(view: RowView, name: str, d: int) -> list[str]:
    columns = f"for (int j = 0; j < {d}; j++)"
    moved = f"(x[j] - {name}_origin[0][j])"
    if view.kind == GIVEN:
        return [f"{columns} z[j] = x[j];"]
    if view.kind == UNIT:
        return [
            "double largest = 0.0, squares = 0.0;",
            f"{columns} largest = fmax(largest, fabs(x[j]));",
            f"{columns} {{ z[j] = largest > 0.0 ? x[j] / largest : 0.0; squares += z[j] * z[j]; }}",
            f"if (squares > 0.0) {columns} z[j] /= sqrt(squares);",
        ]
    if view.kind == CIRCLES:
        return [
            f"{columns} {{",
            f"  const double turns = {moved} / {name}_table[0][j];",
            f"  const double angle = {c_number(2.0 * np.pi)} * (turns - floor(turns));",
            f"  z[j] = 0.5 * cos(angle); z[j + {d}] = 0.5 * sin(angle);",
            "}",
        ]
    if view.kind == MAPPED:
        r = view.columns
        return [
            f"for (int o = 0; o < {r}; o++) z[o] = 0.0;",
            f"{columns} for (int o = 0; o < {r}; o++) z[o] += {moved} * {name}_table[j][o];",
        ]
    return [f"{columns} z[j] = {moved} * {name}_table[0][j];"]
