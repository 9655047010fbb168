"""Grids that suit the data: γ by the distances, λ by the kernel's size, C and ε by the targets."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
from sklearn.base import is_classifier

from mercer._array import take
from mercer._sklearn import _num_samples
from mercer.kernels import Kernel, as_kernel
from mercer.kernels.columns import On
from mercer.kernels.radial import Radial
from mercer.kernels.sample import Sample

SUBSAMPLE = 500  # rows from which distances and sizes are estimated
WIDTHS, FEW_WIDTHS = (
    range(-6, 5, 2),
    range(-5, 4, 4),
)  # exponents of 2, of one γ and of each of several
MOST_WIDTHS = 3  # of more parts the combinations are too many, and each keeps its γ
KNOWN = (
    "gamma of a kernel with one RBF, Laplacian or Exponential part, or up to three on different "
    "columns, C, lam, epsilon, nu and n_neighbors"
)


@dataclass(frozen=True)
class Axis:
    """One parameter and its values."""

    name: str
    values: tuple[Any, ...]

    @property
    def step(self) -> float:
        """The factor between neighbours; 0 if there is none and the values are all there are."""
        if len(self.values) < 2 or not all(isinstance(v, float) and v > 0 for v in self.values):
            return 0.0
        factors = np.divide(self.values[1:], self.values[:-1])
        return float(factors[0]) if np.allclose(factors, factors[0], rtol=1e-6) else 0.0

    def around(self, best: Any) -> tuple[Any, ...]:
        """Return values between ``best`` and its neighbours, and beyond if it is at the border."""
        if not self.step:
            return (best,)
        half, beyond = self.step**0.5, (self.step, self.step**2)
        if best == max(self.values):
            return (best / half, best, *(best * factor for factor in beyond))
        if best == min(self.values):
            return (*(best / factor for factor in reversed(beyond)), best, best * half)
        return best / half, best, best * half


def axes(estimator: Any, X: Any, y: Any, rng: np.random.Generator, prefix: str = "") -> list[Axis]:
    """Return the axes of a first grid for an estimator on these rows.

    - γ times the median distance is 2⁻⁶, 2⁻⁴, …, 2⁴ (the distance that the kernel uses); of two or
      three parts on different columns 2⁻⁵, 2⁻¹ and 2³ each;
    - C times the mean of k(x, x) is 10⁻¹, …, 10³; of regression 1, …, 10³ times the spread of y;
    - λ is 10⁻⁶, …, 10² times the mean of k(x, x);
    - ε is 0.02, 0.1 and 0.5 times the spread of y.
    """
    params = estimator.get_params(deep=False)
    spread = _spread(estimator, y)
    found: list[Axis] = []
    size = 1.0
    if params.get("kernel") is not None:
        kernel = as_kernel(params["kernel"])
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
        found.append(Axis("nu", (0.05, 0.1, 0.2, 0.3, 0.5)))
    if "n_neighbors" in params:
        most = max(1, _num_samples(X) // 2)
        found.append(Axis("n_neighbors", tuple(k for k in (1, 3, 5, 9, 15, 25, 41) if k <= most)))
    return [Axis(prefix + axis.name, axis.values) for axis in found]


def _powers(name: str, base: float, exponents: range, size: float) -> Axis:
    """Return base^k times a size, the size itself rounded to three digits for the reader."""
    size = float(f"{size:.3g}")
    return Axis(name, tuple(float(base**k * size) for k in exponents))


def _spread(estimator: Any, y: Any) -> float:
    """Return the standard deviation of numerical targets, 1 for classes."""
    if y is None or is_classifier(estimator):
        return 1.0
    spread = float(np.std(np.asarray(y, dtype=np.float64), axis=0).mean())
    return spread if spread > 0 else 1.0


def _mean_diagonal(kernel: Kernel, sample: Sample) -> float:
    mean = float(kernel.bind(sample).diagonal_of(sample, np.float64).mean())
    return mean if mean > 0 else 1.0


def _kernel_axes(kernel: Kernel, sample: Sample, rng: np.random.Generator) -> Iterator[Axis]:
    """Yield an axis of γ for each part that has one, a coarse one if several read other columns.

    Parts that read the same columns are told apart by their γ alone: these are left as they are.
    """
    radial = list(_radial_parts(kernel, sample, "kernel"))
    different = len({id(rows) for _, _, rows in radial}) == len(radial)
    if not (different and 0 < len(radial) <= MOST_WIDTHS):
        return
    chosen = np.sort(rng.permutation(len(sample))[:SUBSAMPLE])
    exponents = WIDTHS if len(radial) == 1 else FEW_WIDTHS
    for path, part, rows in radial:
        distance = _median_distance(part, Sample(take(rows.data, chosen)))
        yield _powers(f"{path}__gamma", 2.0, exponents, 1.0 / distance)


def _radial_parts(kernel: Kernel, rows: Sample, path: str) -> Iterator[tuple[str, Radial, Sample]]:
    """Yield the parts with a γ, how they are reached, and the rows that each reads."""
    if isinstance(kernel, Radial):
        yield path, kernel, rows
    if isinstance(kernel, On):
        rows = kernel.bind(rows).inside(rows)
    for name, part in kernel.get_params(deep=False).items():
        if isinstance(part, Kernel):
            yield from _radial_parts(part, rows, f"{path}__{name}")


def _median_distance(kernel: Any, rows: Sample) -> float:
    """Return the median over pairs of rows of what γ is multiplied with; equal rows not counted."""
    values = kernel.distances(rows)[np.triu_indices(len(rows), 1)]
    return float(np.median(values[values > 0])) if np.any(values > 0) else 1.0


def candidates(axes_: list[Axis]) -> list[dict[str, Any]]:
    """Return all combinations of the values."""
    names = [axis.name for axis in axes_]
    return [dict(zip(names, point, strict=True)) for point in product(*(a.values for a in axes_))]
