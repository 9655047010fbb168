"""A problem as functions: min f(x) over x with g(x) ≤ 0 and h(x) = 0, and its Lagrangian."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np


class Multipliers(NamedTuple):
    """Lagrange multipliers: λ of the constraints g ≤ 0, ν of the constraints h = 0."""

    inequality: np.ndarray
    equality: np.ndarray


@dataclass(frozen=True)
class Constraint:
    """A function of x, one number or several, with its gradient.

    Parameters
    ----------
    function : callable
        x ↦ g(x): a number, or an array of shape (m,).
    grad : callable
        x ↦ ∇g(x): an array of shape (d,), or (m, d) with a row for each number.
    affine : bool, default=False
        Whether g(x) = Ax − b: Slater's condition then asks for g(x) ≤ 0 only.
    """

    function: Callable[[np.ndarray], Any]
    grad: Callable[[np.ndarray], Any]
    affine: bool = False

    def value(self, x: np.ndarray) -> np.ndarray:
        """Return g(x), shape (m,)."""
        return np.atleast_1d(np.asarray(self.function(x), dtype=np.float64)).ravel()

    def jacobian(self, x: np.ndarray) -> np.ndarray:
        """Return the gradients as rows, shape (m, d)."""
        return np.asarray(self.grad(x), dtype=np.float64).reshape(-1, len(x))


def affine(A: Any, b: Any) -> Constraint:
    """Return the constraint Ax − b ≤ 0 (or = 0) with a row of A for each number of b.

    Examples
    --------
    >>> from mercer.optimize import affine
    >>> affine([[1.0, 1.0]], [3.0]).value([1.0, 1.0])
    array([-1.])
    """
    A, b = np.atleast_2d(np.asarray(A, dtype=np.float64)), np.atleast_1d(np.asarray(b, dtype=float))
    if A.ndim != 2 or b.shape != (len(A),) or not (np.isfinite(A).all() and np.isfinite(b).all()):
        raise ValueError(
            f"A and b must be finite, with a row of A for each number of b; got shapes {A.shape} "
            f"and {b.shape}"
        )
    return Constraint(lambda x: A @ x - b, lambda x: A, affine=True)


@dataclass(frozen=True)
class Problem:
    """The problem min f(x) over x with g(x) ≤ 0 and h(x) = 0.

    Its Lagrangian is L(x, λ, ν) = f(x) + λᵀg(x) + νᵀh(x).

    Parameters
    ----------
    objective, grad : callable
        x ↦ f(x), a number, and x ↦ ∇f(x), an array of shape (d,).
    hess : callable, default=None
        x ↦ ∇²f(x), an array of shape (d, d).
    inequalities, equalities : sequence of Constraint or of pairs (function, gradient)
        The functions g and h; `affine` makes them from a matrix.

    Examples
    --------
    >>> from mercer.optimize import Problem, affine, kkt_residuals
    >>> above = affine([-1.0, -1.0], -2.0)  # x₀ + x₁ ≥ 2
    >>> problem = Problem(lambda x: x @ x, lambda x: 2 * x, inequalities=[above])
    >>> kkt_residuals(problem, [1.0, 1.0], [2.0]).value
    0.0
    """

    objective: Callable[[np.ndarray], float]
    grad: Callable[[np.ndarray], Any]
    hess: Callable[[np.ndarray], Any] | None = None
    inequalities: Sequence[Any] = field(default=())
    equalities: Sequence[Any] = field(default=())

    def __post_init__(self) -> None:
        for name in ("objective", "grad", *(["hess"] if self.hess is not None else [])):
            require_callable(getattr(self, name), name)
        for name in ("inequalities", "equalities"):
            object.__setattr__(self, name, _constraints(getattr(self, name), name))

    @property
    def constrained(self) -> bool:
        """Whether there are constraints."""
        return bool(self.inequalities or self.equalities)

    def g(self, x: np.ndarray) -> np.ndarray:
        """Return all g(x), which should be ≤ 0, shape (m,)."""
        return _stacked([c.value(x) for c in self.inequalities])

    def h(self, x: np.ndarray) -> np.ndarray:
        """Return all h(x), which should be 0, shape (p,)."""
        return _stacked([c.value(x) for c in self.equalities])

    def lagrangian(self, x: Any, multipliers: Any) -> float:
        """Return L(x, λ, ν) = f(x) + λᵀg(x) + νᵀh(x)."""
        x = as_point(x, "x")
        lam, nu = self.multipliers(x, multipliers)
        return float(self.objective(x)) + float(lam @ self.g(x)) + float(nu @ self.h(x))

    def lagrangian_gradient(self, x: Any, multipliers: Any) -> np.ndarray:
        """Return ∇ₓL(x, λ, ν), shape (d,)."""
        x = as_point(x, "x")
        lam, nu = self.multipliers(x, multipliers)
        total = np.array(self.grad(x), dtype=np.float64).reshape(x.shape)
        for weights, constraints in ((lam, self.inequalities), (nu, self.equalities)):
            for constraint in constraints:
                J = constraint.jacobian(x)
                total += weights[: len(J)] @ J
                weights = weights[len(J) :]
        return total

    def multipliers(self, x: np.ndarray, given: Any) -> Multipliers:
        """Return λ and ν of the right lengths from a pair, or from λ alone if there is no h."""
        m, p = len(self.g(x)), len(self.h(x))
        given = (given, ()) if not p and not _is_pair(given) else given
        try:
            parts = [np.atleast_1d(np.asarray(part, dtype=np.float64)).ravel() for part in given]
        except (TypeError, ValueError):
            parts = []
        if [len(part) for part in parts] != [m, p] or not np.isfinite(np.concatenate(parts)).all():
            raise ValueError(
                f"multipliers must be (λ, ν) with {m} and {p} finite numbers, one for each "
                f"inequality and equality; got {given!r}"
            )
        return Multipliers(*parts)


def _is_pair(given: Any) -> bool:
    """Tell (λ, ν) with an empty ν from λ itself."""
    return isinstance(given, tuple) and len(given) == 2 and np.size(given[1]) == 0


def _constraints(given: Any, name: str) -> tuple[Constraint, ...]:
    items = [given] if isinstance(given, Constraint) else list(given)
    return tuple(c if isinstance(c, Constraint) else _constraint(c, name) for c in items)


def _constraint(pair: Any, name: str) -> Constraint:
    if not (isinstance(pair, Sequence) and len(pair) == 2 and all(map(callable, pair))):
        raise TypeError(
            f"{name} must hold Constraint objects or pairs (function, gradient); got {pair!r}"
        )
    return Constraint(*pair)


def _stacked(parts: list[np.ndarray]) -> np.ndarray:
    return np.concatenate(parts) if parts else np.zeros(0)


def require_callable(function: Any, name: str) -> None:
    """Raise if an argument is not a function."""
    if not callable(function):
        raise TypeError(f"{name} must be a function of x; got {function!r}")


def as_point(x: Any, name: str) -> np.ndarray:
    """Return a copy of a finite vector in float64, or say what is wrong."""
    point = np.array(x, dtype=np.float64)
    point = point[None] if point.ndim == 0 else point
    if point.ndim != 1 or not point.size or not np.isfinite(point).all():
        raise ValueError(f"{name} must be a vector of finite numbers; its shape is {np.shape(x)}")
    return point
