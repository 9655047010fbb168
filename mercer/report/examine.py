"""Everything that a report shows of a model, computed: a study."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

import numpy as np

from mercer._limits import Limits
from mercer._words import count
from mercer.assess.evaluate import group_codes
from mercer.checks import Finding
from mercer.report._budget import LeftOutError, affordable_rows
from mercer.report._cases import case_tables, fitted_rows, support_table
from mercer.report._cross import CrossFitted, Folds
from mercer.report._data import data_of
from mercer.report._dependence import dependences
from mercer.report._environment import environment, version_of
from mercer.report._importance import importances
from mercer.report._objects import object_pictures
from mercer.report._pictures import cloud_of, curve_of, surface_of
from mercer.report._reasons import Reasons
from mercer.report._rivals import given_rivals, usual_rivals
from mercer.report._rows import TableRows, Training, rows_and_targets
from mercer.report._scores import in_time, score_cards
from mercer.report._subject import ModelAnswers, Subject
from mercer.report._thresholds import threshold_table
from mercer.report.proofs import explain
from mercer.report.study import Curve, Importance, Score, Study, Surface

DEFAULT_SECONDS = 60.0
SHARES = {
    "predictions": 0.15,
    "intervals": 0.2,
    "rivals": 0.2,
    "columns": 0.2,
    "map": 0.1,
    "learning curve": 0.15,
}
"""The parts of the time that sections may take."""

FOLDS_SHARE = 0.4
"""The part of the time that fits may take where every row is answered by cross-validation."""

TIMED = (*SHARES, "data", "objects", "partial dependence", "reasons")
"""Sections that are left out when the time is over; the last three are small by their counts."""

SHOWN_COLUMNS = 12
LONGEST_MODEL, LONGEST_COMMAND = 300, 2000  # characters
LONG_NUMBER = re.compile(r"\d+\.\d{5,}(e-?\d+)?")

Found = TypeVar("Found")


def examine(
    model: Any,
    X: Any,
    y: Any,
    *,
    train: tuple[Any, Any] | None = None,
    search: Any = None,
    rivals: Mapping[str, Any] | None = None,
    title: str | None = None,
    command: str = "",
    repeat: Mapping[str, str] | None = None,
    words: Sequence[str] = (),
    row_numbers: Any = None,
    findings: Sequence[Finding] = (),
    folds: Folds | None = None,
    cv: Any = None,
    groups: Any = None,
    row_groups: Any = None,
    positive: Any = None,
    metric: str | None = None,
    threshold: tuple[float, str] | None = None,
    only_scores: bool = False,
    time_limit: float | None = None,
    random_state: int = 0,
) -> Study:
    """Compute all that a report shows of a fitted classifier or regressor.

    Scores with 95 % intervals beside those of simple rivals, the search, a learning curve, a map
    of the rows, which columns matter, which rows are worth a look, and what the certificate
    proves. What cannot be computed is named in ``left_out`` with the reason.

    Parameters
    ----------
    model : fitted estimator
        A classifier or regressor, a pipeline that ends in one, or a search, whose best estimator
        is examined.
    X : frame, array, sparse matrix or list of objects
        Rows that the model has not seen.
    y : array of shape (n,)
        Their targets; rows without one are left out.
    train : (X, y), default=None
        What the model was fitted to: needed for the learning curve and for rivals.
    search : fitted search, default=None
        What has chosen the parameters, if ``model`` is not itself a search.
    rivals : dict of name to fitted model, default=None
        Models to compare with; None takes the most frequent class or the mean, and with
        ``train`` a linear model and boosted trees.
    title : str, default=None
        The heading.
    command : str, default=""
        How to repeat it; empty writes a line of Python.
    repeat : mapping, default=None
        What the same result needs beside the command: files with their SHA-256, the seed.
    words : sequence of str, default=()
        Sentences that come first among those that say what was done.
    row_numbers : array of int of shape (n,), default=None
        What people call the rows of X, such as their lines in a file; None is the index of a
        pandas frame, else 0, 1, ….
    findings : sequence of Finding, default=()
        What `mercer.check_table` has found: those that are more than a note come first on the page,
        and a leak takes all praise away.
    folds : sequence of (learn, test), default=None
        For few rows: X and y are those that the model was fitted to, and each row is answered by
        a copy of the model that is fitted to ``learn`` of its fold. They hold out each row once.
    cv, groups : splitter and array, default=None
        The folds of the learning curve, and the groups of the training rows; None: random folds.
    row_groups : array of shape (n,), default=None
        The groups of the rows X (patients, days): intervals are of groups drawn again, not of rows.
    positive : label, default=None
        The class that precision, recall and their like speak of; None is the second of two.
    metric : str, default=None
        The score that comes first, by its name in an evaluation ("auc", "mae"); None is accuracy
        or R², and where the positive of two classes is rare its average precision.
    threshold : (float, str), default=None
        A probability from which on to call rows positive, chosen on training rows, and how.
    only_scores : bool, default=False
        Whether to leave out all that only a page shows.
    time_limit : float, default=None
        Seconds for all of this, about; None is 60. The work is bounded by counts, the same on every
        machine; sections that would still take too long are reduced, and say so.
    random_state : int, default=0
        Decides samples, shuffles and folds.

    Returns
    -------
    Study

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from mercer import SVC
    >>> from mercer.report.examine import examine
    >>> X, y = load_iris(return_X_y=True)
    >>> study = examine(SVC().fit(X[::2], y[::2]), X[1::2], y[1::2])
    >>> [score.name for score in study.scores], study.proof.ok
    (['accuracy', 'UAR', 'AUC'], True)
    >>> study.left_out["learning curve"]
    'no training rows were given'
    """
    start, seconds = time.monotonic(), _seconds(time_limit)
    limits, subject = Limits.of(time_limit=seconds), Subject.of(model, search)
    rows, targets, notes = rows_and_targets(subject, X, y, "y", row_numbers)
    taught, together = _training(subject, train), group_codes(row_groups, len(rows), "row_groups")
    for_folds = FOLDS_SHARE * seconds
    crossed = None if folds is None else CrossFitted(subject, rows, targets, folds, for_folds)
    if crossed is None:
        budget = SHARES["predictions"] * seconds
        kept, more = affordable_rows(subject, rows, targets, budget, random_state)
        if len(kept) < len(rows):
            rows, targets = rows.take(kept), targets[kept]
            together = None if together is None else together[kept]
        answers = ModelAnswers.of(subject, rows.data, targets)
    else:
        answers, more = crossed.answers, crossed.notes
    answers = replace(answers, positive=positive, groups=together, seed=int(random_state))
    answers, some, drawn = in_time(answers, SHARES["intervals"] * seconds, fewer=crossed is None)
    rows = rows if some is None else rows.take(some)
    work = _Work(subject, rows, answers, taught, seconds, limits, [*notes, *more, *drawn])
    work.crossed, work.cv, work.groups = crossed, cv, groups
    scores = work.scores(rivals, metric)
    found = {} if only_scores else work.sections()
    return Study(
        title=title or _title(subject, len(rows)),
        task=subject.task,
        words=_what_was_done(work, words),
        scores=scores,
        evaluation=answers.evaluation,
        proof=explain(subject.final, subject.encoders),
        command=command or _command(subject, taught is not None, time_limit, random_state),
        repeat={**(repeat or {"seed": str(random_state)}), "mercer": version_of("mercer")},
        environment=environment(time.monotonic() - start),
        thresholds=threshold_table(subject, answers, threshold),
        left_out=work.left_out,
        findings=tuple(findings),
        n_folds=0 if crossed is None else len(crossed.parts),
        **found,
    )


def _seconds(time_limit: Any) -> float:
    if time_limit is None:
        return DEFAULT_SECONDS
    number = isinstance(time_limit, (int, float, np.integer, np.floating))
    if not number or isinstance(time_limit, bool) or not time_limit > 0:
        raise ValueError(f"time_limit must be a number of seconds > 0 or None; got {time_limit!r}")
    return float(time_limit)


def _training(subject: Subject, train: Any) -> Training | None:
    if train is None:
        return None
    if not isinstance(train, (tuple, list)) or len(train) != 2:
        raise TypeError(
            f"train must be a pair (X, y) of the training rows and their targets; got "
            f"{type(train).__name__}"
        )
    X, y = train
    return rows_and_targets(subject, X, y, "train")[:2]


@dataclass(eq=False)
class _Work:
    """The sections, each computed or left out with a reason."""

    subject: Subject
    rows: TableRows
    answers: ModelAnswers
    train: Training | None
    seconds: float
    limits: Limits
    notes: list[str]
    left_out: dict[str, str] = field(default_factory=dict)
    crossed: CrossFitted | None = None
    cv: Any = None
    groups: Any = None

    def sections(self) -> dict[str, Any]:
        """Return the fields of a study that may be missing, or cost time."""
        seen, seed = (self.subject, self.rows, self.answers), self.answers.seed
        columns, words = self._try("columns", self._importances) or ([], "")
        shown = _shown_columns(self.rows.names, columns)
        reasons = self._try("reasons", lambda: Reasons.of(*seen, columns, self.limits))
        cases = case_tables(self.answers, self.rows, shown, reasons)
        followed, how = self._try(
            "partial dependence", lambda: dependences(*seen, columns, self.limits)
        ) or ([], "")
        support = support_table(self.subject, self.train, shown)
        return {
            "importances": columns,
            "importance_words": words,
            "dependences": followed,
            "dependence_words": how,
            "data": self._try("data", lambda: data_of(self.subject, self.train, columns, seed)),
            "objects": self._try("objects", lambda: object_pictures(self.subject, self.train, seed))
            or (),
            "surface": self._try("tuning", self._surface),
            "cloud": self._try("map", lambda: cloud_of(*seen, shown, self._share("map"), seed)),
            "cases": cases if support is None else [*cases, support],
            "curve": self._try("learning curve", self._curve),
        }

    def _share(self, section: str) -> float:
        """Return the seconds that a section may take."""
        return min(SHARES[section] * self.seconds, self.limits.seconds_left() or 0.0)

    def _try(self, section: str, compute: Callable[[], Found]) -> Found | None:
        try:
            if self.limits.stopped() and section in TIMED:
                raise LeftOutError(f"the {self.seconds:.2g} s of the report were over")
            return compute()
        except LeftOutError as reason:
            self.left_out[section] = str(reason)
            return None

    def scores(self, models: Mapping[str, Any] | None, metric: str | None) -> list[Score]:
        """Return the scores beside those of rivals, the one that was asked for first."""
        seen = (self.subject, self.rows, self.answers)
        if models is None and self.crossed is not None:
            rivals, words = self.crossed.rivals(self.answers, self._share("rivals"))
        elif models is None:
            rivals, words = usual_rivals(*seen, self.train, self._share("rivals"))
        else:
            rivals, words = given_rivals(models, *seen), []
        scores, missing = score_cards(self.answers, rivals, metric)
        self.left_out.update(missing)
        self.notes += [*words, *self.answers.evaluation.notes, *_too_sure(scores)]
        return scores

    def _importances(self) -> tuple[list[Importance], str]:
        if self.crossed is not None:
            raise LeftOutError("all rows were learned from: none is left to shuffle a column of")
        return importances(self.subject, self.rows, self.answers, self._share("columns"))

    def _surface(self) -> Surface:
        if self.subject.search is None:
            raise LeftOutError("the parameters were not chosen by a search")
        return surface_of(self.subject.search)

    def _curve(self) -> Curve:
        if self.train is None:
            raise LeftOutError("no training rows were given")
        seconds = self._share("learning curve")
        split = {"cv": self.cv, "groups": self.groups}
        return curve_of(self.subject, *self.train, seconds, self.answers.seed, **split)


def _too_sure(scores: list[Score]) -> list[str]:
    """Say of which scores an interval without length promises too much."""
    names = [s.name for s in scores if s.model.low == s.model.high and s.higher_is_better]
    text = "the interval of {} has no length: these rows cannot show how far off it may be"
    return [text.format(" and ".join(names))] if names else []


def _shown_columns(names: list[str], columns: list[Importance]) -> list[int]:
    """Return the columns that matter most, in the order of the table."""
    if not columns or len(names) <= SHOWN_COLUMNS:
        return list(range(min(len(names), SHOWN_COLUMNS)))
    places = {name: j for j, name in enumerate(names)}
    return sorted(places[i.column] for i in columns[:SHOWN_COLUMNS])


# ---------------------------------------------------------------- what was done
def _title(subject: Subject, n: int) -> str:
    verb = "classifies" if subject.task == "classify" else "predicts"
    return f"{type(subject.final).__name__} {verb} {n:,} rows"


def _what_was_done(work: _Work, words: Sequence[str]) -> dict[str, list[str]]:
    """Return sentences about the model, the columns and the test; those of the caller first."""
    evaluation = work.answers.evaluation
    drawn = (
        f"95 % intervals are of the scores of {evaluation.n_bootstrap:,} samples of "
        f"{evaluation.drawn_from}, drawn with replacement"
    )
    judged = f"it was judged by {count(evaluation.n_rows, 'row')}"
    found = {
        "The model": [*map(str, words), _model(work.subject, work.train)],
        "The columns": [told for encoder in work.subject.encoders for told in _encoding(encoder)],
        "The test": [judged, drawn, *work.notes],
    }
    return {heading: told for heading, told in found.items() if told}


def _model(subject: Subject, train: Training | None) -> str:
    model, kernel = _rounded(subject.final), _rounded(subject.kernel) if subject.kernel else ""
    fitted = "" if train is None else f", fitted to {_fitted_to(subject, len(train[0]))} rows"
    shown = f" with the kernel {kernel}" if kernel and kernel not in model else ""
    return f"the model is {model}{shown}{fitted}"


def _fitted_to(subject: Subject, given: int) -> str:
    """Return how many rows the model has seen, which may be a part of those that were given."""
    seen = fitted_rows(subject.final, given)
    return f"{seen:,} of {given:,}" if seen < given else f"{given:,}"


def _encoding(encoder: Any) -> Iterator[str]:
    """Yield what an encoder says of itself, or how it is written."""
    if hasattr(encoder, "describe"):
        yield from map(str, encoder.describe())
    else:
        yield f"rows pass through {_rounded(encoder)} first"


def _command(subject: Subject, has_train: bool, time_limit: Any, random_state: Any) -> str:
    """Return lines of Python that make the report again."""
    train = ", train=(X_train, y_train)" if has_train else ""
    limit = "" if time_limit is None else f", time_limit={time_limit!r}"
    return (
        f"from mercer.report import write_report\n\n"
        f"model = {_written(subject.model, LONGEST_COMMAND)}\n"
        f"model.fit(X_train, y_train)\n"
        f"write_report(model, 'report.html', X, y{train}{limit}, random_state={random_state!r})"
    )


def _written(value: Any, longest: int) -> str:
    text = " ".join(repr(value).split())
    return text if len(text) <= longest else text[: longest - 1] + "…"


def _rounded(value: Any) -> str:
    """Return a value as people read it; the command has all digits."""
    text = _written(value, LONGEST_MODEL)
    return LONG_NUMBER.sub(lambda found: f"{float(found[0]):.4g}", text)
