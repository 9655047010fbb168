"""Model files of LIBSVM: read those that ``svm-train`` has written, write those it can use.

A file has a header of names and values, then a line for each support vector: its coefficients and
its cells ``column:value``, counted from 1. The decision value of two classes is positive for the
label that comes first, and the offset is subtracted; here it is positive for the larger label, and
added.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import check_is_fitted

from mercer._replacing import replacing
from mercer.io.allowed import ModelFileError
from mercer.kernels import RBF, Kernel, Linear, Polynomial, Precomputed, Sigmoid
from mercer.machines import SVC, SVR, NuSVC, NuSVR, OneClassSVM
from mercer.result import Certificate

MACHINES: dict[str, type[Any]] = {
    "c_svc": SVC,
    "nu_svc": NuSVC,
    "one_class": OneClassSVM,
    "epsilon_svr": SVR,
    "nu_svr": NuSVR,
}
DENSE = 2**24  # cells of support vectors that are kept as a plain table
LARGEST_COLUMN = 2**31 - 2
NOT_PROVED = "read from a file of LIBSVM, which holds no proof"


class _File(NamedTuple):
    """The header, by name, and of each support vector the coefficients and the cells."""

    header: dict[str, list[str]]
    coefs: np.ndarray  # (n, k − 1)
    rows: sp.csr_array  # (n, d)


# ---------------------------------------------------------------- reading
def read_libsvm(path: str | Path, n_features: int | None = None) -> Any:
    """Read a model file of LIBSVM.

    Parameters
    ----------
    path : str or Path
        What ``svm-train`` or ``svm_save_model`` has written.
    n_features : int, default=None
        The number of columns (with a precomputed kernel: of training rows), which the file does not
        hold; None is the last column of any support vector.

    Returns
    -------
    model : SVC, NuSVC, OneClassSVM, SVR or NuSVR
        It answers as LIBSVM does. There is no proof in the file, so ``certificate_`` proves
        nothing, and C, ν and ε are not known. Probabilities are LIBSVM's (one slope and an offset).
    """
    try:
        file = _parsed(Path(path).read_text(encoding="utf-8"), n_features)
        return _model(file)
    except (KeyError, IndexError, ValueError) as error:
        if isinstance(error, ModelFileError):
            raise
        raise ModelFileError(f"{path} is no model file of LIBSVM: {error}") from error


def _parsed(text: str, n_features: int | None) -> _File:
    head, found, body = text.partition("\nSV\n")
    if not found:
        raise ValueError("it has no line 'SV'")
    header = {words[0]: words[1:] for words in map(str.split, head.splitlines()) if words}
    lines = [line.split() for line in body.splitlines() if line.strip()]
    n, width = int(_one(header, "total_sv")), max(1, int(_one(header, "nr_class")) - 1)
    if len(lines) != n:
        raise ValueError(f"total_sv is {n}, but there are {len(lines)} support vectors")
    coefs = _finite([float(c) for line in lines for c in line[:width]]).reshape(n, width)
    return _File(header, coefs, _cells([line[width:] for line in lines], header, n_features))


def _finite(values: list[float]) -> np.ndarray:
    found = np.array(values)
    if not np.isfinite(found).all():
        raise ValueError("it holds numbers that are not finite")
    return found


def _one(header: dict[str, list[str]], name: str) -> str:
    if len(header.get(name, ())) != 1:
        raise ValueError(f"the header must have one value of {name!r}")
    return header[name][0]


def _cells(lines: list[list[str]], header: dict[str, list[str]], n_features: Any) -> sp.csr_array:
    """Return the support vectors; of a precomputed kernel a column with their numbers."""
    pairs = [[cell.split(":") for cell in line] for line in lines]
    columns = np.array([int(c) for line in pairs for c, _ in line], dtype=np.int64)
    values = _finite([float(v) for line in pairs for _, v in line])
    given = _one(header, "kernel_type") == "precomputed"
    least = 0 if given else 1
    largest = int(columns.max(initial=0))
    if columns.min(initial=least) < least or largest > LARGEST_COLUMN:
        raise ValueError(f"columns must be between {least} and {LARGEST_COLUMN}")
    d = 1 if given else max(1, largest if n_features is None else int(n_features))
    if largest > d:
        raise ValueError(f"n_features is {d}, but there is a column {largest}")
    starts = np.concatenate([[0], np.cumsum([len(line) for line in pairs])])
    table = sp.csr_array((values, columns - least, starts), shape=(len(lines), d))
    table.sum_duplicates()
    return table


def _kernel(header: dict[str, list[str]]) -> Kernel:
    kind = _one(header, "kernel_type")
    number = lambda name: float(_one(header, name))  # noqa: E731
    if kind == "polynomial":
        return Polynomial(int(_one(header, "degree")), scale=number("gamma"), bias=number("coef0"))
    if kind == "sigmoid":
        return Sigmoid(scale=number("gamma"), bias=number("coef0"))
    known: dict[str, Any] = {"linear": Linear, "precomputed": Precomputed}
    return RBF(gamma=number("gamma")) if kind == "rbf" else known[kind]()


def _model(file: _File) -> Any:
    header, kernel = file.header, _kernel(file.header)
    kernel.check()
    machine = MACHINES[_one(header, "svm_type")]
    model = machine(kernel)
    rho = _finite([float(value) for value in header["rho"]])
    if issubclass(machine, (SVC, NuSVC)):
        order = _fill_classes(model, file, rho)
    else:
        order = np.arange(len(file.coefs))
        model.dual_coef_, model.intercept_ = file.coefs.T.copy(), -rho
        model.n_support_ = np.array([len(order)], dtype=np.int32)
        model.n_iter_ = 0
    _fill_rows(model, file, order)
    if isinstance(model, OneClassSVM):
        model.offset_ = -model.intercept_
    if isinstance(model, NuSVR):
        model.epsilon_ = float("nan")
    model.certificate_ = Certificate("relative gap, pair violation", np.nan, 0.0, NOT_PROVED)
    model.status_ = "not proved"
    return model


def _fill_rows(model: Any, file: _File, order: np.ndarray) -> None:
    """Store the support vectors, or of a given matrix the numbers of its rows."""
    model.kernel_ = model.kernel
    n, d = file.rows.shape
    if isinstance(model.kernel_, Precomputed):
        given = file.rows.toarray()[order, 0]
        if ((given < 1) | (given > LARGEST_COLUMN) | (given % 1 != 0)).any():
            raise ValueError("rows of a precomputed kernel are numbered 1, 2, …")
        numbers = given.astype(np.int64) - 1
        points = int(numbers.max(initial=0)) + 1
        model.support_, model.n_features_in_ = numbers.astype(np.int32), points
        model.shape_fit_, model.support_vectors_ = (points, points), np.empty((0, points))
        return
    rows = file.rows[order]
    model.support_vectors_ = rows.toarray() if n * d <= DENSE else rows
    model.support_, model.n_features_in_ = np.arange(n, dtype=np.int32), d
    model.shape_fit_ = (n, d)


def _fill_classes(model: Any, file: _File, rho: np.ndarray) -> np.ndarray:
    """Store classes in the order of their labels; return the order of support vectors."""
    labels = np.array([int(label) for label in file.header["label"]])
    counts = np.array([int(count) for count in file.header["nr_sv"]])
    k = len(labels)
    pairs = list(combinations(range(k), 2))
    if k < 2 or len(counts) != k or len(rho) != len(pairs) or counts.sum() != len(file.coefs):
        raise ValueError("label, nr_sv and rho do not agree")
    place = np.argsort(np.argsort(labels))  # of each class in sorted order
    owner = np.repeat(np.arange(k), counts)
    order = np.argsort(place[owner], kind="stable")
    coefs = np.zeros((k - 1, len(owner)))
    for i, j in pairs:
        sign = 1.0 if (place[i] < place[j]) == (k > 2) else -1.0
        first, last = sorted((place[i], place[j]))
        for own, other in ((i, j), (j, i)):
            members = owner == own
            row = last - 1 if place[own] == first else first
            coefs[row, members] = sign * file.coefs[members, other - (other > own)]
    model.classes_, model.dual_coef_ = np.sort(labels), coefs[:, order]
    model.n_support_ = np.bincount(place, counts, k).astype(np.int32)
    offsets = dict(zip(pairs, rho, strict=True))
    model.intercept_ = np.array([-_turned(offsets, place, *pair) for pair in pairs])
    model.n_iter_ = np.zeros(len(pairs), dtype=np.int64)
    unknown = np.full(len(pairs), np.nan)
    model.margin_ = unknown if k > 2 else np.nan
    if isinstance(model, NuSVC):
        model.C_ = unknown if k > 2 else np.nan
    if "probA" in file.header:
        _fill_probabilities(model, file.header, pairs, place)
    return order


def _turned(values: dict[tuple[int, int], float], place: np.ndarray, i: int, j: int) -> float:
    """Return a number of a pair of sorted classes; its sign is that of the decision value."""
    a, b = np.argsort(place)[[i, j]]  # in the order of the file
    value = values[(a, b)] if a < b else -values[(b, a)]
    return float(value if len(place) > 2 else -value)


def _fill_probabilities(
    model: Any, header: dict[str, list[str]], pairs: list[tuple[int, int]], place: np.ndarray
) -> None:
    """Store p = σ(a f + c): LIBSVM has 1/(1 + exp(A f + B)), of the label that comes first."""
    slopes, shifts = (
        dict(zip(pairs, _finite([float(v) for v in header[name]]).tolist(), strict=True))
        for name in ("probA", "probB")
    )
    files = [tuple(sorted(np.argsort(place)[[i, j]].tolist())) for i, j in pairs]
    model.probability = True
    model.slopes_ = np.array([[-slopes[pair]] * 2 for pair in files])
    model.shifts_ = np.array([-_turned(shifts, place, *pair) for pair in pairs])


# ---------------------------------------------------------------- writing
def write_libsvm(model: Any, path: str | Path) -> Path:
    """Write a fitted machine as a model file of LIBSVM, for ``svm-predict`` and its relatives.

    Parameters
    ----------
    model : SVC, NuSVC, OneClassSVM, SVR or NuSVR
        Fitted, with a linear, polynomial, Gaussian, sigmoid or precomputed kernel; several classes
        by pairs, labels that are integers. Probabilities are written with one slope for both
        sides, which is all that LIBSVM has.
    path : str or Path
        Where to.
    """
    path = Path(path)
    names = [name for name, kind in MACHINES.items() if type(model) is kind]
    if not names:
        known = ", ".join(kind.__name__ for kind in MACHINES.values())
        raise TypeError(f"model must be one of {known}; got {type(model).__name__}")
    check_is_fitted(model)
    if getattr(model, "cell_thresholds_", None) is not None:
        raise ValueError("a machine by cells is many machines, LIBSVM's files hold one")
    lines = [f"svm_type {names[0]}", *_kernel_lines(model.kernel_), *_machine_lines(model), "SV"]
    coefs = model.dual_coef_.T * (-1.0 if _is_turned(model) else 1.0)
    with replacing(path) as file:
        for line in lines:
            file.write(f"{line}\n".encode())
        for values, cells in zip(coefs, _cells_of(model), strict=True):
            file.write((" ".join([*map(_text, values), *cells]) + "\n").encode())
    return path


def _is_turned(model: Any) -> bool:
    """Whether LIBSVM has the other sign: of two classes the smaller label is its first."""
    return len(getattr(model, "classes_", ())) == 2


def _kernel_lines(kernel: Kernel) -> list[str]:
    if type(kernel) is Linear and kernel.bias == 0:
        return ["kernel_type linear"]
    if type(kernel) is Precomputed:
        return ["kernel_type precomputed"]
    if type(kernel) is RBF and kernel.metric is None:
        return ["kernel_type rbf", f"gamma {_text(kernel.gamma)}"]
    if type(kernel) in (Polynomial, Sigmoid):
        shape: Any = kernel
        inner = [f"gamma {_text(shape.scale)}", f"coef0 {_text(shape.bias)}"]
        if type(kernel) is Sigmoid:
            return ["kernel_type sigmoid", *inner]
        return ["kernel_type polynomial", f"degree {shape.degree}", *inner]
    raise ValueError(
        f"LIBSVM knows linear (without a bias), polynomial, Gaussian, sigmoid and precomputed "
        f"kernels; got {kernel!r}"
    )


def _machine_lines(model: Any) -> Iterator[str]:
    classes = getattr(model, "classes_", None)
    sign = 1.0 if _is_turned(model) else -1.0
    yield f"nr_class {2 if classes is None else len(classes)}"
    yield f"total_sv {len(model.support_)}"
    yield "rho " + " ".join(_text(sign * b) for b in np.atleast_1d(model.intercept_))
    if classes is None:
        return
    if not model._is_compact and len(classes) > 2:
        raise ValueError(
            "LIBSVM tells several classes apart by pairs, each with support vectors of its own; "
            f"got multiclass={model.multiclass!r} with route {getattr(model, 'route_', 'exact')!r}"
        )
    if classes.dtype.kind not in "iuf" or (classes != np.round(classes)).any():
        raise ValueError(f"LIBSVM's labels are integers; got {classes.tolist()[:5]}")
    yield "label " + " ".join(str(int(label)) for label in classes)
    if model.probability and hasattr(model, "slopes_"):
        shifts = getattr(model, "shifts_", np.zeros(len(model.slopes_)))
        yield "probA " + " ".join(_text(-a) for a in np.sqrt(model.slopes_.prod(axis=1)))
        yield "probB " + " ".join(_text(sign * c) for c in shifts)
    yield "nr_sv " + " ".join(str(int(count)) for count in model.n_support_)


def _cells_of(model: Any) -> Iterator[list[str]]:
    if isinstance(model.kernel_, Precomputed):
        yield from ([f"0:{number + 1}"] for number in model.support_)
        return
    rows = sp.csr_array(model.support_vectors_)
    for start, stop in zip(rows.indptr[:-1], rows.indptr[1:], strict=True):
        cells = sorted(zip(rows.indices[start:stop], rows.data[start:stop], strict=True))
        yield [f"{column + 1}:{_text(value)}" for column, value in cells]


def _text(value: Any) -> str:
    return repr(float(value))
