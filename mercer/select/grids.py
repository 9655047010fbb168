"""Grids that suit the data: what kernels propose, λ by their size, C and ε by the targets."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
from sklearn.base import is_classifier

from mercer._array import take
from mercer._sklearn import _num_samples
from mercer.kernels import Kernel, Normalized, as_kernel
from mercer.kernels.sample import Sample

SUBSAMPLE = 500  # rows from which distances and sizes are estimated
MOST_PARTS = 3  # of more parts the combinations are too many, and each stays as it is
KNOWN = (
    "gamma and what else a kernel proposes, of up to three parts on different columns, C, lam, "
    "epsilon, nu and n_neighbors"
)


@dataclass(frozen=True)
class GridAxis:
    """One parameter and its values."""

    name: str
    values: tuple[Any, ...]

    @property
    def _scaled(self) -> tuple[Any, ...]:
        """The values without a leading 0, which has no factor to the next."""
        return self.values[1:] if self.values[:1] == (0.0,) else self.values

    @property
    def step(self) -> float:
        """The factor between neighbours; 0 if there is none and the values are all there are."""
        if len(self._scaled) < 2 or not all(isinstance(v, float) and v > 0 for v in self._scaled):
            return 0.0
        factors = np.divide(self._scaled[1:], self._scaled[:-1])
        return float(factors[0]) if np.allclose(factors, factors[0], rtol=1e-6) else 0.0

    def around(self, best: Any) -> tuple[Any, ...]:
        """Return values between ``best`` and its neighbours, and beyond if it is at the border."""
        if not self.step or best == 0.0:
            return (best,)
        half, beyond = self.step**0.5, (self.step, self.step**2)
        if best == max(self.values):
            return (best / half, best, *(best * factor for factor in beyond))
        if best == min(self._scaled):
            return (*(best / factor for factor in reversed(beyond)), best, best * half)
        return best / half, best, best * half


def axes(
    estimator: Any, X: Any, y: Any, rng: np.random.Generator, prefix: str = ""
) -> list[GridAxis]:
    """Return the axes of a first grid for an estimator on these rows.

    - the kernel itself proposes values (`Kernel.grid`): γ times the median of its own distance is
      2⁻⁶, 2⁻⁴, …, 2⁴, pieces of strings have lengths that the strings have, and so on; of two or
      three parts on different columns every other value;
    - C times the mean of k(x, x) is 10⁻¹, …, 10³; of regression 1, …, 10³ times the spread of y;
    - λ is 10⁻⁶, …, 10² times the mean of k(x, x);
    - ε is 0.02, 0.1 and 0.5 times the spread of y.
    """
    params = estimator.get_params(deep=False)
    spread = _spread(estimator, y)
    found: list[GridAxis] = []
    size = 1.0
    if params.get("kernel") is not None:
        given = as_kernel(params["kernel"])
        kernel = for_machines(given)
        if kernel != given:
            found.append(GridAxis("kernel", (kernel,)))
        sample = kernel.sample(X)
        size = _mean_diagonal(kernel, sample)
        found += _kernel_axes(kernel, sample, rng)
    if "C" in params:
        exponents = range(4) if "epsilon" in params else range(-1, 4)
        found.append(_powers("C", 10.0, exponents, spread / size))
    elif "lam" in params:
        found.append(_powers("lam", 10.0, range(-6, 3), size))
    if "epsilon" in params and not is_classifier(estimator):
        found.append(_powers("epsilon", 5.0, range(-2, 1), 0.5 * spread))
    if "nu" in params:
        found.append(GridAxis("nu", (0.05, 0.1, 0.2, 0.3, 0.5)))
    if "n_neighbors" in params:
        most = max(1, _num_samples(X) // 2)
        found.append(
            GridAxis("n_neighbors", tuple(k for k in (1, 3, 5, 9, 15, 25, 41) if k <= most))
        )
    return [GridAxis(prefix + axis.name, axis.values) for axis in found]


def _powers(name: str, base: float, exponents: range, size: float) -> GridAxis:
    """Return base^k times a size, the size itself rounded to three digits for the reader."""
    size = float(f"{size:.3g}")
    return GridAxis(name, tuple(float(base**k * size) for k in exponents))


def _spread(estimator: Any, y: Any) -> float:
    """Return the standard deviation of numerical targets, 1 for classes."""
    if y is None or is_classifier(estimator):
        return 1.0
    spread = float(np.std(np.asarray(y, dtype=np.float64), axis=0).mean())
    return spread if spread > 0 else 1.0


def _mean_diagonal(kernel: Kernel, sample: Sample) -> float:
    mean = float(kernel.bind(sample).diagonal_of(sample, np.float64).mean())
    return mean if mean > 0 else 1.0


def _kernel_axes(kernel: Kernel, sample: Sample, rng: np.random.Generator) -> Iterator[GridAxis]:
    """Yield the axes that the parts of a kernel propose, coarse ones if several parts do.

    Parts that read the same rows are told apart by their parameters: these are left as they are.
    """
    chosen = np.sort(rng.permutation(len(sample))[:SUBSAMPLE])
    parts = list(_parts(kernel, sample, "kernel"))
    readers = Counter(id(rows) for _, _, rows in parts)
    parts = [part for part in parts if readers[id(part[2])] == 1]
    if len(parts) > MOST_PARTS:
        return
    for path, part, rows in parts:
        few = Sample(take(rows.data, chosen[: len(rows)]))
        for name, values in part.grid(few).items():
            yield GridAxis(f"{path}__{name}", _thinned(values) if len(parts) > 1 else values)


def _thinned(values: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return every other value, of three or more."""
    return values[1::2] if len(values) > 2 else values


def _parts(kernel: Kernel, rows: Sample, path: str) -> Iterator[tuple[str, Kernel, Sample]]:
    """Yield the parts that propose values, how they are reached, and the rows that each reads."""
    if len(rows) and type(kernel).grid is not Kernel.grid:
        yield path, kernel, rows
    if hasattr(kernel, "inside"):
        rows = kernel.bind(rows).inside(rows)  # type: ignore[attr-defined]
    for name, part in kernel.get_params(deep=False).items():
        if isinstance(part, Kernel):
            yield from _parts(part, rows, f"{path}__{name}")


def for_machines(kernel: Kernel) -> Kernel:
    """Return the kernel with those parts normalised that machines cannot use otherwise."""
    if getattr(kernel, "needs_normalizing", False):
        return kernel.normalized()
    if isinstance(kernel, Normalized):
        return kernel
    params = kernel.get_params(deep=False)
    parts = {n: for_machines(part) for n, part in params.items() if isinstance(part, Kernel)}
    return type(kernel)(**{**params, **parts}) if parts else kernel


def candidates(axes_: list[GridAxis]) -> list[dict[str, Any]]:
    """Return all combinations of the values."""
    names = [axis.name for axis in axes_]
    return [dict(zip(names, point, strict=True)) for point in product(*(a.values for a in axes_))]
