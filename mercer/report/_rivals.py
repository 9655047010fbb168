"""What a model must beat: the most frequent class or the mean, a linear model, boosted trees."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager
from functools import cache
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.exceptions import ConvergenceWarning
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from threadpoolctl import ThreadpoolController

from mercer.linear import LogisticRegression, Ridge
from mercer.meta import require_uninterrupted
from mercer.report._budget import LeftOutError, collected, some_rows
from mercer.report._rows import TableRows, Training
from mercer.report._subject import ModelAnswers, Subject
from mercer.tables import TableEncoder

MOST_CELLS = 2e7  # of the table that a rival is fitted to
FEWEST_ROWS = 1000  # of it, however wide it is
PROBE_ROWS = 20  # that are encoded to see how wide it is
MOST_TREE_CELLS = 4e6  # of the table, times the trees of a step: one for each class
FEW_CELLS = 1_000_000  # for which one thread is enough
FEWEST_SECONDS = 2.0  # in which trees can be grown
CELLS_IN_THEM = 50_000  # of fewer cells they take less
TIMED_CELLS = 100_000  # by which it is seen how long they take
AMPLE_SECONDS = 60.0  # in which the most of them can be grown anywhere
LINEAR, TREES = "linear model", "boosted trees"


# ---------------------------------------------------------------- the models
def baseline(y: Any, *, classes: Any = None) -> tuple[str, Any]:
    """Return the name and the fitted model of a rule that does not look at the rows.

    Parameters
    ----------
    y : array of shape (n,)
        The targets of the training rows.
    classes : array, default=None
        Classes that are to have a probability, be it 0; None means that y is numbers.

    Returns
    -------
    str, estimator
        "always 'no'" and the most frequent class, or "the mean" and the mean.

    Examples
    --------
    >>> from mercer.report import baseline
    >>> name, model = baseline(["no", "yes", "no"], classes=["no", "yes"])
    >>> name, model.predict([[1.0]]).tolist(), model.predict_proba([[1.0]]).round(2).tolist()
    ("always 'no'", ['no'], [[0.67, 0.33]])
    """
    y = np.asarray(y)
    if classes is None:
        return "the mean", DummyRegressor().fit(np.zeros((len(y), 1)), y)
    seen, counts = np.unique(y, return_counts=True)
    targets = np.concatenate([y, np.asarray(classes)])
    weight = (np.arange(len(targets)) < len(y)).astype(np.float64)
    rule = DummyClassifier(strategy="prior").fit(np.zeros((len(targets), 1)), targets, weight)
    return f"always {seen.tolist()[counts.argmax()]!r}", rule


def linear_model(X: Any, y: Any, *, classes: bool, time_limit: float | None = None) -> Any:
    """Return logistic regression or ridge regression on standardised columns, fitted.

    Parameters
    ----------
    X : array or sparse matrix of shape (n, d)
        Encoded rows: finite numbers.
    y : array of shape (n,)
        Their targets.
    classes : bool
        Whether the targets are classes.
    time_limit : float, default=None
        Seconds for the fit; out of time it warns and is as good as it got.

    Returns
    -------
    Pipeline
        It takes encoded rows.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.report import linear_model
    >>> X = np.arange(20.0)[:, None]
    >>> linear_model(X, X[:, 0] > 7, classes=True).predict([[0.0], [19.0]])
    array([False,  True])
    """
    last = LogisticRegression(time_limit=time_limit) if classes else Ridge()
    return make_pipeline(StandardScaler(with_mean=not sp.issparse(X)), last).fit(X, y)


def boosted_trees(X: Any, y: Any, *, classes: bool, random_state: int = 0) -> Any:
    """Return scikit-learn's histogram gradient boosting with its defaults, fitted.

    Parameters
    ----------
    X : array of shape (n, d)
        Encoded rows: finite numbers.
    y : array of shape (n,)
        Their targets.
    classes : bool
        Whether the targets are classes.
    random_state : int, default=0
        Decides which rows stop it early, if there are many.

    Returns
    -------
    estimator

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.report import boosted_trees
    >>> X = np.arange(100.0)[:, None]
    >>> boosted_trees(X, X[:, 0] > 37, classes=True).predict([[0.0], [99.0]])
    array([False,  True])
    """
    with tree_threads(np.size(X)):
        return _boosted(X, y, classes, random_state)


def tree_threads(cells: int) -> AbstractContextManager[Any]:
    """Return a block in which trees take one thread for so few cells: waking others costs more."""
    return _threads().limit(limits=1 if cells < FEW_CELLS else None, user_api="openmp")


@cache
def _threads() -> ThreadpoolController:
    return ThreadpoolController()  # it looks through all libraries, which takes milliseconds


def _boosted(X: Any, y: Any, classes: bool, random_state: int) -> Any:
    if not classes:
        return HistGradientBoostingRegressor(random_state=random_state).fit(X, y)
    splittable = np.unique(y, return_counts=True)[1].min() > 1  # rows that stop it early are split
    early: Any = "auto" if splittable else False
    return HistGradientBoostingClassifier(early_stopping=early, random_state=random_state).fit(X, y)


# ---------------------------------------------------------------- their answers
def given_rivals(
    models: Mapping[str, Any], subject: Subject, rows: TableRows, own: ModelAnswers
) -> dict[str, ModelAnswers]:
    """Let fitted models answer the same rows."""
    found = {}
    for name, model in models.items():
        rival = Subject.of(model, name=f"rivals[{name!r}]")
        if rival.task != subject.task:
            raise ValueError(f"rivals[{name!r}] does not predict the same kind of target as model")
        found[str(name)] = _answers(rival, rows.data, own)
    return found


def usual_rivals(
    subject: Subject,
    rows: TableRows,
    own: ModelAnswers,
    train: Training | None,
    seconds: float,
    most_cells: float = MOST_CELLS,
) -> tuple[dict[str, ModelAnswers], list[str]]:
    """Return the answers of a baseline and, with training rows, of other models; and words.

    The others see columns as the examined model encodes them; where that leaves texts, strings or
    series to its kernel, they see them as `TableEncoder` does.
    """
    name, rule = baseline(own.y if train is None else train[1], classes=own.labels)
    first = _answers(Subject(rule), rows.data, own)
    if train is None:
        note = "no training rows were given: the baseline is taken from the rows that are judged"
        return {f"{name} (of these rows)": first}, [note]
    found: dict[str, ModelAnswers] = {name: first}
    words: list[str] = []
    try:
        X, y, encode, words = _encoded(subject, train, own.seed, most_cells)
        columns = _plain(encode(rows.data))
        for rival, model, told in _fitted(subject, X, y, seconds, own.seed):
            words += told
            if model is not None:
                with tree_threads(_cells(columns)):
                    found[rival] = _answers(Subject(model), columns, own)
        if not _can_grow_trees(X, seconds):
            words.append("there was no time to compare with boosted trees")
    except LeftOutError as reason:
        words = [*words, f"no other models to compare with: {reason}"]
    return found, words


def _answers(rival: Subject, X: Any, own: ModelAnswers) -> ModelAnswers:
    return ModelAnswers.of(rival, X, own.y).drawn_like(own)


def _encoded(
    subject: Subject, train: Training, seed: int, most_cells: float
) -> tuple[Any, np.ndarray, Callable[[Any], Any], list[str]]:
    """Return training rows as numbers, not too many, what made them so, and words on it."""
    classes = subject.task == "classify"
    if subject.pairwise or subject.takes_objects:
        raise LeftOutError("the rows have no columns of numbers")
    if classes and len(np.unique(train[1])) < 2:
        raise LeftOutError("the training rows are of one class")
    rows, y = train
    words = []
    encode = _encoding(subject, rows)
    width = _width(encode(rows.take(np.arange(min(len(rows), PROBE_ROWS))).data))
    most = max(int(most_cells / max(width, 1)), FEWEST_ROWS)
    if len(rows) > most:
        part = np.random.default_rng(seed).choice(len(rows), most, replace=False)
        rows, y = rows.take(part), y[part]
        words.append(f"the models to compare with were fitted to {most:,} of the training rows")
    X = encode(rows.data)
    if not _is_table(X):
        raise LeftOutError("they need finite numbers")
    return _plain(X), y, encode, words


def _encoding(subject: Subject, rows: TableRows) -> Callable[[Any], Any]:
    """Return what makes numbers of rows: the model's own steps, or a `TableEncoder`."""
    kernel = subject.kernel
    if kernel is None or kernel.domain != "table":
        return subject.columns
    try:
        return TableEncoder().fit(rows.data).transform
    except ValueError as error:
        raise LeftOutError(str(error)) from None


def _plain(X: Any) -> Any:
    """Return a table without names, so that all rivals take it."""
    return X if sp.issparse(X) else np.asarray(X)


def _fitted(
    subject: Subject, X: Any, y: np.ndarray, seconds: float, seed: int
) -> Iterator[tuple[str, Any, list[str]]]:
    """Yield the name of each model to compare with, the fitted model or None, and words on it."""
    classes = subject.task == "classify"
    if not subject.is_linear:
        yield LINEAR, *_linear(X, y, classes, seconds, seed)
    if not sp.issparse(X) and _can_grow_trees(X, seconds):  # of a sparse table trees see little
        yield TREES, *_trees(X, y, classes, seconds, seed)


def _can_grow_trees(X: Any, seconds: float) -> bool:
    return seconds > FEWEST_SECONDS * min(_cells(X) / CELLS_IN_THEM, 1.0)


def _linear(
    X: Any, y: np.ndarray, classes: bool, seconds: float, seed: int
) -> tuple[Any, list[str]]:
    """Return a linear model of as many rows as there is time for (None: of none), and words on it.

    One that stops before its optimum may answer nonsense, which would flatter the model beside it.
    """
    part, rng = np.arange(len(y)), np.random.default_rng(seed)
    while True:
        seconds /= 2.0
        with collected(ConvergenceWarning) as told:
            model = linear_model(X[part], y[part], classes=classes, time_limit=seconds)
            require_uninterrupted(model)
        if getattr(model[-1], "status_", "") != "time_limit":
            break
        if len(part) <= FEWEST_ROWS:
            return None, ["there was no time to compare with a linear model"]
        part = some_rows(y, max(len(part) // 4, FEWEST_ROWS), rng, classes=classes)
    words = ["the linear model stopped short of its optimum"] if told else []
    if len(part) < len(y):
        words.append(f"there was time to fit the linear model to {len(part):,} training rows only")
    return model, words


def _trees(
    X: np.ndarray, y: np.ndarray, classes: bool, seconds: float, seed: int
) -> tuple[Any, list[str]]:
    """Return boosted trees of all rows or, of a large table, of some; and words on it."""
    width = X.shape[1] * (len(np.unique(y)) if classes else 1)  # a tree of each step for each class
    most = min(max(int(MOST_TREE_CELLS / width), FEWEST_ROWS), len(X))
    rng = np.random.default_rng(seed)

    def grown(size: int) -> Any:
        part = np.arange(len(X)) if size == len(X) else some_rows(y, size, rng, classes=classes)
        return boosted_trees(X[part], y[part], classes=classes, random_state=seed)

    size = most if seconds >= AMPLE_SECONDS else _rows_in_time(grown, width, most, seconds)
    if size < most:
        words = [f"there was time to fit the boosted trees to {size:,} training rows only"]
    else:
        words = [f"the boosted trees were fitted to {size:,} of the training rows"]
    return grown(size), words if size < len(X) else []


def _rows_in_time(grown: Callable[[int], Any], width: int, most: int, seconds: float) -> int:
    """Return to how many rows trees can be grown, by the time that a small part takes."""
    size = max(TIMED_CELLS // width, FEWEST_ROWS)
    if most <= size:
        return most
    start = time.perf_counter()
    grown(size)
    took = time.perf_counter() - start
    return int(np.clip(size * (seconds - took) / took, size, most))


def _width(table: Any) -> int:
    """Return how many numbers a row holds."""
    if sp.issparse(table):
        return int(-(-table.nnz // table.shape[0]))
    return int(table.shape[1]) if getattr(table, "ndim", 0) == 2 else 1


def _cells(table: Any) -> int:
    return int(table.nnz if sp.issparse(table) else np.size(table))


def _is_table(X: Any) -> bool:
    """Tell whether rows are finite numbers."""
    if sp.issparse(X):
        return bool(np.isfinite(X.data).all())
    table = np.asarray(X)
    return table.ndim == 2 and table.dtype.kind in "biuf" and bool(np.isfinite(table).all())
