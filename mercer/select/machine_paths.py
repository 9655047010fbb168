"""Candidates as machines that are not fitted, in the order in which one starts from the last."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from itertools import groupby
from typing import Any, NamedTuple

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from mercer._sklearn import validate_parameter_constraints
from mercer.result import Status
from mercer.select.job import Fold
from mercer.select.routes import Candidate, Group, Outcome, unfitted


class PathMachine(NamedTuple):
    """A candidate as a machine with all its parameters set, not fitted."""

    number: int
    machine: Any


def usable_machines(
    group: Group, plain: Callable[[Any], bool]
) -> tuple[list[PathMachine], list[Candidate]]:
    """Return the candidates as machines, and those that fits of their own must serve."""
    machines, apart = [], []
    finite, known = _is_finite(group.y), set[frozenset[str]]()
    for candidate in group.candidates:
        machine = unfitted(group.estimator)
        try:
            machine.set_params(**candidate.params)
            _validate(
                machine, candidate.params, all_of_them=frozenset(candidate.params) not in known
            )
            known.add(frozenset(candidate.params))
            usable = finite and plain(machine)
        except Exception:  # the fit will fail in the same way, and that is recorded
            usable = False
        if usable:
            machines.append(PathMachine(candidate.number, machine))
        else:
            apart.append(candidate)
    return machines, apart


def _validate(machine: Any, given: dict[str, Any], *, all_of_them: bool) -> None:
    """Raise if a parameter has no allowed value: one of those given, or any."""
    if all_of_them or any("__" in name for name in given):
        machine._validate_params()
    else:
        allowed = machine._parameter_constraints
        validate_parameter_constraints(allowed, given, caller_name=type(machine).__name__)


def _is_finite(y: Any) -> bool:
    return y is not None and (y.dtype.kind != "f" or bool(np.isfinite(y).all()))


def paths_along(machines: list[PathMachine], along: tuple[str, ...]) -> list[list[PathMachine]]:
    """Return lists of machines that differ in these parameters alone."""

    def others(machine: PathMachine) -> str:
        params = machine.machine.get_params(deep=False)
        return repr({k: v for k, v in params.items() if k not in (*along, "kernel")})

    return [list(same) for _, same in groupby(sorted(machines, key=others), key=others)]


def failed_path(path: list[PathMachine], fold: Fold, error: Exception) -> Iterator[Outcome]:
    for machine in path:
        yield Outcome(machine.number, fold.number, None, error=error)


def warn_of(machine: Any, status: Status) -> None:
    text = f"{type(machine).__name__}: {status.advice}"
    warnings.warn(text, ConvergenceWarning, stacklevel=3)


def spread(n: int, rows: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Return values for all n rows, 0 for those that have none."""
    out = np.zeros((n, *values.shape[1:]))
    out[rows] = values
    return out
