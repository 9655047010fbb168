"""The kernel as an object: parameters, an algebra, a known definiteness, blocks of values."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np

from mercer._array import allocate, as_objects, as_table, check_out
from mercer._parameters import ParameterValue
from mercer._sklearn import Interval
from mercer.kernels.frames import ALL, as_columns
from mercer.kernels.powers import integer_power
from mercer.kernels.sample import Pair, Sample, inverse_lengths
from mercer.kernels.tiles import fill_tiles

PSD, INDEFINITE, UNKNOWN = "psd", "indefinite", "unknown"


class Kernel(ParameterValue):
    """A function k(x, y) with parameters, an algebra and a known definiteness.

    Kernels are values: ``k(X)``, ``k(X, Y)``, ``2.0 * k1 + k2 * k3``, ``k ** 2``. A new one on
    vectors derives from `VectorKernel`, on objects it has ``_fill(pair, out)``, ``_diagonal(X)``.
    """

    _on: ClassVar[type[Any]]  # `On` derives from this class, and is set where it is defined
    __array_ufunc__ = None  # an array times a kernel is an error, not an array of kernels

    # ------------------------------------------------------------ what a kernel says of itself
    @property
    def definiteness(self) -> str:
        """``"psd"``, ``"indefinite"`` or ``"unknown"``."""
        return UNKNOWN

    @property
    def symmetric(self) -> bool:
        """Whether k(x, y) = k(y, x) is known to hold."""
        return all(part.symmetric for part in self.parts())

    @property
    def domain(self) -> str:
        """``"vectors"``, tables of numbers; ``"table"``, columns of any kind; or ``"objects"``."""
        needed = {part.domain for part in self.parts()}
        return next((d for d in ("vectors", "table") if d in needed), "objects")

    @property
    def releases_gil(self) -> bool:
        """Whether tiles may be computed side by side in threads."""
        return bool(self.parts()) and all(p.releases_gil for p in self.parts())

    def parts(self) -> tuple[Kernel, ...]:
        """Return the kernels that this one is made from."""
        return tuple(p for p in self.get_params(deep=False).values() if isinstance(p, Kernel))

    def leaves(self) -> Iterator[Kernel]:
        """Yield the kernels of the expression that have no parts."""
        if not (parts := self.parts()):
            yield self
        for part in parts:
            yield from part.leaves()

    def _uses(self) -> Counter[Any]:
        """Count how often the expression needs each statistic."""
        return Counter(getattr(leaf, "shares", "none") for leaf in self.leaves())

    # ------------------------------------------------------------ values
    def __call__(self, X: Any, Y: Any = None) -> np.ndarray:
        """Return the matrix k(x_i, y_j), shape (n, m); ``Y=None`` means ``Y = X``.

        Values that depend on data (``gamma="scale"``) are bound to Y, the sample that the columns
        stand for (the training sample in ``k(X_new, X_train)``).
        """
        return self.block(X, Y)

    def block(self, X: Any, Y: Any = None, out: np.ndarray | None = None) -> np.ndarray:
        """Return k(x_i, y_j), shape (n, m), written into ``out`` if it is given."""
        right = self.sample(X if Y is None else Y, "X" if Y is None else "Y")
        left = right if Y is None else self.sample(X, "X")
        kernel = self.bind(right)
        return kernel.block_of(left, right, out)

    def block_of(self, X: Sample, Y: Sample, out: np.ndarray | None = None) -> np.ndarray:
        """Return k(x_i, y_j) of two samples by a bound kernel (no checks of the rows)."""
        self.check_pair(X, Y)
        dtype = np.result_type(X.dtype, Y.dtype)
        if out is None:
            out = allocate((len(X), len(Y)), dtype)
        else:
            check_out(out, (len(X), len(Y)))
        fill_tiles(self, X, Y, out)
        return out

    def diagonal(self, X: Any) -> np.ndarray:
        """Return k(x_i, x_i), shape (n,)."""
        sample = self.sample(X, "X")
        return self.bind(sample).diagonal_of(sample)

    def diagonal_of(self, X: Sample, dtype: Any = None) -> np.ndarray:
        """Return k(x_i, x_i) of a sample by a bound kernel."""
        return np.asarray(self._diagonal(X)).astype(dtype or X.dtype)

    def sample(self, X: Any, name: str = "X") -> Sample:
        """Return checked rows, ready for this kernel."""
        if isinstance(X, Sample):
            return X
        if self.domain == "vectors":
            return Sample(as_table(X, name, type(self).__name__))
        if self.domain == "table":
            read = [getattr(leaf, "columns", ALL) for leaf in self.leaves()]
            return Sample(as_columns(X, name, read))
        return Sample(as_objects(X, name))

    def check_pair(self, X: Sample, Y: Sample) -> None:
        """Raise if the rows of the two samples do not belong together."""
        for part in self.parts():
            part.check_pair(X, Y)

    def check_training(self, X: Sample) -> None:
        """Raise if a sample cannot be one to learn from."""
        self.check_pair(X, X)
        for part in self.parts():
            part.check_training(X)

    def bind(self, X: Any, weights: np.ndarray | None = None) -> Kernel:
        """Return this kernel with checked parameters and data-dependent ones made concrete.

        With ``weights`` (≥ 0, one for each row) a row counts as often as its weight says.
        """
        sample = self.sample(X)
        self.check()
        own = self.get_params(deep=False)
        parts = {n: v.bind(sample, weights) for n, v in own.items() if isinstance(v, Kernel)}
        return type(self)(**{**own, **parts, **self._bound_values(sample, weights)})

    def _bound_values(self, X: Sample, weights: np.ndarray | None) -> dict[str, Any]:
        """Return the parameters that the sample decides, as numbers."""
        return {}

    def grid(self, X: Sample) -> dict[str, tuple[Any, ...]]:
        """Return values that a search may try for the kernel's own parameters on such rows."""
        return {}

    def _fill(self, pair: Pair, out: np.ndarray) -> None:
        """Write k(x_i, y_j) into a tile."""
        raise NotImplementedError

    def _diagonal(self, X: Sample) -> np.ndarray:
        raise NotImplementedError

    def _fill_normalized(self, pair: Pair, out: np.ndarray) -> None:
        """Write k(x, y) / √(k(x, x) k(y, y)) into a tile; 0 where k(x, x) = 0."""
        self._fill(pair, out)
        out *= self._inverse_lengths(pair.X)[:, None]
        out *= self._inverse_lengths(pair.Y)[None, :]

    def _diagonal_normalized(self, X: Sample) -> np.ndarray:
        return (self._inverse_lengths(X) > 0).astype(np.float64)

    def _inverse_lengths(self, X: Sample) -> np.ndarray:
        products = self.domain == "vectors" and "inner" in self._uses()  # 0 for rows of zeros alone
        return inverse_lengths(self._cached_diagonal(X), X.data if products else None)

    def _cached_diagonal(self, X: Sample) -> np.ndarray:
        whole = X.summary(("diagonal", self), lambda _: np.asarray(self._diagonal(X.root)))
        return whole[X.index]

    # ------------------------------------------------------------ algebra
    def __add__(self, other: Any) -> Kernel:
        return _combine(Sum, self, other)

    def __radd__(self, other: Any) -> Kernel:
        return _combine(Sum, other, self)

    def __mul__(self, other: Any) -> Kernel:
        return _combine(Product, self, other)

    def __rmul__(self, other: Any) -> Kernel:
        return _combine(Product, other, self)

    def __neg__(self) -> Kernel:
        return Product(Constant(-1.0), self)

    def __sub__(self, other: Any) -> Kernel:
        return self + (-other)

    def __rsub__(self, other: Any) -> Kernel:
        return other + (-self)

    def __pow__(self, exponent: Any) -> Kernel:
        if isinstance(exponent, bool) or not isinstance(exponent, Integral) or exponent < 0:
            raise ValueError(f"the exponent of a kernel must be an integer ≥ 0; got {exponent!r}")
        return Power(self, int(exponent))

    def exp(self) -> Kernel:
        """Return the kernel exp(k(x, y))."""
        return Exp(self)

    def normalized(self) -> Kernel:
        """Return the kernel k(x, y) / √(k(x, x) k(y, y)): feature vectors of length one."""
        return Normalized(self)

    def on(self, columns: Any, *, fill: Any = None) -> Kernel:
        """Return this kernel on some columns of a table: see `mercer.kernels.On`."""
        return self._on(self, columns, fill)


def _combine(node: type[Kernel], left: Any, right: Any) -> Kernel:
    sides = [Constant(float(s)) if isinstance(s, Real) else s for s in (left, right)]
    if not all(isinstance(side, Kernel) for side in sides):
        return NotImplemented
    return node(*sides)


# -------------------------------------------------------------------- nodes of the algebra
class Constant(Kernel):
    """The constant kernel k(x, y) = c, positive semidefinite for c ≥ 0."""

    releases_gil = True
    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "value": [Interval(Real, None, None, closed="neither")]
    }

    def __init__(self, value: float = 1.0):
        self.value = value

    @property
    def definiteness(self) -> str:
        return PSD if self.value >= 0 else INDEFINITE

    def _fill(self, pair: Pair, out: np.ndarray) -> None:
        out[...] = self.value

    def _diagonal(self, X: Sample) -> np.ndarray:
        return np.full(len(X), float(self.value))


class _Binary(Kernel):
    """Two kernels, combined entry by entry."""

    _parameter_constraints: ClassVar[dict[str, Any]] = {"left": [Kernel], "right": [Kernel]}

    def __init__(self, left: Kernel, right: Kernel):
        self.left = left
        self.right = right

    def _fill(self, pair: Pair, out: np.ndarray) -> None:
        self.left._fill(pair, out)
        if isinstance(self.right, Constant):
            self._merge(out, self.right.value)
            return
        right = np.empty_like(out)
        self.right._fill(pair, right)
        self._merge(out, right)

    def _diagonal(self, X: Sample) -> np.ndarray:
        out = np.array(self.left._diagonal(X), dtype=np.float64)
        self._merge(out, self.right._diagonal(X))
        return out

    def _merge(self, out: np.ndarray, right: Any) -> None:
        raise NotImplementedError

    def _left_text(self, wrapped: tuple[type, ...] = ()) -> str:
        # two bare numbers would be read as a number, not as a kernel
        both_constant = isinstance(self.left, Constant) and isinstance(self.right, Constant)
        return repr(self.left) if both_constant else _operand(self.left, wrapped)


class Sum(_Binary):
    """The sum k₁(x, y) + k₂(x, y), written ``k1 + k2``."""

    @property
    def definiteness(self) -> str:
        return PSD if self.left.definiteness == self.right.definiteness == PSD else UNKNOWN

    def _merge(self, out: np.ndarray, right: Any) -> None:
        out += right

    def __repr__(self, N_CHAR_MAX: int = 700) -> str:
        return f"{self._left_text()} + {_operand(self.right, (Sum,))}"


class Product(_Binary):
    """The product k₁(x, y) k₂(x, y), written ``k1 * k2``."""

    @property
    def definiteness(self) -> str:
        sides = {self.left.definiteness, self.right.definiteness}
        constants = [k for k in (self.left, self.right) if isinstance(k, Constant)]
        if sides == {PSD} or any(c.value == 0 for c in constants):
            return PSD
        # −c·k with k psd is not psd, and c·k with k indefinite stays so
        return INDEFINITE if constants and sides == {PSD, INDEFINITE} else UNKNOWN

    def _merge(self, out: np.ndarray, right: Any) -> None:
        out *= right

    def __repr__(self, N_CHAR_MAX: int = 700) -> str:
        return f"{self._left_text((Sum,))} * {_operand(self.right, (Sum, Product))}"


def _operand(kernel: Kernel, wrapped: tuple[type, ...] = ()) -> str:
    """Return the text of an operand: numbers bare, weaker operators in brackets."""
    if isinstance(kernel, Constant):
        return repr(float(kernel.value))
    return f"({kernel!r})" if isinstance(kernel, wrapped) else repr(kernel)


def bracketed(kernel: Kernel) -> str:
    """Return the text of a kernel, in brackets if it is an expression."""
    return f"({kernel!r})" if isinstance(kernel, (Sum, Product, Power)) else repr(kernel)


class Unary(Kernel):
    """A function of one kernel's values."""

    _parameter_constraints: ClassVar[dict[str, Any]] = {"kernel": [Kernel]}

    def __init__(self, kernel: Kernel):
        self.kernel = kernel

    def _fill(self, pair: Pair, out: np.ndarray) -> None:
        self.kernel._fill(pair, out)
        self._apply(out)

    def _diagonal(self, X: Sample) -> np.ndarray:
        out = np.array(self.kernel._diagonal(X), dtype=np.float64)
        self._apply(out)
        return out

    def _apply(self, values: np.ndarray) -> None:
        raise NotImplementedError


class Power(Unary):
    """The power k(x, y)ⁿ for an integer n ≥ 0, written ``k ** n``."""

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "kernel": [Kernel],
        "exponent": [Interval(Integral, 0, None, closed="left")],
    }

    def __init__(self, kernel: Kernel, exponent: int = 2):
        self.kernel = kernel
        self.exponent = exponent

    @property
    def definiteness(self) -> str:
        if self.exponent == 1:
            return self.kernel.definiteness
        return PSD if self.exponent == 0 or self.kernel.definiteness == PSD else UNKNOWN

    def _apply(self, values: np.ndarray) -> None:
        integer_power(values, self.exponent)

    def __repr__(self, N_CHAR_MAX: int = 700) -> str:
        return f"{bracketed(self.kernel)} ** {self.exponent}"


class Exp(Unary):
    """The exponential exp(k(x, y)), a power series with positive coefficients."""

    @property
    def definiteness(self) -> str:
        return PSD if self.kernel.definiteness == PSD else UNKNOWN

    def _apply(self, values: np.ndarray) -> None:
        np.exp(values, out=values)

    def _fill_normalized(self, pair: Pair, out: np.ndarray) -> None:
        # exp(k(x,y) − ½k(x,x) − ½k(y,y)) does not overflow where exp(k) does
        self.kernel._fill(pair, out)
        left, right = (0.5 * self.kernel._cached_diagonal(rows) for rows in (pair.X, pair.Y))
        np.exp(out - left[:, None] - right, out=out)

    def _diagonal_normalized(self, X: Sample) -> np.ndarray:
        return np.ones(len(X))  # exp(k) is never 0, though it may underflow or overflow


class Normalized(Unary):
    """The kernel k(x, y) / √(k(x, x) k(y, y)): every feature vector scaled to length one."""

    @property
    def definiteness(self) -> str:
        return self.kernel.definiteness

    def _fill(self, pair: Pair, out: np.ndarray) -> None:
        self.kernel._fill_normalized(pair, out)

    def _diagonal(self, X: Sample) -> np.ndarray:
        return self.kernel._diagonal_normalized(X)

    def __repr__(self, N_CHAR_MAX: int = 700) -> str:
        return f"{bracketed(self.kernel)}.normalized()"
