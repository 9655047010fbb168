"""Everything that a report shows of a model, computed."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

import numpy as np

from mercer.report._answers import Answers, Judged
from mercer.report._cases import case_tables, support_table
from mercer.report._clock import Clock
from mercer.report._cloud import cloud_of
from mercer.report._curve import curve_of
from mercer.report._environment import environment
from mercer.report._importance import Findings, importances
from mercer.report._left_out import LeftOutError
from mercer.report._rivals import Rivals, given_rivals, usual_rivals
from mercer.report._rows import Rows
from mercer.report._scores import score_cards
from mercer.report._subject import Subject
from mercer.report._surface import surface_of
from mercer.report._targets import affordable_rows, rows_and_targets
from mercer.report._words import command_of, title_of, what_was_done
from mercer.report.proofs import explain
from mercer.report.study import CaseTable, Cloud, Score, Study

SHOWN_COLUMNS = 12
SHARES = {
    "predictions": 0.25,
    "linear model": 0.1,
    "columns": 0.25,
    "map": 0.1,
    "learning curve": 0.2,
}
"""The parts of the time that sections may take."""

Train = tuple[Rows, np.ndarray] | None
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
    words: Sequence[str] = (),
    row_numbers: Any = None,
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
        What the model was fitted to: needed for the learning curve and the linear rival.
    search : fitted search, default=None
        What has chosen the parameters, if ``model`` is not itself a search.
    rivals : dict of name to fitted model, default=None
        Models to compare with; None takes the most frequent class or the mean, and with
        ``train`` a linear model.
    title : str, default=None
        The heading.
    command : str, default=""
        How to repeat it; empty writes a line of Python.
    words : sequence of str, default=()
        Sentences that come first among those that say what was done.
    row_numbers : array of int of shape (n,), default=None
        What people call the rows of X, such as their lines in a file; None is the index of a
        pandas frame, else 0, 1, ….
    time_limit : float, default=None
        Seconds for all of this, about; None is 10. Sections that would take longer are reduced,
        and say so.
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
    clock, subject = Clock(time_limit), Subject.of(model, search)
    rows, targets, notes = rows_and_targets(subject, X, y, "y", row_numbers)
    taught = None if train is None else _training(subject, train)
    budget = clock.share(SHARES["predictions"])
    rows, targets = affordable_rows(subject, rows, targets, budget, random_state, notes)
    work = _Work(subject, rows, targets, taught, clock, int(random_state), notes)
    study = work.study(rivals)
    return Study(
        title=title or title_of(subject, len(rows)),
        words=what_was_done(subject, study["evaluation"], taught, words, work.notes),
        command=command or command_of(subject, taught is not None, time_limit, random_state),
        environment=environment(clock.passed()),
        left_out=work.left_out,
        **study,
    )


def _training(subject: Subject, train: Any) -> Train:
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
    rows: Rows
    y: np.ndarray
    train: Train
    clock: Clock
    seed: int
    notes: list[str]
    left_out: dict[str, str] = field(default_factory=dict)

    def study(self, rivals: Mapping[str, Any] | None) -> dict[str, Any]:
        """Return the fields of a study that are computed from rows."""
        answers = Answers.of(self.subject, self.rows.data, self.y)
        own = Judged.of(answers, answers.draws(self.clock.limit), self.seed)
        scores = self._scores(own, rivals)
        columns = self._try("columns", lambda: self._importances(answers))
        shown = _shown_columns(self.rows, columns)
        return {
            "task": self.subject.task,
            "scores": scores,
            "evaluation": own.evaluation,
            "proof": explain(self.subject.final, self.subject.encoders),
            "importances": columns.importances if columns else (),
            "importance_words": columns.words if columns else "",
            "surface": self._try("tuning", self._surface),
            "cloud": self._try("map", lambda: self._cloud(answers, shown)),
            "cases": self._cases(answers, shown),
            "curve": self._try("learning curve", self._curve),
        }

    def _try(self, section: str, compute: Callable[[], Found]) -> Found | None:
        try:
            return compute()
        except LeftOutError as reason:
            self.left_out[section] = str(reason)
            return None

    def _scores(self, own: Judged, models: Mapping[str, Any] | None) -> list[Score]:
        rivals, draws = self._rivals(own.answers, models), own.evaluation.n_bootstrap
        self.notes.extend(rivals.words)
        judged = {n: Judged.of(a, draws, self.seed) for n, a in rivals.answers.items()}
        scores, missing = score_cards(own, judged)
        self.left_out.update(missing)
        self.notes.extend([*own.evaluation.notes, *_too_sure(scores)])
        return scores

    def _rivals(self, answers: Answers, models: Mapping[str, Any] | None) -> Rivals:
        if models is not None:
            return given_rivals(models, self.subject, self.rows, answers)
        seconds = self.clock.share(SHARES["linear model"])
        return usual_rivals(self.subject, self.rows, answers, self.train, seconds, self.seed)

    def _importances(self, answers: Answers) -> Findings:
        return importances(
            self.subject, self.rows, answers, self.clock, SHARES["columns"], self.seed
        )

    def _surface(self) -> Any:
        if self.subject.search is None:
            raise LeftOutError("the parameters were not chosen by a search")
        return surface_of(self.subject.search)

    def _cloud(self, answers: Answers, shown: Sequence[int]) -> Cloud:
        seconds = self.clock.share(SHARES["map"])
        return cloud_of(self.subject, self.rows, answers, shown, seconds, self.seed)

    def _cases(self, answers: Answers, shown: Sequence[int]) -> list[CaseTable]:
        tables = case_tables(answers, self.rows, shown)
        support = support_table(self.subject, self.train, shown)
        return [*tables, support] if support is not None else tables

    def _curve(self) -> Any:
        if self.train is None:
            raise LeftOutError("no training rows were given")
        return curve_of(self.subject, *self.train, self.clock, SHARES["learning curve"], self.seed)


def _too_sure(scores: list[Score]) -> list[str]:
    """Say of which scores an interval without length promises too much."""
    names = [s.name for s in scores if s.model.low == s.model.high and s.higher_is_better]
    text = "the interval of {} has no length: these rows cannot show how far off it may be"
    return [text.format(" and ".join(names))] if names else []


def _shown_columns(rows: Rows, columns: Findings | None) -> list[int]:
    """Return the columns that matter most, in the order of the table."""
    count = len(rows.names)
    if columns is None or count <= SHOWN_COLUMNS:
        return list(range(min(count, SHOWN_COLUMNS)))
    places = {name: j for j, name in enumerate(rows.names)}
    first = [places[i.column] for i in columns.importances[:SHOWN_COLUMNS]]
    return sorted(first)
