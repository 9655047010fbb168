"""A kernel on bags of vectors: samples of distributions, molecules with several shapes, clouds."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp

from mercer._array import as_table, ranges, require_equal
from mercer.kernels.base import PSD, UNKNOWN, Kernel
from mercer.kernels.sample import Pair, Sample

ROWS = 1024  # vectors of one side whose values are held at once

Bags = list[np.ndarray]


class MeanEmbedding(Kernel):
    """The mean of a kernel over all pairs of vectors of two bags, ⟨mean φ(x), mean φ(y)⟩.

    k(P, Q) = 1/(|P| |Q|) Σ over x in P, y in Q of κ(x, y): bags are compared as distributions. Its
    `normalized()` does not count how spread out a bag is.

    Parameters
    ----------
    kernel : Kernel
        κ, a kernel on vectors; what it takes from data (``gamma="scale"``) is taken from the
        vectors of all training bags, each bag counting the same.

    Examples
    --------
    >>> from mercer.kernels import Linear, MeanEmbedding
    >>> MeanEmbedding(Linear())([[[0.0, 2.0], [2.0, 2.0]], [[3.0, 1.0]]])
    array([[ 5.,  5.],
           [ 5., 10.]])
    """

    domain = "objects"
    _parameter_constraints: ClassVar[dict[str, Any]] = {"kernel": [Kernel]}

    def __init__(self, kernel: Kernel):
        self.kernel = kernel

    def check(self) -> None:
        """Raise if the kernel is none on vectors."""
        super().check()
        if self.kernel.domain != "vectors":
            raise ValueError(
                f"kernel of MeanEmbedding must be a kernel on vectors, such as RBF(); got "
                f"{self.kernel!r}"
            )

    @property
    def definiteness(self) -> str:
        return PSD if self.kernel.definiteness == PSD else UNKNOWN

    @property
    def symmetric(self) -> bool:
        return self.kernel.symmetric

    @property
    def releases_gil(self) -> bool:
        return self.kernel.releases_gil

    def parts(self) -> tuple[Kernel, ...]:
        """Return none: the inner kernel sees vectors, not the bags that this one sees."""
        return ()

    def check_pair(self, X: Sample, Y: Sample) -> None:
        self.kernel.check_pair(*(Sample(_bags(sample)[0]) for sample in (X, Y)))

    def work_per_value(self, X: Sample) -> int:
        """Return about how many operations one value costs."""
        bags = _bags(X)
        return 32 * (sum(map(len, bags)) // len(bags)) ** 2

    def inside(self, X: Sample) -> Sample:
        """Return the vectors of all bags, which are the rows of the inner kernel."""
        return Sample(np.concatenate(_bags(X)))

    def bind(self, X: Any, weights: np.ndarray | None = None) -> MeanEmbedding:
        self.check()
        bags = _bags(self.sample(X))
        each = np.ones(len(bags)) if weights is None else weights
        shares = [np.full(len(bag), w / len(bag)) for bag, w in zip(bags, each, strict=True)]
        return MeanEmbedding(self.kernel.bind(np.concatenate(bags), np.concatenate(shares)))

    def _fill(self, pair: Pair, out: np.ndarray) -> None:
        self._means(_bags(pair.X), _bags(pair.Y), out)

    def _means(self, X: Bags, Y: Bags, out: np.ndarray) -> None:
        left, right = _Stacked(X), _Stacked(Y)
        out[...] = 0.0
        for rows in ranges(len(left.rows), ROWS):
            for columns in ranges(len(right.rows), ROWS):
                K = self.kernel.block_of(Sample(left.rows[rows]), Sample(right.rows[columns]))
                out += left.mean[:, rows] @ (right.mean[:, columns] @ K.T).T

    def _diagonal(self, X: Sample) -> np.ndarray:
        found, one = np.empty(len(X)), np.empty((1, 1))
        for i, bag in enumerate(_bags(X)):
            self._means([bag], [bag], one)
            found[i] = one[0, 0]
        return found


def _bags(X: Sample) -> Bags:
    return X.derive("bags", _as_bags).data


class _Stacked:
    """The vectors of all bags, and the matrix that takes the mean over each bag."""

    def __init__(self, bags: Bags):
        self.rows = np.concatenate(bags)
        sizes = [len(bag) for bag in bags]
        starts = np.concatenate([[0], np.cumsum(sizes)])
        shares = np.repeat(1.0 / np.array(sizes), sizes)
        shape = (len(bags), len(self.rows))
        self.mean = sp.csr_array((shares, np.arange(len(self.rows)), starts), shape=shape)


def _as_bags(data: Any) -> Bags:
    """Return each bag as a table of finite numbers, or say which is none."""
    bags = [_one_bag(item, place) for place, item in enumerate(data)]
    columns = [bag.shape[1] for bag in bags]
    require_equal(columns, "the vectors of all bags must have the same number of columns", "bag")
    return bags


def _one_bag(item: Any, place: int) -> np.ndarray:
    dimensions = _dimensions(item)
    if dimensions != 2:
        got = {-1: "a sparse matrix", -2: "vectors of different lengths"}.get(
            dimensions, f"{dimensions} dimensions"
        )
        raise ValueError(
            f"bag {place} must be a table of vectors, of shape (vectors, columns); got {got}"
        )
    return np.asarray(as_table(item, f"bag {place}", "MeanEmbedding"), dtype=np.float64)


def _dimensions(item: Any) -> int:
    """Return the number of dimensions; −1 of a sparse matrix, −2 of what is no array."""
    if sp.issparse(item):
        return -1
    try:
        return np.ndim(item)
    except ValueError:  # NumPy's word for lists of different lengths
        return -2
