"""``mercer fit … --script``: the Python that repeats it, from the file to the scores."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from inspect import signature
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.model_selection import train_test_split

from mercer.cli.learn import Learned
from mercer.cli.parts import Parts
from mercer.cli.problem import TableProblem
from mercer.cli.unlabelled import PipelineWithOthers
from mercer.kernels import Kernel
from mercer.select.rounds import sample_rows

LINE = 12  # ranges of rows in a line
NEAR = 50  # a sample has about as many rows as were asked for: each class has its share
DROPPED = ("time_limit",)  # parameters that only say when to stop

Lines = Iterator[str]


def script(
    parts: Parts,
    learned: Learned,
    *,
    data: Path,
    target: str | None,
    test_file: Path | None,
    columns: Sequence[str] | None,
    reading: Mapping[str, Any],
    seed: int,
    command: str,
    repeat: Mapping[str, str],
) -> str:
    """Return a program that reads the same rows, fits the same model and prints its scores."""
    names, learn, test = Imports(), parts.learn, parts.test
    given = ", ".join(f"{k}={v!r}" for k, v in {"target": target, **reading}.items() if v)
    file = File(given, columns, learn)
    body = [
        *file.read(data, names),
        *(
            _split(learn, test, seed, names)
            if test_file is None
            else _held_out(learn, test, test_file, file, names)
        ),
        *_fit(parts, learned, seed, names),
        *_scores(names),
    ]
    names.add("mercer.datasets", "load_file")
    needed = [_quoted(f"{name}: {text}") for name, text in repeat.items()]
    head = [f'"""Repeats: {_quoted(command)}', "", *needed, '"""', ""]
    return "\n".join([*head, *names.lines(), "", *body]) + "\n"


def _quoted(text: str) -> str:
    """Return a text that can stand in a docstring."""
    return text.replace("\\", "\\\\").replace('"""', "'''")


class Imports:
    """The names that a program uses, by module."""

    def __init__(self) -> None:
        self._names: dict[str, set[str]] = {}

    def add(self, module: str, name: str) -> str:
        """Return a name that will be imported."""
        self._names.setdefault(module, set()).add(name)
        return name

    def lines(self) -> Lines:
        """Yield the import statements, those of other libraries first."""
        yield "import numpy as np"
        for module in sorted(self._names, key=lambda m: (m.startswith("mercer"), m)):
            yield f"from {module} import {', '.join(sorted(self._names[module]))}"

    def written(self, value: Any) -> str:
        """Return the expression that makes a value: an estimator, a kernel, a plain value."""
        if isinstance(value, Kernel):
            for name in re.findall(r"\b([A-Z]\w*)\(", repr(value)):
                self.add("mercer.kernels", name)
            return repr(value)
        if isinstance(value, BaseEstimator):
            given = ", ".join(f"{k}={self.written(v)}" for k, v in _changed(value).items())
            return f"{self.add(_module_of(type(value)), type(value).__name__)}({given})"
        if isinstance(value, np.generic):
            return repr(value.item())
        if isinstance(value, dict):
            pairs = (f"{self.written(k)}: {self.written(v)}" for k, v in value.items())
            return f"{{{', '.join(pairs)}}}"
        if isinstance(value, (list, tuple)):
            inside = ", ".join(map(self.written, value))
            return f"[{inside}]" if isinstance(value, list) else f"({inside},)"
        return repr(value)


def _module_of(kind: type) -> str:
    """Return from where a class is imported: mercer itself, or the public part of its module."""
    parts = kind.__module__.split(".")
    if parts[0] == "mercer":
        return "mercer" if hasattr(sys.modules["mercer"], kind.__name__) else ".".join(parts[:2])
    return ".".join(part for part in parts if not part.startswith("_"))


def _changed(estimator: BaseEstimator) -> dict[str, Any]:
    """Return the parameters that differ from their defaults."""
    usual = _defaults(type(estimator))
    given = estimator.get_params(deep=False)
    return {
        name: value
        for name, value in given.items()
        if name not in DROPPED and not _same(value, usual.get(name, ...))
    }


def _defaults(kind: type) -> dict[str, Any]:
    found = signature(kind).parameters.values()
    return {p.name: p.default for p in found if p.default is not p.empty}


def _same(value: Any, other: Any) -> bool:
    return value is other or (type(value) is type(other) and repr(value) == repr(other))


# ---------------------------------------------------------------- the parts of the program
@dataclass(frozen=True)
class File:
    """How a file is read: options of `load_file`, columns (None: all), the problem it is."""

    options: str
    columns: Sequence[str] | None
    problem: TableProblem

    def read(self, path: Path, names: Imports) -> Lines:
        """Yield how a file becomes rows and targets."""
        yield f"data = load_file({str(path)!r}, {self.options})"
        chosen = "" if self.columns is None else f".select({list(self.columns)!r})"
        yield f"X, y = data.X{chosen}, np.asarray(data.y)"
        if self.problem.decimal is not None:  # numbers such as 1.234,50 €
            names.add("mercer.tables.columns", "from_objects")
            names.add("mercer.tables.readings", "number_reading")
            column = f"from_objects({self.problem.target!r}, y.astype(object))"
            yield f"y = number_reading({column}, {self.problem.decimal!r}).values"
        yield f"y_of = {self._type()}"

    def _type(self) -> str:
        kinds = {"i": "int", "u": "int", "b": "bool"}
        if self.problem.task == "regress":
            return "float"
        return kinds.get(self.problem.y.dtype.kind, "str")


def _rows(name: str, rows: np.ndarray) -> Lines:
    """Yield an array of row numbers, as a range or as ranges."""
    ends = np.flatnonzero(np.diff(rows) != 1)
    starts, stops = rows[np.append(0, ends + 1)], rows[np.append(ends, len(rows) - 1)] + 1
    pairs = [f"{a}, {b}" for a, b in zip(starts, stops, strict=True)]
    if len(pairs) == 1:
        yield f"{name} = np.arange({pairs[0]})"
        return
    yield f"{name} = np.concatenate([np.arange(a, b) for a, b in ["
    for i in range(0, len(pairs), LINE):
        yield "    " + " ".join(f"({pair})," for pair in pairs[i : i + LINE])
    yield "]])"


def _taken(part: str, rows: str) -> Lines:
    yield f"X_{part}, y_{part} = X[{rows}], np.array([y_of(v) for v in y[{rows}]])"


def _split(learn: TableProblem, test: TableProblem, seed: int, names: Imports) -> Lines:
    """Yield how rows are held out: by scikit-learn if that is how it was done, else by number."""
    yield ""
    if np.isin(test.numbers, learn.numbers).any():
        yield from _all_of_them(learn)
        return
    used = np.sort(np.concatenate([learn.numbers, test.numbers])) - 1
    labels = None
    if learn.task == "classify":
        labels = np.empty(used.max() + 1, learn.y.dtype)
        labels[learn.numbers - 1], labels[test.numbers - 1] = learn.y, test.y
        labels = labels[used]
    if _is_plain_split(used, labels, learn, test, seed):
        yield from _rows("used", used)
        names.add("sklearn.model_selection", "train_test_split")
        stratify = ", stratify=[y_of(v) for v in y[used]]" if labels is not None else ""
        yield "train, test = (np.sort(part) for part in train_test_split("
        yield f"    used, test_size={len(test)}, random_state={seed}{stratify}))"
    else:
        yield from _rows("train", learn.numbers - 1)
        yield from _rows("test", test.numbers - 1)
    yield from _taken("train", "train")
    yield from _taken("test", "test")


def _all_of_them(learn: TableProblem) -> Lines:
    """Yield rows of which none are held out: the command has scored them by cross-validation."""
    yield from _rows("train", learn.numbers - 1)
    yield from _taken("train", "train")
    yield "X_test, y_test = X_train, y_train  # too few to hold some out: these have been seen"


def _is_plain_split(
    used: np.ndarray,
    labels: np.ndarray | None,
    learn: TableProblem,
    test: TableProblem,
    seed: int,
) -> bool:
    try:
        found = train_test_split(used, test_size=len(test), random_state=seed, stratify=labels)
    except ValueError:  # too few rows of a class to be drawn from each
        return False
    pairs = zip(found, (learn, test), strict=True)
    return all(np.array_equal(np.sort(rows), part.numbers - 1) for rows, part in pairs)


def _held_out(
    learn: TableProblem, test: TableProblem, path: Path, file: File, names: Imports
) -> Lines:
    """Yield how the rows of two files are taken."""
    yield from _rows("used", learn.numbers - 1)
    yield from _taken("train", "used")
    yield ""
    yield from file.read(path, names)
    yield from _rows("used", test.numbers - 1)
    yield from _taken("test", "used")


def _fit(parts: Parts, learned: Learned, seed: int, names: Imports) -> Lines:
    encoder, model = learned.model[0], learned.model[-1]
    yield ""
    yield f"encoder = {names.written(encoder)}"
    yield f"model = {names.written(model)}"
    if isinstance(learned.model, PipelineWithOthers) and parts.others is not None:
        yield from _with_others(parts.others, names)
        return
    names.add("sklearn.pipeline", "Pipeline")
    yield "Z = encoder.fit_transform(X_train)"
    if len(learned.rows) < len(parts.learn):
        yield from _sampled(parts.learn, learned.rows, seed, names)
        yield "model.fit(Z[rows], y_train[rows])"
    else:
        yield "model.fit(Z, y_train)"
    yield 'model = Pipeline([("encode", encoder), ("model", model)])'


def _with_others(others: TableProblem, names: Imports) -> Lines:
    """Yield the fit to rows that have no target, too."""
    names.add("mercer.cli.unlabelled", "PipelineWithOthers")
    yield from _rows("others", others.numbers - 1)
    yield 'steps = [("encode", encoder), ("model", model)]'
    yield "model = PipelineWithOthers(steps, others=X[others]).fit(X_train, y_train)"


def _sampled(learn: TableProblem, rows: np.ndarray, seed: int, names: Imports) -> Lines:
    """Yield which rows were fitted: by the call that drew them if it is found, else by number."""
    classes = learn.y if learn.task == "classify" else None
    for size in range(max(len(rows) - NEAR, 1), len(rows) + NEAR):
        if np.array_equal(sample_rows(len(learn), size, classes, seed), rows):
            names.add("mercer.select.rounds", "sample_rows")
            told = "y_train" if classes is not None else "None"
            yield f"rows = sample_rows(len(y_train), {size}, {told}, {seed})"
            return
    yield from _rows("rows", rows)


def _scores(names: Imports) -> Lines:
    names.add("mercer.assess", "evaluate")
    yield ""
    yield 'if __name__ == "__main__":'
    yield "    print(model)"
    yield "    print(evaluate(y_test, model.predict(X_test)))"
