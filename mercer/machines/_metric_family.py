"""Kernels whose width, exponent and metric are open."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from mercer.kernels.radial import Radial
from mercer.kernels.sample import Sample

WIDTHS = (0.5, 1.0, 2.0, 4.0, 8.0)  # in medians of the distances
NARROWEST, WIDEST = 1 / 8, 32.0  # that are looked at once there is a metric
EXPONENTS = (0.5, 1.0, 1.5, 2.0)
MEDIAN_ROWS = 250  # whose distances the median is taken of


class KernelShape(NamedTuple):
    """What a radial kernel still leaves open: the width, in median distances, and the exponent."""

    width: float
    exponent: float | None


def every_few(n: int, most: int) -> np.ndarray:
    """Return evenly spaced numbers below n, at most so many.

    As integers: rows taken by a slice with steps have gaps, and loops are compiled anew for these.
    """
    return np.arange(0, n, -(-n // most))


@dataclass
class Family:
    """A radial kernel whose width, exponent and metric are open."""

    kernel: Radial
    shapes: list[KernelShape]
    fixed_gamma: bool

    @property
    def name(self) -> str:
        return type(self.kernel).__name__

    @classmethod
    def of(cls, kernel: Radial, named: bool) -> Family:
        """Return the family of a kernel; of one that was named, not made, all is open."""
        has_exponent = named and "exponent" in kernel.get_params()
        largest = getattr(kernel, "p", 2.0)
        exponents = [q for q in EXPONENTS if q <= largest] if has_exponent else [None]
        fixed = not isinstance(kernel.gamma, str)
        widths = (1.0,) if fixed else WIDTHS
        return cls(kernel, [KernelShape(w, q) for q in exponents for w in widths], fixed)

    @property
    def open_exponent(self) -> bool:
        return len({shape.exponent for shape in self.shapes}) > 1

    def plain(self, rows: Sample, shape: KernelShape) -> Radial:
        """Return the kernel of a shape without a metric."""
        bound = self.bound(rows, None, shape)
        return type(bound)(**bound.get_params(deep=False) | {"metric": None})

    def near(self, shape: KernelShape) -> list[KernelShape]:
        """Return the shapes beside one: half and twice as wide, and with the next exponents."""
        sides = () if self.fixed_gamma else (0.5 * shape.width, 2.0 * shape.width)
        exponents = list(dict.fromkeys(known.exponent for known in self.shapes))
        place = exponents.index(shape.exponent)
        beside = exponents[max(place - 1, 0) : place + 2]
        return [
            *(shape._replace(width=width) for width in sides if NARROWEST <= width <= WIDEST),
            *(shape._replace(exponent=q) for q in beside if q != shape.exponent),
        ]

    def bound(self, rows: Sample, metric: np.ndarray | None, shape: KernelShape) -> Radial:
        """Return the kernel with a metric and a shape; the width is in medians of these rows."""
        params = self.kernel.get_params(deep=False) | {"metric": metric}
        if shape.exponent is not None:
            params["exponent"] = shape.exponent
        plain = type(self.kernel)(**params)
        unit = self._median(plain, rows)
        if self.fixed_gamma:  # the metric gives way: distances keep their size
            before = self._median(self.kernel, rows)
            factor = (before / unit) ** (plain.p / plain.gamma_power)
            ones = np.ones(rows.data.shape[1]) if metric is None else metric
            return plain.set_params(metric=ones * factor).bind(rows)  # type: ignore[return-value]
        gamma = 1.0 / (unit * shape.width**plain.gamma_power)
        return plain.set_params(gamma=gamma).bind(rows)  # type: ignore[return-value]

    @staticmethod
    def _median(kernel: Radial, rows: Sample) -> float:
        some = Sample(rows.data[every_few(len(rows), MEDIAN_ROWS)])
        values = kernel.distances(some)[np.triu_indices(len(some), 1)]
        return float(np.median(values[values > 0])) if (values > 0).any() else 1.0
