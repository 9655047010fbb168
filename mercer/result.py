"""What a solver returns: a status that is advice, a certificate that is a proof, a solution."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from enum import Enum
from types import MappingProxyType
from typing import Any, ClassVar

import numpy as np

from mercer._display import Row, Shown, four_digits, yes_no
from mercer._state import Attribute, Floats, Instance


class Status(Enum):
    """How a solve ended; the value is what to do about it."""

    OPTIMAL = "solved to the tolerance"
    MAX_ITER = "stopped at max_iter: raise max_iter, loosen tol, or scale the columns of X"
    TIME_LIMIT = "stopped at time_limit: raise time_limit, loosen tol, or scale the columns of X"
    TIME_FOR_SOME = (
        "there was no time for a coefficient of every row: this is the best function in the span "
        "of some of them; raise time_limit, or set landmarks"
    )
    STALLED = "rounding stops further progress: scale the columns of X, or choose a smaller C"
    NOT_SEPARABLE = "the classes cannot be separated: a hard margin has no solution; use a finite C"
    NO_MARGIN = (
        "the classes overlap so much that no margin has only a share nu of the points beyond it: "
        "raise nu; certificate_ says by how much"
    )
    NOT_SEPARATED = (
        "no epoch without mistakes within max_iter: the classes may not be separable with this "
        "kernel; raise max_iter, take a richer kernel, or SVC, which allows for mistakes"
    )
    INTERRUPTED = "interrupted: this is the best value so far"
    ILL_CONDITIONED = (
        "solved, but the residual is above the tolerance: the matrix is nearly singular; raise lam "
        "or remove duplicated points"
    )
    INDEFINITE = (
        "the kernel is not positive semidefinite on this sample: the problem is not convex; look "
        "at check_kernel(kernel, X) or use another kernel"
    )
    DISTORTED = (
        "distances or kernel values are off by more than was promised: draw again with another "
        "random_state, or take more components"
    )
    DISCONNECTED = (
        "solved, but the neighbour graph falls into parts that few edges or none connect, so that "
        "the places of the parts mean little: raise n_neighbors, or fit the parts one by one"
    )
    FEWER_CLUSTERS = "fewer distinct points than clusters: some are empty; ask for fewer n_clusters"
    INACCURATE = "the proof misses its tolerance: rescale the data or ask for fewer components"
    ROUNDING = "rounding stops short of the tolerance: scale the columns of X, or loosen tol"
    SEPARATED = (
        "the classes are separated by a linear function, so that without a penalty the "
        "coefficients grow without end: use lam > 0; separating_direction_ is the function"
    )
    FELL = (
        "the likelihood fell by more than rounding: the M step does not maximise what the E step "
        "returned; check both"
    )
    COLLAPSED = (
        "a component has no rows left or has shrunk onto a few, and rests on the floor that keeps "
        "its variance from 0: ask for fewer components, raise reg, or remove repeated rows"
    )
    NO_DESCENT = (
        "no step lowers the function further: rounding is reached (loosen tol, rescale), or grad "
        "is not its gradient (see mercer.optimize.check_gradient)"
    )
    INFEASIBLE = "no point satisfies all constraints: look at the multipliers for a contradiction"
    UNBOUNDED = "the function falls without end: add bounds, or look for a wrong sign"
    MAX_EPOCHS = (
        "stopped at max_epochs: raise max_epochs or learning_rate, loosen tol, or take "
        "early_stopping=True, which stops where held-out rows are predicted best"
    )
    EARLY_STOPPED = "stopped where held-out rows were predicted best, as early_stopping asks"
    PART_LEARNED = "took in these rows in one pass; no minimum is claimed"
    NOT_STATIONARY = (
        "the loss no longer falls, but its gradient is above the tolerance: take "
        "activation='tanh', which has no kinks, or solver='lbfgs', change learning_rate, or "
        "loosen tol"
    )
    DIVERGED = "the loss grew beyond all numbers: lower learning_rate, or scale the columns of X"
    NO_BETTER_THAN_CHANCE = (
        "no stump is better than chance: no single column of X tells the classes apart; add "
        "columns, or use a machine that looks at several at once, such as SVC"
    )

    @property
    def advice(self) -> str:
        """What happened and what to do, in one sentence."""
        return self.value

    @property
    def ok(self) -> bool:
        """Whether nothing needs to be done."""
        return self in (Status.OPTIMAL, Status.EARLY_STOPPED, Status.PART_LEARNED)


@dataclass(frozen=True)
class Certificate(Shown):
    """A proof of a fit, recomputed from the returned value.

    It holds plain Python values only. Where a figure is NaN (the value, the tolerance, or any part,
    such as the gap of one of several problems) something was not solved, and nothing is proved:
    the value is then NaN, whoever makes the certificate. The parts are also attributes:
    ``certificate.residual`` is ``certificate.parts["residual"]``.

    Parameters
    ----------
    kind : str
        What is proved, for example "relative residual".
    value : float
        The quantity that must be small.
    tolerance : float
        What it must not exceed.
    about : str
        The claim in words: what was solved, on which Gram storage, with which limits.
    parts : mapping
        All figures behind the value: numbers, texts, or mappings of them.
    """

    _title = "certificate"
    fitted_state: ClassVar[dict[str, Attribute]] = {
        "kind": Instance(str),
        "value": Floats(),
        "tolerance": Floats(),
        "about": Instance(str),
        "parts": Instance(Mapping),
    }

    kind: str
    value: float
    tolerance: float
    about: str = ""
    parts: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        parts = _plain(self.parts)
        # max() passes over a NaN too easily for every maker of a proof to look for it
        value = math.nan if _holds_nan(parts) else float(self.value)
        object.__setattr__(self, "value", value)
        object.__setattr__(self, "tolerance", float(self.tolerance))
        object.__setattr__(self, "parts", parts)

    @property
    def ok(self) -> bool:
        """Whether the value is within the tolerance (NaN is not, and infinity is no tolerance)."""
        return bool(self.value <= self.tolerance < math.inf)

    def __getattr__(self, name: str) -> Any:
        parts = self.__dict__.get("parts", {})
        if name in parts:
            return parts[name]
        raise AttributeError(f"this certificate has no part {name!r}; it has {sorted(parts)}")

    def __reduce__(self) -> Any:
        return _rebuild, (self.to_dict(),)

    def with_parts(self, **parts: Any) -> Certificate:
        """Return the same proof with further parts, or others of the same names."""
        return replace(self, parts={**self.parts, **parts})

    def to_dict(self) -> dict[str, Any]:
        """Return the certificate as plain values."""
        fields = ("kind", "value", "tolerance", "about")
        return {**{name: getattr(self, name) for name in fields}, "parts": _plain(self.parts)}

    def rows(self) -> Iterator[Row]:
        """Yield the lines of the table: a name and a text."""
        yield self.kind, f"{_text(self.value)} ≤ {_text(self.tolerance)}"
        yield "proved", yes_no(self.ok)
        yield from _flat(self.parts)


def _rebuild(fields: dict[str, Any]) -> Certificate:
    return Certificate(**fields)


class _ReadOnlyMapping:
    """An attribute that is kept as a plain dict and read as a mapping that cannot be changed.

    Plain, because libraries that store models by their attributes know dicts and no more.
    """

    def __init__(self, name: str):
        self.name = name

    def __get__(self, owner: Any, kind: type | None = None) -> Any:
        return self if owner is None else MappingProxyType(vars(owner)[self.name])

    def __set__(self, owner: Any, value: Any) -> None:
        vars(owner)[self.name] = value


Certificate.parts = _ReadOnlyMapping("parts")  # type: ignore[assignment]


@dataclass(frozen=True)
class Solution:
    """What a solver returns.

    Parameters
    ----------
    value : array
        The solution (coefficients, eigenvectors, …).
    status : Status
        How the solve ended.
    certificate : Certificate
        The proof, recomputed from ``value``.
    intercept : float or array, default=0.0
        The offset b, where there is one.
    stats : mapping
        Iterations, times, bytes: what the run cost.
    state : object
        What a warm start needs.
    """

    value: Any
    status: Status
    certificate: Certificate
    intercept: Any = 0.0
    stats: Mapping[str, Any] = field(default_factory=dict)
    state: Any = None


_PLAIN = {float, int, str, bool, type(None)}


def _plain(value: Any) -> Any:
    """Return NumPy scalars and arrays as Python numbers and lists."""
    if type(value) in _PLAIN:  # most parts are: asking for an abstract class is slow
        return value
    if isinstance(value, Mapping):
        return {
            str(name): part if type(part) in _PLAIN else _plain(part)
            for name, part in value.items()
        }
    if isinstance(value, (list, tuple)):
        return type(value)(map(_plain, value))
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, np.generic):
        return value.item()
    return value


def _holds_nan(part: Any) -> bool:
    """Tell whether a plain value, or one inside it, is NaN."""
    if isinstance(part, dict):
        part = part.values()
    elif not isinstance(part, (list, tuple)):
        return part != part
    return any(one != one if type(one) in _PLAIN else _holds_nan(one) for one in part)


def _flat(parts: Mapping[str, Any], prefix: str = "") -> Iterator[Row]:
    for name, value in parts.items():
        label = prefix + name.replace("_", " ")
        if isinstance(value, Mapping):
            yield from _flat(value, label + ": ")
        elif isinstance(value, list):
            yield label, f"{len(value)} entries"
        else:
            yield label, _text(value)


def _text(value: Any) -> str:
    return four_digits(value) if isinstance(value, float) else str(value)
