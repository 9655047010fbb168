"""Groups: into which of a few colours each point of a map goes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer._words import called, count, number, short

MOST_GROUPS = 20  # colours of the style sheet, half of them with square points
STEPS = 9
MANY_NUMBERS = 12  # so many different numbers are a quantity, not names of classes


@dataclass(frozen=True)
class Groups:
    """A number of a group for each point, and how the page speaks of it.

    ``style`` is the class of the style sheet: "l" classes, "q" a quantity, "d" a deviation from
    0, "e" right or wrong.
    """

    style: str
    member: np.ndarray
    names: tuple[str, ...]
    summary: str

    @property
    def sizes(self) -> np.ndarray:
        """The number of points of each group."""
        return np.bincount(self.member, minlength=len(self.names))

    def of(self, i: int) -> str:
        """Return the class of the style sheet for a point."""
        return f"{self.style}{self.member[i]}"


def by_label(label: Any) -> Groups | None:
    """Return the groups of labels: classes, or steps of a quantity."""
    values = np.asarray(label)
    if not values.size:
        return None
    if values.dtype.kind == "f" and len(np.unique(values)) > MANY_NUMBERS:
        return _quantity(values)
    return _classes(values)


def by_error(error: Any) -> Groups | None:
    """Return the groups of errors: right and wrong, or steps of the residual."""
    values = np.asarray(error)
    if not values.size:
        return None
    if values.dtype.kind == "b":
        wrong = int(values.sum())
        told = f"{count(wrong, 'row')} of {len(values):,} predicted wrongly"
        return Groups("e", values.astype(int), ("right", "wrong"), told)
    return _deviation(values.astype(float)) if np.isfinite(values.astype(float)).any() else None


def _classes(values: np.ndarray) -> Groups:
    texts = np.array([called(v, 80) for v in values])
    names, member = np.unique(texts, return_inverse=True)
    if values.dtype.kind in "biuf":  # 10 comes after 9
        order = np.argsort([float(values[texts == name][0]) for name in names])
        names, member = names[order], np.argsort(order)[member]
    kept, member = _largest(names, member)
    sizes = np.bincount(member, minlength=len(kept))
    told = ", ".join(f"{short(n)} ({k:,})" for n, k in zip(kept, sizes, strict=True))
    return Groups("l", member, tuple(kept), f"{count(len(names), 'class', 'classes')}: {told}")


def _largest(names: np.ndarray, member: np.ndarray) -> tuple[list[str], np.ndarray]:
    """Return the largest groups as they are, and the others as one."""
    if len(names) <= MOST_GROUPS:
        return [str(name) for name in names], member
    sizes = np.bincount(member, minlength=len(names))
    kept = np.sort(np.argsort(-sizes, kind="stable")[: MOST_GROUPS - 1])
    place = np.full(len(names), MOST_GROUPS - 1)
    place[kept] = np.arange(len(kept))
    return [*map(str, names[kept]), f"{len(names) - len(kept)} other classes"], place[member]


def _quantity(values: np.ndarray) -> Groups:
    low, high = np.nanquantile(values, [0.02, 0.98])
    told = f"numbers from {number(np.nanmin(values), 3)} to {number(np.nanmax(values), 3)}"
    return Groups("q", _steps(values, low, high), _ends(low, high), told)


def _deviation(values: np.ndarray) -> Groups:
    reach = float(np.nanquantile(np.abs(values), 0.95)) or 1.0
    told = f"residuals, nine in ten within ±{number(np.nanquantile(np.abs(values), 0.9), 3)}"
    return Groups("d", _steps(values, -reach, reach), _ends(-reach, reach), told)


def _steps(values: np.ndarray, low: float, high: float) -> np.ndarray:
    with np.errstate(over="ignore", invalid="ignore"):
        share = (values / 2 - low / 2) / ((high / 2 - low / 2) or 1.0)
    return np.clip(np.nan_to_num(share) * STEPS, 0, STEPS - 1).astype(int)


def _ends(low: float, high: float) -> tuple[str, ...]:
    middle = [number(v, 3) for v in np.linspace(low, high, STEPS)]
    return (f"≤ {middle[0]}", *middle[1:-1], f"≥ {middle[-1]}")
