"""Models that are fuzzed, what is done to their files, and what a loaded one is asked."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import is_classifier
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, PolynomialFeatures, StandardScaler

import mercer
from mercer.io.tree import Writer
from mercer.kernels import RBF, Laplacian, Precomputed
from mercer.machines import Perceptron
from mercer.tables import TableEncoder
from tests.cases import ESTIMATORS, table
from tests.io.helpers import forge_nodes, npy

N, D = 30, 3
ROWS, NEW = table(N, D), table(5, D, seed=1)
TARGET = ROWS[:, 0] + np.sin(ROWS[:, 1])

OTHERS = [
    mercer.KNN(metric="l1"),
    mercer.KNN(2, kernel=RBF(gamma=0.5) + Laplacian(gamma=0.1)),
    mercer.KNNRegressor(3, weights="distance"),
    mercer.SVC(probability=True),
    mercer.SVC("linear", multiclass="ovr"),
    mercer.SVR(RBF(gamma=0.3) * 2.0),
    mercer.GMM(2, covariance="spherical", random_state=0),
    mercer.GaussianBayes(order=1),
    mercer.KernelRidge(lam="loo"),
    mercer.KernelRidge(landmarks=7, random_state=0),
    mercer.LogisticRegression(lam=0.01),
    mercer.MLPClassifier(activation="relu", hidden=6, max_epochs=5, random_state=0),
    mercer.PolynomialMap(3),
    Perceptron("rbf", voted=True, random_state=0),
    make_pipeline(TableEncoder(), mercer.SVC()),
    make_pipeline(StandardScaler(), PolynomialFeatures(2), mercer.Ridge()),
]
GIVEN = [  # machines on a matrix of kernel values or distances
    mercer.SVC("precomputed"),
    mercer.KernelRidge(Precomputed()),
    mercer.KernelPCA(2, kernel="precomputed"),
    mercer.EmpiricalMap("precomputed", n_components=9, random_state=0),
    mercer.Isomap(5, metric="precomputed"),
    mercer.MDS(metric="precomputed"),
]


# ---------------------------------------------------------------- subjects
def _matrix_of(estimator: Any, X: np.ndarray) -> np.ndarray:
    squares = ((X[:, None] - ROWS) ** 2).sum(axis=2)
    return np.sqrt(squares) if hasattr(estimator, "metric") else np.exp(-0.5 * squares)


def _three_classes(y: np.ndarray) -> np.ndarray:
    return np.array(["low", "middle", "high"])[np.digitize(y, np.quantile(y, [0.3, 0.7]))]


def _plain(estimator: Any) -> tuple[Any, Any]:
    return ROWS, NEW


def _given(estimator: Any) -> tuple[Any, Any]:
    return _matrix_of(estimator, ROWS), _matrix_of(estimator, NEW)


def _levels(estimator: Any) -> tuple[Any, Any]:
    return (ROWS > 0).astype(int), (NEW > 0).astype(int)


def _texts(estimator: Any) -> tuple[Any, Any]:
    words = np.array(["kernel", "margin", "trick", "proof"])
    rows, new = ([" ".join(words[row > 0]) for row in table(n, 4, n)] for n in (N, 5))
    return rows, new


def subjects(only: Sequence[str] = ()) -> list[tuple[Any, Any]]:
    """Return fitted models, all or those of these classes, each with new rows for it."""
    encoded = make_pipeline(OneHotEncoder(handle_unknown="ignore"), mercer.LinearSVC())
    dropped = make_pipeline(OneHotEncoder(drop="first", sparse_output=False), mercer.SVC())
    worded = make_pipeline(CountVectorizer(), mercer.KernelRidge())
    tables: list[tuple[Any, Callable]] = [
        *((estimator, _plain) for estimator in (*ESTIMATORS, *OTHERS)),
        *((estimator, _given) for estimator in GIVEN),
        (encoded, _levels),
        (dropped, _levels),
        (worded, _texts),
    ]
    return [
        _fitted(estimator, rows(estimator))
        for estimator, rows in tables
        if not only or type(estimator).__name__ in only
    ]


def _fitted(estimator: Any, rows: tuple[Any, Any]) -> tuple[Any, Any]:
    y = _three_classes(TARGET) if is_classifier(estimator) else TARGET
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return copy.deepcopy(estimator).fit(rows[0], y), rows[1]


# ---------------------------------------------------------------- mutations of arrays
def _with_value(value: float) -> Callable[..., Any]:
    def mutate(array: np.ndarray, rng: Any) -> np.ndarray:
        out = array.copy()
        if out.size:
            with np.errstate(all="ignore"):
                out.flat[rng.integers(out.size)] = np.array(value).astype(out.dtype)
        return out

    return mutate


def _as_type(dtype: str) -> Callable[..., Any]:
    def mutate(array: np.ndarray, rng: Any) -> np.ndarray:
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return array.astype(dtype)

    return mutate


def _cut(array: np.ndarray, rng: Any) -> np.ndarray:
    axis = rng.integers(array.ndim)
    return np.take(array, range(rng.integers(array.shape[axis] + 1)), axis)


def _lengthened(array: np.ndarray, rng: Any) -> np.ndarray:
    axis = rng.integers(array.ndim)
    return np.concatenate([array] * int(rng.integers(2, 5)), axis)


def _shuffled(array: np.ndarray, rng: Any) -> np.ndarray:
    return rng.permutation(array.ravel()).reshape(array.shape)


ARRAYS: list[Callable[[np.ndarray, Any], np.ndarray]] = [
    _cut,
    _cut,
    _lengthened,
    _shuffled,
    lambda array, rng: array[:0],
    lambda array, rng: array[..., :0],
    lambda array, rng: array.T,
    lambda array, rng: array.ravel(),
    lambda array, rng: array[None],
    lambda array, rng: array[::-1],
    lambda array, rng: np.zeros_like(array),
    *map(_with_value, (np.nan, np.inf, -np.inf, -1, -(2**31), N, 2**31, 2**62, 1e300, 5e-324)),
    *map(_as_type, ("i4", "i8", "u1", "u8", "f4", "f2", "f8", "g", "c16", "?", "U3", ">f8")),
]


# ---------------------------------------------------------------- mutations of nodes
LEAVES = [
    None,
    True,
    -1,
    0,
    1,
    7,
    2**31,
    10**12,
    -0.5,
    1e300,
    float("nan"),
    float("inf"),
    "",
    "rbf",
]
LEAVES += ["precomputed", "linear", {"range": [0, 3, 1]}, {"complex": [0.0, 1.0]}, {"bytes": "00"}]


def _change_leaf(nodes: list[Any], rng: Any) -> None:
    parts = nodes[rng.integers(len(nodes))][2]
    if parts:
        parts[rng.integers(len(parts))] = LEAVES[rng.integers(len(LEAVES))]


def _swap_references(nodes: list[Any], rng: Any) -> None:
    """Point to another node, one that is written before."""
    i = rng.integers(len(nodes))
    if i and nodes[i][2]:
        nodes[i][2][rng.integers(len(nodes[i][2]))] = {"ref": int(rng.integers(i))}


def _objects(nodes: list[Any]) -> list[Any]:
    return [node for node in nodes if node[0] == "object" and len(node[1]) > 1]


def _drop_attribute(nodes: list[Any], rng: Any) -> None:
    objects = _objects(nodes)
    _, head, parts = objects[rng.integers(len(objects))]
    i = int(rng.integers(len(parts)))
    del head[i + 1], parts[i]


def _rename_attribute(nodes: list[Any], rng: Any) -> None:
    objects = _objects(nodes)
    head = objects[rng.integers(len(objects))][1]
    head[rng.integers(1, len(head))] = head[rng.integers(1, len(head))] + "_"


def _change_class(nodes: list[Any], rng: Any) -> None:
    objects = _objects(nodes)
    names = [node[1][0] for node in objects] + ["mercer.kernels.Linear", "mercer.machines.SVC"]
    objects[rng.integers(len(objects))][1][0] = names[rng.integers(len(names))]


NODES = [_change_leaf] * 5 + [_swap_references] * 2 + [_drop_attribute, _rename_attribute]
NODES += [_change_class]


# ---------------------------------------------------------------- one case
def mutated_file(model: Any, rng: Any, path: Path) -> Path:
    """Write the file of a model of which one or two things were changed."""
    written = Writer(model)
    nodes, arrays = copy.deepcopy(written.nodes), list(written.arrays)
    for _ in range(1 + int(rng.random() < 0.2)):
        if arrays and rng.random() < 0.7:
            _change_array(nodes, arrays, rng)
        else:
            NODES[rng.integers(len(NODES))](nodes, rng)
    return forge_nodes(path, nodes, written.root, [npy(array) for array in arrays])


def _change_array(nodes: list[Any], arrays: list[np.ndarray], rng: Any) -> None:
    number = int(rng.integers(len(arrays)))
    if arrays[number].dtype.kind in "US" or not arrays[number].ndim:
        return
    arrays[number] = ARRAYS[rng.integers(len(ARRAYS))](arrays[number], rng)
    for kind, head, _ in nodes:
        if kind == "array" and head[0] == number:
            head[1] = list(range(arrays[number].ndim))


ANSWERS = (
    "predict",
    "decision_function",
    "predict_proba",
    "score_samples",
    "transform",
    "kneighbors",
)
OUT_OF_BOUNDS = "index is out of bounds"  # how compiled code says it, where it looks


class OutOfBoundsError(AssertionError):
    """Compiled code reached outside of an array."""


def outcome(path: Path, rows: Any) -> str:
    """Load a file and ask the model; return how that ended: refused, failed, answered."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            model = mercer.load(path)
        except mercer.io.ModelFileError as error:
            return "damaged" if "damaged" in str(error) else "refused"
        return max(_answer(model, name, rows) for name in ANSWERS) or "has no answer"


def _answer(model: Any, name: str, rows: Any) -> str:
    """Ask for an answer, of dense rows and, where they are taken, of sparse ones."""
    try:
        if not callable(getattr(model, name, None)):
            return ""
        getattr(model, name)(rows)
        if isinstance(rows, np.ndarray):
            getattr(model, name)(sp.csr_array(rows))
    except Exception as error:
        if isinstance(error, IndexError) and str(error) == OUT_OF_BOUNDS:
            raise OutOfBoundsError(f"{type(model).__name__}.{name}") from error
        return "failed"
    return "answered"
