"""Kernels as expressions: 0.5*rbf(gamma=0.1) + linear. Nothing is executed but the algebra.

The text, its parts, numbers and exponents are bounded, so that no expression takes long to read.
"""

from __future__ import annotations

import ast
import operator
import warnings
from collections.abc import Callable, Sequence
from inspect import signature
from typing import Any, cast

from mercer._words import count, short
from mercer.cli.errors import USAGE, CommandError
from mercer.cli.options import chosen
from mercer.kernels import Constant, Kernel
from mercer.kernels.names import NAMES

LONGEST = 1000  # characters
MOST_PARTS = 200  # names, numbers, operations and parameters
LARGEST_NUMBER = 1e100
LARGEST_EXPONENT = 1000
EXAMPLE = (
    "write e.g. rbf, 'rbf(gamma=0.5)', '0.5*rbf + linear', 'spectrum(3).normalized().on(dna)' or "
    "'rbf.on(age, hours) + words.on(remarks)'"
)

Operand = Kernel | float


def kernel_from_text(text: str) -> Kernel:
    """Return the kernel that an expression stands for, or say what is wrong with it."""
    shown = repr(short(text, 60))
    try:
        kernel = _value(_parsed(text))
    except (SyntaxError, UnicodeError):
        raise CommandError(f"kernel: {shown} is not an expression; {EXAMPLE}", USAGE) from None
    except (TypeError, ValueError, ArithmeticError) as error:
        raise CommandError(f"kernel: {shown}: {error}", USAGE) from None
    if not isinstance(kernel, Kernel):
        raise CommandError(f"kernel: {shown} is a number; {EXAMPLE}", USAGE)
    _refuse_objects(kernel, short(text, 60))
    return kernel


def _refuse_objects(kernel: Kernel, text: str) -> None:
    for leaf in kernel.leaves():
        if leaf.domain == "objects" and not isinstance(leaf, Constant):
            raise CommandError(
                f"kernel: {leaf!r} compares whole objects, such as texts: say in which column they "
                f"are, as in {text}.on(remarks)",
                USAGE,
            )


def _parsed(text: str) -> ast.expr:
    """Return the tree of an expression that is short enough."""
    if len(text) > LONGEST:
        raise ValueError(f"it has {len(text):,} characters; at most {LONGEST:,} are read")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SyntaxWarning)  # on what is refused in a moment anyway
        warnings.simplefilter("ignore", DeprecationWarning)
        tree = _tree(text)
    parts = sum(isinstance(node, (ast.expr, ast.keyword)) for node in ast.walk(tree))
    if parts > MOST_PARTS:
        raise ValueError(f"it has {parts:,} parts; at most {MOST_PARTS} are read")
    return tree


def _tree(text: str) -> ast.expr:
    try:
        return ast.parse(text.strip(), mode="eval").body
    except (MemoryError, RecursionError):  # how Python says that brackets are nested too deeply
        raise ValueError("it is nested too deeply") from None


def _value(node: ast.expr) -> Operand:
    if isinstance(node, ast.Constant) and type(node.value) in (int, float):
        return _bounded(cast(float, node.value))
    if isinstance(node, ast.Name):
        return _kernel(node.id, [])
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
        return _kernel(node.func.id, node.keywords, node.args)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        return _method(node, node.func)
    if isinstance(node, ast.BinOp) and type(node.op) in OPERATORS:
        return _bounded(OPERATORS[type(node.op)](_value(node.left), _value(node.right)))
    raise CommandError(f"kernel: cannot read {_shown(node)}; {EXAMPLE}", USAGE)


def _method(node: ast.Call, method: ast.Attribute) -> Kernel:
    """Return a kernel on columns, or normalised: the two methods that are read."""
    if method.attr == "on" and node.args and {k.arg for k in node.keywords} <= {"fill"}:
        return _on(_only_kernel(method, "on columns"), node.args, node.keywords)
    if method.attr == "normalized" and not node.args and not node.keywords:
        return _only_kernel(method, "normalised").normalized()
    raise CommandError(f"kernel: cannot read {_shown(node)}; {EXAMPLE}", USAGE)


def _only_kernel(method: ast.Attribute, what: str) -> Kernel:
    kernel = _value(method.value)
    if not isinstance(kernel, Kernel):
        raise ValueError(f"only a kernel can be {what}")
    return kernel


def _on(kernel: Kernel, args: list[ast.expr], keywords: list[ast.keyword]) -> Kernel:
    """Return a kernel on columns: names, quoted if they are no Python names, or positions."""
    columns = [_column(node) for node in args]
    fill = _literal(keywords[0].value) if keywords else None
    return kernel.on(columns[0] if len(columns) == 1 else columns, fill=fill)


def _column(node: ast.expr) -> str | int:
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Constant) and type(node.value) in (str, int):
        return cast(str | int, node.value)
    raise ValueError(
        f"{_shown(node)} is not a column: write its name, in quotes if it has blanks or signs"
    )


def _power(base: Operand, exponent: Operand) -> Operand:
    """Return a power that is found at once: those of whole numbers have no end."""
    if isinstance(exponent, Kernel):
        raise ValueError("the exponent must be a number")
    if exponent > LARGEST_EXPONENT:
        raise ValueError(f"exponents up to {LARGEST_EXPONENT:,} are read; got {exponent:g}")
    try:
        return base**exponent
    except OverflowError:
        raise ValueError(f"{base:g} ** {exponent:g} is too large") from None


OPERATORS: dict[type, Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Mult: operator.mul,
    ast.Pow: _power,
}


def _bounded(value: Operand) -> Operand:
    if isinstance(value, (int, float)) and not abs(value) <= LARGEST_NUMBER:
        raise ValueError(f"numbers up to {LARGEST_NUMBER:g} are read")
    return value


def _kernel(name: str, keywords: list[ast.keyword], args: Sequence[ast.expr] = ()) -> Kernel:
    """Return a kernel by name with its parameters, each of which is in its range."""
    known = {n: kind for n, kind in NAMES.items() if n != "precomputed"}
    name = chosen("kernel", name.lower(), known)
    names = known[name]().get_params(deep=False)
    given = _by_place(name, known[name], args)
    for keyword in keywords:
        parameter = chosen(f"kernel: parameter of {name}", str(keyword.arg or "**"), names)
        if parameter in given:
            raise ValueError(f"{parameter!r} is given twice")
        given[parameter] = _literal(keyword.value)
    kernel = known[name](**given)
    kernel.check()
    return kernel


def _by_place(name: str, kind: type[Kernel], args: Sequence[ast.expr]) -> dict[str, Any]:
    """Return the parameters that are given without a name, as in spectrum(3)."""
    placed = [
        p.name for p in signature(kind).parameters.values() if p.kind == p.POSITIONAL_OR_KEYWORD
    ]
    if len(args) > len(placed):
        raise ValueError(f"{name} takes {count(len(placed), 'parameter')} without a name at most")
    return {p: _literal(node) for p, node in zip(placed, args, strict=False)}


def _literal(node: ast.expr) -> Any:
    """Return the value of a parameter."""
    try:
        value = ast.literal_eval(node)
    except (ValueError, TypeError):
        raise CommandError(f"kernel: {_shown(node)} is not a value", USAGE) from None
    return _bounded(value)


def _shown(node: ast.expr) -> str:
    return repr(short(ast.unparse(node), 60))
