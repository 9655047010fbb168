"""Random Fourier features of kernels that depend on x − y."""

from __future__ import annotations

from collections.abc import Callable
from numbers import Integral
from typing import Any, ClassVar

import numpy as np
from sklearn.utils import check_random_state

from mercer._array import n_threads, ranges, run_tiles
from mercer._floats import LEAST_DIVISOR
from mercer._sklearn import Interval
from mercer._state import Attribute, Floats, Instance
from mercer.kernels import RBF, Exponential, Kernel, Laplacian, as_kernel
from mercer.maps._base import TableMap, inner_products, kernel_values, require_room, some_rows
from mercer.result import Certificate, Solution, Status

FAILURE = 1e-6  # probability with which independent frequencies break the promise
TILE_VALUES = 2**16  # angles that stay in cache between the product and their cosines
SERIAL = 2**17  # angles; fewer are not worth a second thread


class RandomFourier(TableMap):
    """Random Fourier features: φ(x)·φ(y) ≈ k(x, y), with an error like 1/√D for D columns.

    φ(x) = (cos w₁·x, …, cos w_h·x, sin w₁·x, …, sin w_h·x)/√h with h = D/2 random frequencies w,
    so that φ(x)·φ(y) is the average of cos w·(x − y), right in expectation, and φ(x)·φ(x) = 1.

    Parameters
    ----------
    n_components : int, default=100
        D, an even number (an odd one is rounded up: each frequency has a cosine and a sine).
    kernel : RBF, Exponential, Laplacian, or their names, default="rbf"
        The kernel.
    orthogonal : bool, default=True
        Whether frequencies are orthogonal in blocks of d, which lowers the error; `Laplacian`,
        whose frequencies have preferred directions, does not use it.
    random_state : int, RandomState instance or None, default=None
        Seeds the draw.
    memory : int, str or None, default=None
        The byte budget of the features; None is half of the free memory.

    Attributes
    ----------
    frequencies_ : array of shape (D/2, d)
        The rows are the w.
    kernel_ : Kernel
        The kernel, with γ bound to the training rows.
    certificate_ : Certificate
        The largest error on pairs of up to 256 training rows against ``promised``, which
        independent frequencies exceed with a probability of 1e-6 (Hoeffding); ``rms_error``. What
        is proved of a machine on top of these features is proved of the approximate problem.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import RandomFourier
    >>> X = np.random.default_rng(0).normal(size=(50, 4))
    >>> phi = RandomFourier(2000, random_state=0).fit(X)
    >>> phi.certificate_.rms_error < 0.05
    True
    """

    named_parts = {"kernel": as_kernel}
    fitted_state: ClassVar[dict[str, Attribute]] = {
        "kernel_": Instance(Kernel),
        "frequencies_": Floats("frequencies", "columns"),
    }

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "n_components": [Interval(Integral, 1, None, closed="left")],
        "orthogonal": ["boolean"],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        n_components: int = 100,
        *,
        kernel: Any = "rbf",
        orthogonal: bool = True,
        random_state: Any = None,
        memory: int | str | None = None,
    ):
        self.n_components = n_components
        self.kernel = kernel
        self.orthogonal = orthogonal
        self.random_state = random_state
        self.memory = memory

    def fit(self, X: Any, y: Any = None) -> RandomFourier:
        """Draw the frequencies and measure the error; ``y`` is not used."""
        self._validate_params()
        h = (self.n_components + 1) // 2
        kernel = _accepted(self.kernel)
        X = self._fit_table(X)
        self.kernel_ = kernel.bind(X)
        random = check_random_state(self.random_state)
        require_room(h, X.shape[1], self.memory, f"a draw of {h} frequencies")
        self.frequencies_ = draw_frequencies(self.kernel_, h, X.shape[1], self.orthogonal, random)
        proof = self._measured(X[some_rows(X.shape[0])])
        self._accept(Solution(None, Status.OPTIMAL if proof.ok else Status.DISTORTED, proof))
        return self

    def _measured(self, X: Any) -> Certificate:
        error = np.abs(inner_products(self._features(X)) - kernel_values(self.kernel_, X))
        pairs = len(error) * (len(error) - 1) // 2
        h = len(self.frequencies_)
        promised = float(np.sqrt(2.0 * np.log(2.0 * max(pairs, 1) / FAILURE) / h))
        parts = {
            "largest_error": float(error.max()),
            "rms_error": float(np.sqrt((error**2).sum() / max(2 * pairs, 1))),
            "promised": promised,
            "pairs": pairs,
        }
        about = (
            f"φ(x)·φ(y) ≈ {self.kernel_!r} by {h} frequencies; proofs on top of it are of the "
            f"approximate problem"
        )
        return Certificate("kernel error", parts["largest_error"], promised, about, parts)

    def transform(self, X: Any) -> np.ndarray:
        """Return the features of rows, shape (m, D)."""
        X = self._new_table(X)
        require_room(X.shape[0], self._n_features_out, self.memory, "n_components")
        return self._features(X)

    def _features(self, X: Any, tile: int = TILE_VALUES, workers: int | None = None) -> np.ndarray:
        W, h = self.frequencies_.T, len(self.frequencies_)
        out = np.empty((X.shape[0], 2 * h), X.dtype)

        def fill(rows: slice, worker: int) -> None:
            angles = np.asarray(X[rows].astype(np.float64, copy=False) @ W)
            np.cos(angles, out=out[rows, :h], casting="same_kind")
            np.sin(angles, out=out[rows, h:], casting="same_kind")
            out[rows] *= h**-0.5

        if workers is None:
            workers = n_threads() if X.shape[0] * h > SERIAL else 1
        run_tiles(fill, ranges(X.shape[0], max(1, tile // h)), workers)
        return out

    @property
    def _n_features_out(self) -> int:
        return 2 * len(self.frequencies_)


def _accepted(kernel: Any) -> Kernel:
    kernel = as_kernel(kernel)
    if type(kernel) not in DRAWS or not getattr(kernel, "is_plain", True):
        names = ", ".join(sorted(kind.__name__ for kind in DRAWS))
        raise ValueError(
            f"kernel must be one of {names}, without metric or exponent, whose frequencies are "
            f"known; got {kernel!r} (Nystrom takes every kernel)"
        )
    return kernel


# ---------------------------------------------------------------- frequencies (Bochner's theorem)
def draw_frequencies(kernel: Kernel, h: int, d: int, orthogonal: bool, random: Any) -> np.ndarray:
    """Return W of shape (h, d) with E cos(w·(x − y)) = k(x, y) for each row w."""
    return DRAWS[type(kernel)](float(kernel.get_params()["gamma"]), h, d, orthogonal, random)


def _rbf(gamma: float, h: int, d: int, orthogonal: bool, random: Any) -> np.ndarray:
    """exp(−γ‖δ‖²): normal with variance 2γ."""
    return np.sqrt(2.0 * gamma) * _normal(h, d, orthogonal, random)


def _exponential(gamma: float, h: int, d: int, orthogonal: bool, random: Any) -> np.ndarray:
    """exp(−γ‖δ‖): the Cauchy distribution of vectors, a normal one over a normal number."""
    spread = np.abs(random.standard_normal((h, 1)))
    return gamma * _normal(h, d, orthogonal, random) / np.maximum(spread, LEAST_DIVISOR)


def _laplacian(gamma: float, h: int, d: int, orthogonal: bool, random: Any) -> np.ndarray:
    """exp(−γ‖δ‖₁): independent Cauchy numbers; directions are not free, so none are orthogonal."""
    return gamma * random.standard_cauchy((h, d))


def _normal(h: int, d: int, orthogonal: bool, random: Any) -> np.ndarray:
    """Return normal rows; ``orthogonal`` ones are so in blocks of d, each normal by itself.

    Directions that avoid each other make the average more even: the error falls (Yu and others,
    "Orthogonal random features").
    """
    if not orthogonal:
        return random.standard_normal((h, d))
    lengths = np.sqrt(random.chisquare(d, size=(h, 1)))
    Q, R = np.linalg.qr(random.standard_normal((-(-h // d), d, d)))
    # with these signs the distribution of Q is uniform
    Q *= np.where(np.diagonal(R, axis1=1, axis2=2) < 0.0, -1.0, 1.0)[:, None, :]
    return lengths * Q.reshape(-1, d)[:h]


DRAWS: dict[type[Kernel], Callable[..., np.ndarray]] = {
    RBF: _rbf,
    Exponential: _exponential,
    Laplacian: _laplacian,
}
