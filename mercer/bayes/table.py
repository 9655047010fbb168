"""Joint distributions of discrete variables, as a table of probabilities."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

SUM_TOLERANCE = 1e-9  # by how much probabilities may miss 1


class JointTable:
    """The joint distribution of some discrete variables, one axis of a table for each.

    Parameters
    ----------
    table : array
        Probabilities ≥ 0 with sum 1; entry (i, j, …) belongs to outcome i of the first variable, j
        of the second, ….
    names : list of str, default=None
        The names of the variables; None is "x0", "x1", ….
    outcomes : dict, default=None
        The outcomes of a variable by its name, for example ``{"y": ["low", "high"]}``; 0, 1, … if
        it is missing.

    Examples
    --------
    >>> from mercer.bayes import JointTable
    >>> joint = JointTable([[0.1, 0.2], [0.3, 0.4]], ["rain", "wet"])
    >>> joint.marginal("rain").table.round(3).tolist()
    [0.3, 0.7]
    >>> joint.conditional({"rain": 0}).table.round(3).tolist()
    [0.333, 0.667]
    >>> joint.independent("rain", "wet")
    False
    """

    def __init__(
        self,
        table: Any,
        names: Sequence[str] | None = None,
        *,
        outcomes: Mapping[str, Sequence[Any]] | None = None,
    ):
        self.table = _probabilities(table)
        self.names = _names(names, self.table.ndim)
        self.outcomes = _outcomes(outcomes, dict(zip(self.names, self.table.shape, strict=True)))

    @classmethod
    def from_counts(cls, counts: Any, names: Any = None, *, outcomes: Any = None) -> JointTable:
        """Return the table of relative frequencies: the maximum likelihood estimate."""
        counts = np.asarray(counts, dtype=np.float64)
        if not np.isfinite(counts).all() or (counts < 0).any() or not counts.any():
            raise ValueError("counts must be finite and ≥ 0, and not all 0")
        return cls(counts / counts.sum(), names, outcomes=outcomes)

    def __repr__(self) -> str:
        sizes = ", ".join(f"{name}: {len(self.outcomes[name])}" for name in self.names)
        return f"JointTable({sizes})"

    # ------------------------------------------------------------ parts
    def marginal(self, names: str | int | Sequence[str | int]) -> JointTable:
        """Return the distribution of some variables, by name or axis, in the order given."""
        wanted = self._known(_listed(names))
        axes = [self.names.index(name) for name in wanted]
        rest = tuple(i for i in range(len(self.names)) if i not in axes)
        left = [name for name in self.names if name in wanted]
        table = self.table.sum(axis=rest).transpose([left.index(name) for name in wanted])
        return self._part(table, wanted)

    def conditional(self, given: Mapping[str | int, Any]) -> JointTable:
        """Return the distribution of the other variables if some outcomes are known."""
        known = self._known(list(given))
        given = dict(zip(known, given.values(), strict=True))
        rest = [name for name in self.names if name not in known]
        if not rest:
            raise ValueError("given must leave at least one variable")
        where = tuple(
            self._place(name, given[name]) if name in known else slice(None) for name in self.names
        )
        table = self.table[where]
        total = float(table.sum())
        if total == 0.0:
            raise ValueError(f"given has probability 0: {dict(given)!r}")
        return self._part(table / total, rest)

    def _part(self, table: np.ndarray, names: list[str]) -> JointTable:
        return JointTable(table, names, outcomes={name: self.outcomes[name] for name in names})

    def _known(self, given: list[Any]) -> list[str]:
        """Return names, of which some may be given as the number of an axis."""
        count = len(self.names)
        numbers = [n for n in given if isinstance(n, int | np.integer) and -count <= n < count]
        names = [self.names[n] if n in numbers else n for n in given]
        if not names or len(set(names)) < len(names) or not set(names) <= set(self.names):
            raise ValueError(f"names must be among {self.names}, each once; got {names}")
        return names

    def _place(self, name: str, outcome: Any) -> int:
        outcomes = self.outcomes[name]
        if outcome not in outcomes:
            raise ValueError(f"{name} has the outcomes {outcomes}; got {outcome!r}")
        return outcomes.index(outcome)

    # ------------------------------------------------------------ dependence
    def mutual_information(self, a: str | Sequence[str], b: str | Sequence[str]) -> float:
        """Return Σ p(a, b) log p(a, b) / (p(a) p(b)) in nats, 0 if and only if independent."""
        joint, product = self._pair(a, b)
        positive = joint > 0
        terms = joint[positive] * np.log(joint[positive] / product[positive])
        return max(float(terms.sum()), 0.0)

    def independent(
        self, a: str | Sequence[str], b: str | Sequence[str], *, tol: float = 1e-12
    ) -> bool:
        """Return whether p(a, b) = p(a) p(b), each to within ``tol``."""
        joint, product = self._pair(a, b)
        return bool(np.abs(joint - product).max() <= tol)

    def _pair(self, a: Any, b: Any) -> tuple[np.ndarray, np.ndarray]:
        """Return p(a, b) and p(a) p(b) as matrices."""
        first, second = _listed(a), _listed(b)
        joint = self.marginal(first + second).table
        rows = int(np.prod(joint.shape[: len(first)]))
        joint = joint.reshape(rows, -1)
        return joint, np.outer(joint.sum(axis=1), joint.sum(axis=0))

    # ------------------------------------------------------------ decisions
    def mean(self, name: str) -> float:
        """Return the expectation of a variable: the decision of least expected squared loss."""
        values, chance = self._numbers(name)
        return float(values @ chance)

    def median(self, name: str) -> float:
        """Return the smallest median: a decision of least expected absolute loss."""
        values, chance = self._numbers(name)
        order = np.argsort(values, kind="stable")
        sums = np.cumsum(chance[order])
        return float(values[order][np.searchsorted(sums, 0.5 - SUM_TOLERANCE)])

    def risk(self, name: str, decision: Any, loss: Callable[[Any, Any], float]) -> float:
        """Return the expectation of ``loss(outcome, decision)``."""
        chance = self.marginal(name).table
        losses = [loss(outcome, decision) for outcome in self.outcomes[name]]
        return float(np.asarray(losses, dtype=np.float64) @ chance)

    def _numbers(self, name: str) -> tuple[np.ndarray, np.ndarray]:
        chance = self.marginal(name).table
        values = np.asarray(self.outcomes[name])
        if values.dtype.kind not in "biuf":
            raise TypeError(f"the outcomes of {name} must be numbers; got {self.outcomes[name]}")
        return values.astype(np.float64), chance


def _listed(names: Any) -> list[Any]:
    return [names] if isinstance(names, str | int | np.integer) else list(names)


def _probabilities(table: Any) -> np.ndarray:
    table = np.asarray(table)
    if table.dtype.kind not in "biuf" or table.ndim == 0 or table.size == 0:
        raise ValueError(f"table must be an array of probabilities; got {table!r}")
    table = table.astype(np.float64)
    if not np.isfinite(table).all() or table.min() < 0 or abs(table.sum() - 1.0) > SUM_TOLERANCE:
        raise ValueError(
            f"table must hold probabilities ≥ 0 with sum 1; its minimum is {table.min()}, its sum "
            f"{table.sum()} (counts are for JointTable.from_counts)"
        )
    return table


def _names(names: Sequence[str] | None, count: int) -> list[str]:
    found = [f"x{i}" for i in range(count)] if names is None else [str(name) for name in names]
    if len(found) != count or len(set(found)) < count:
        raise ValueError(f"names must be {count} different names, one for each axis; got {names}")
    return found


def _outcomes(given: Mapping[str, Sequence[Any]] | None, sizes: dict[str, int]) -> dict[str, list]:
    given = {} if given is None else given
    if not set(given) <= set(sizes):
        raise ValueError(f"outcomes must be of {list(sizes)}; got {list(given)}")
    outcomes = {name: list(given.get(name, range(size))) for name, size in sizes.items()}
    for name, values in outcomes.items():
        if len(values) != sizes[name] or len(set(values)) < len(values):
            raise ValueError(f"{name} needs {sizes[name]} different outcomes; got {values}")
    return outcomes
