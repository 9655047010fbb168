"""Kernels as the command line writes them: ``rbf``, ``0.5*rbf(gamma=0.1) + linear``."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable
from typing import Any

from mercer.cli.errors import USAGE, CommandError
from mercer.cli.options import chosen
from mercer.kernels import Kernel
from mercer.kernels.names import NAMES

OPERATORS: dict[type, Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Mult: operator.mul,
    ast.Pow: operator.pow,
}
EXAMPLE = "write e.g. rbf, 'rbf(gamma=0.5)' or '0.5*rbf + linear'"


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
