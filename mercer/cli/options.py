"""Values of options that are more than a word: names, times, kernels as expressions."""

from __future__ import annotations

import ast
import operator
import re
from collections.abc import Callable, Iterable
from typing import Any

from mercer._array import parse_memory
from mercer._words import listing, nearest
from mercer.cli.errors import USAGE, CommandError
from mercer.kernels import Kernel
from mercer.kernels.names import NAMES

OPERATORS: dict[type, Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Mult: operator.mul,
    ast.Pow: operator.pow,
}
EXAMPLE = "write e.g. rbf, 'rbf(gamma=0.5)' or '0.5*rbf + linear'"
UNITS = {"": 1.0, "s": 1.0, "sec": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0}


def chosen(option: str, name: str, table: Iterable[str]) -> str:
    """Return a name that must be one of a table's; another one is told the nearest of them."""
    names = list(table)
    if name in names:
        return name
    near = nearest(name, names)
    hint = f"did you mean {listing(near, 'or')}?" if near else f"there are {', '.join(names)}"
    raise CommandError(f"{option}: there is no {name!r}; {hint}", USAGE)


def seconds(text: str | None) -> float | None:
    """Return the seconds of "60", "60s", "2m", "1.5h" or "none"."""
    if text is None or text.strip().lower() in ("none", "inf"):
        return None
    match = re.fullmatch(r"\s*([0-9]*\.?[0-9]+)\s*([a-z]*)\s*", text.lower())
    if not match or match[2] not in UNITS or float(match[1]) <= 0:
        raise CommandError(
            f"--time-limit: {text!r} is not a time; write e.g. 60s, 5m, 1h or none", USAGE
        )
    return float(match[1]) * UNITS[match[2]]


def budget(text: str | None) -> int | None:
    """Return the bytes of "2GB" or "500MB"; None stays None."""
    try:
        return None if text is None else parse_memory(text)
    except ValueError as error:
        raise CommandError(f"--memory: {error}", USAGE) from None


def kernel_from_text(text: str) -> Kernel:
    """Return the kernel that an expression stands for; nothing is executed but the algebra."""
    try:
        kernel = _value(ast.parse(text.strip(), mode="eval").body)
    except SyntaxError:
        raise CommandError(f"kernel: {text!r} is not an expression; {EXAMPLE}", USAGE) from None
    except (TypeError, ValueError, RecursionError) as error:
        raise CommandError(f"kernel: {text!r}: {error}", USAGE) from None
    if not isinstance(kernel, Kernel):
        raise CommandError(f"kernel: {text!r} is a number; {EXAMPLE}", USAGE)
    return kernel


def _value(node: ast.expr) -> Any:
    if isinstance(node, ast.Constant) and type(node.value) in (int, float):
        return node.value
    if isinstance(node, ast.Name):
        return _kernel(node.id)()
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and not node.args:
        return _kernel(node.func.id)(**{str(k.arg): _literal(k.value) for k in node.keywords})
    if isinstance(node, ast.BinOp) and type(node.op) in OPERATORS:
        return OPERATORS[type(node.op)](_value(node.left), _value(node.right))
    raise CommandError(f"kernel: cannot read {ast.unparse(node)!r}; {EXAMPLE}", USAGE)


def _kernel(name: str) -> type[Kernel]:
    known = {n: kind for n, kind in NAMES.items() if n != "precomputed"}
    return known[chosen("kernel", name.lower(), known)]


def _literal(node: ast.expr) -> Any:
    try:
        return ast.literal_eval(node)
    except ValueError:
        raise CommandError(f"kernel: {ast.unparse(node)!r} is not a value", USAGE) from None
