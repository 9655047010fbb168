"""``mercer kernels`` and ``mercer check-kernel``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from mercer.cli.expressions import kernel_from_text
from mercer.cli.files import encoded, read
from mercer.cli.screen import Screen
from mercer.kernels import Kernel
from mercer.kernels.names import MADE_OF_MORE, NAMES
from mercer.testing import check_kernel

POINTS = 200  # random points of a check without data
COLUMNS = 3
MEANING = {
    "psd": "positive semidefinite",
    "indefinite": "not positive semidefinite",
    "unknown": "not known",
}


def kernels(screen: Screen) -> int:
    """Print all kernels, those that have a name first; return the exit code."""
    found = [_described(kind) for kind in dict.fromkeys(NAMES.values())]
    found += [_described(type(kernel), kernel) for kernel in MADE_OF_MORE]
    screen.table(
        ["name", "formula", "parameters", "definiteness"],
        [[k["name"], k["formula"], k["parameters"], k["definiteness"]] for k in found],
        left=True,
    )
    screen.blank()
    screen.say(
        "in brackets", "kernels of Python: these take a list, a kernel, a model or unit columns"
    )
    screen.say("algebra", "k1 + k2, k1 * k2, 2 * k, k ** 3: --kernel '0.5*rbf(gamma=0.1) + linear'")
    screen.result({"kernels": found})
    return 0


def _described(kind: type, example: Kernel | None = None) -> dict[str, Any]:
    names = [name for name, other in NAMES.items() if other is kind] or [f"({kind.__name__})"]
    first = (kind.__doc__ or "").strip().split("\n")[0]
    formula = first[first.index("k(x, y)") :] if "k(x, y)" in first else first
    kernel = None if kind is NAMES["precomputed"] else example or kind()
    definiteness = "unknown" if kernel is None else kernel.definiteness
    params = {} if kernel is None else kernel.get_params(deep=False)
    return {
        "name": ", ".join(names),
        "formula": formula.split(": ")[0].rstrip("."),
        "parameters": ", ".join(f"{k}={v!r}" for k, v in params.items()),
        "definiteness": MEANING[definiteness],
    }


def check(text: str, data: Path | None, seed: int, screen: Screen) -> int:
    """Check a kernel on rows; the exit code is 1 if it is none."""
    kernel = kernel_from_text(text)
    X = _points(data, seed, screen)
    report = check_kernel(kernel, X)
    screen.show(report)
    screen.result(
        {
            "kernel": repr(kernel),
            "ok": report.ok,
            "symmetric": report.symmetric,
            "positive_semidefinite": report.psd,
            "min_eigenvalue": report.min_eigenvalue,
            "reason": report.reason,
        }
    )
    return 0 if report.ok else 1


def _points(data: Path | None, seed: int, screen: Screen) -> Any:
    if data is None:
        return np.random.default_rng(seed).normal(size=(POINTS, COLUMNS))
    return encoded(read(data).X, screen)[1]
