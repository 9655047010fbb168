"""Several models on the same rows: their scores, and which differences are more than chance."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from mercer._words import capital, count, listing
from mercer.assess.evaluate import group_codes
from mercer.assess.metrics import METRICS
from mercer.report._budget import some_rows
from mercer.report._cross import CrossFitted, Folds
from mercer.report._rows import TableRows, rows_and_targets
from mercer.report._scores import first_key, score_cards
from mercer.report._subject import ModelAnswers, Subject
from mercer.report.html import Markup, Section, card, page, table, tag
from mercer.report.sections.scores import between, cards, signed, told
from mercer.report.sections.texts import proof_panel
from mercer.report.study import Estimate, Score

MOST_ROWS = 100_000  # that are judged; more say no more

CHANCE = {True: "more than chance", False: "could be chance", None: "not known"}


@dataclass(frozen=True)
class Comparison:
    """The scores of models on the same rows.

    ``scores`` are those of the best model by the first score; their ``rivals`` are the others, the
    best first, and their ``leads`` the differences with paired intervals.
    """

    best: str
    others: tuple[str, ...]
    scores: Sequence[Score]
    n_rows: int
    n_groups: int | None = None  # of rows that were drawn together
    n_folds: int = 0  # in which models were refitted; 0 where none of them has seen the rows

    @property
    def names(self) -> tuple[str, ...]:
        """All models, the best first."""
        return (self.best, *self.others)

    def estimate(self, score: Score, name: str) -> Estimate | None:
        """Return a score of a model, None if it has none."""
        return score.model if name == self.best else score.rivals.get(name)

    def is_apart(self, name: str, score: Score | None = None) -> bool | None:
        """Tell whether a model's difference to the best is more than chance; None: not known."""
        lead = (score or self.scores[0]).leads.get(name)
        return None if lead is None else bool(lead.low > 0.0 or lead.high < 0.0)

    @property
    def sentence(self) -> str:
        """Which model is the best, and what is known of that."""
        first = self.scores[0]
        equal = [n for n, e in first.rivals.items() if e.value == first.model.value]
        shared = f" (as has {listing(equal, most=10)})" if equal else ""
        head = f"{self.best!r} has the best {first.name}, {told(first, first.model.value)}{shared}"
        parts = [head, *self._beside(True, "better than {} by more than chance")]
        parts += self._beside(False, "not distinguishable from {} on these rows")
        return f"{'; '.join(parts)}."

    def _beside(self, apart: bool, words: str) -> Iterator[str]:
        names = [name for name in self.others if self.is_apart(name) is apart]
        if names:
            yield words.format(listing(names, most=10))


def compare(
    models: Mapping[str, Any],
    X: Any,
    y: Any,
    *,
    row_groups: Any = None,
    folds: Folds | None = None,
    positive: Any = None,
    random_state: int = 0,
) -> Comparison:
    """Judge fitted models by the same rows.

    Parameters
    ----------
    models : dict of name to fitted estimator
        Two or more classifiers of the same classes, or two or more regressors.
    X, y : rows and targets
        Rows that none of them has seen.
    row_groups : array of shape (n,), default=None
        Which rows belong together (patients, days): intervals draw them whole.
    folds : sequence of (learn, test), default=None
        For few rows: X and y are those that the models were fitted to, and each row is answered by
        copies of the models that are fitted to ``learn`` of its fold.
    positive : label, default=None
        The class that precision, recall and F1 speak of; None is the second of two.
    random_state : int, default=0
        Decides the draws of the intervals.

    Returns
    -------
    Comparison

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from mercer import KNN, SVC
    >>> from mercer.report import compare
    >>> X, y = load_iris(return_X_y=True)
    >>> models = {"svm": SVC().fit(X[::2], y[::2]), "near": KNN().fit(X[::2], y[::2])}
    >>> found = compare(models, X[1::2], y[1::2])
    >>> sorted(found.names), found.n_rows
    (['near', 'svm'], 75)
    """
    subjects = {name: Subject.of(model, name=name) for name, model in models.items()}
    _check(subjects)
    first = next(iter(subjects.values()))
    rows, targets, _ = rows_and_targets(first, X, y, "y")
    most = MOST_ROWS if folds is None else len(targets)
    rng = np.random.default_rng(random_state)
    kept = some_rows(targets, most, rng, classes=first.task == "classify")
    together = group_codes(row_groups, len(rows), "row_groups")
    together = None if together is None else together[kept]
    answers = _answers(subjects, rows.take(kept), targets[kept], random_state, together, folds)
    answers = {name: replace(found, positive=positive) for name, found in answers.items()}
    key = first_key(answers[next(iter(answers))])
    order = sorted(answers, key=lambda name: -_quality(answers[name], key))
    scores, _ = score_cards(answers[order[0]], {name: answers[name] for name in order[1:]})
    n_groups = None if together is None else len(np.unique(together))
    n_folds = 0 if folds is None else len(folds)
    return Comparison(order[0], tuple(order[1:]), scores, len(kept), n_groups, n_folds)


def _check(subjects: Mapping[str, Subject]) -> None:
    if len(subjects) < 2:
        raise ValueError(f"models must be two or more to be compared; got {len(subjects)}")
    first, *others = subjects
    for name in others:
        one, other = subjects[first], subjects[name]
        if one.task != other.task:
            raise ValueError(f"models: {first!r} and {name!r} predict different kinds of targets")
        if one.task == "classify" and not np.array_equal(one.classes, other.classes):
            raise ValueError(f"models: {first!r} and {name!r} were fitted to different classes")


def _answers(
    subjects: Mapping[str, Subject],
    rows: TableRows,
    y: np.ndarray,
    seed: int,
    groups: np.ndarray | None,
    folds: Folds | None,
) -> dict[str, ModelAnswers]:
    """Return the answers of all models, judged by the same draws of the rows."""
    found = {name: _of(subject, rows, y, folds) for name, subject in subjects.items()}
    drawn = replace(next(iter(found.values())).drawn_with(int(seed)), groups=groups)
    return {name: answers.drawn_like(drawn) for name, answers in found.items()}


def _of(subject: Subject, rows: TableRows, y: np.ndarray, folds: Folds | None) -> ModelAnswers:
    if folds is None:
        return ModelAnswers.of(subject, rows.data, y)
    return CrossFitted(subject, rows, y, folds).answers


def _quality(answers: ModelAnswers, key: str) -> float:
    """Return a score as a number that is larger for better models."""
    value = getattr(answers.evaluation, key)
    known = value is not None and np.isfinite(value)
    return (-value if METRICS[key].falling else value) if known else -np.inf


# ---------------------------------------------------------------- the page
def comparison_page(
    title: str,
    found: Comparison,
    *,
    environment: Mapping[str, str],
    command: str = "",
    repeat: Mapping[str, str] | None = None,
) -> str:
    """Return the page of a comparison: scores with intervals, differences, how to repeat it."""
    return page(
        title,
        [
            Section("differences", "Differences", _differences(found)),
            Section("repeat", "Repeat", proof_panel(None, environment, command, repeat)),
        ],
        subtitle=found.sentence,
        date=environment.get("date", ""),
        eyebrow="mercer comparison",
        lead=cards(found.scores, found.best),
    )


def _how(found: Comparison) -> str:
    if not found.n_folds:
        return ""
    return f", each predicted by models fitted to the rows outside its fold ({found.n_folds} folds)"


def _differences(found: Comparison) -> Markup:
    """Return a table for each score: every model, and how far it is from the best."""
    what = "rows" if found.n_groups is None else f"{found.n_groups:,} groups of rows"
    words = (
        f"All models were judged by the same {count(found.n_rows, 'row')}{_how(found)}. The "
        f"difference is that "
        f"of the best model less this one, with the 95 % interval of {what} drawn again for both "
        f"at once: where it does not hold 0, the difference is more than chance. Each interval is "
        f"of one difference only: among many models one may be ahead by luck."
    )
    return tag("div", tag("p", words, class_="words"), [_table(found, s) for s in found.scores],
               class_="stack")  # fmt: skip


def _table(found: Comparison, score: Score) -> Markup:
    head = ["model", score.name, "95 % interval", "best less this", "95 % interval", ""]
    rows = [_row(found, score, name) for name in found.names]
    return card(capital(score.name), table(head, rows, f"{score.name} of each model", "numbers"))


def _row(found: Comparison, score: Score, name: str) -> list[str]:
    estimate, lead = found.estimate(score, name), score.leads.get(name)
    own = ["–", "–"]
    if estimate is not None:
        own = [told(score, estimate.value), between(score, estimate)]
    if name == found.best:
        return [name, *own, "", "", "the best"]
    if lead is None:
        return [name, *own, "–", "–", CHANCE[None]]
    ends = " to ".join(signed(score, end) for end in (lead.low, lead.high))
    return [name, *own, signed(score, lead.value), ends, CHANCE[found.is_apart(name, score)]]
