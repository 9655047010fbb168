"""What to learn from and what to test with: checked first, then split so that scores are honest."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.model_selection import KFold, StratifiedKFold

from mercer._words import called, count, listing
from mercer.checks import (
    Finding,
    GroupFolds,
    RowKeys,
    check_parts,
    check_table,
    held_out_groups,
    held_out_latest,
    worst_first,
)
from mercer.cli.errors import LEAK, USAGE, CommandError
from mercer.cli.problem import TableProblem, split
from mercer.cli.together import by_column, by_copies, column_of, in_both

FEWEST_TEST_ROWS = 30
FEWEST_OF_A_CLASS = 5  # among the test rows
FEWEST = 4  # rows of a table that is scored in folds
MOST_REFITTED = 1000  # different rows of a table that is cheap enough to be fitted for each fold
MOST_COPIES_REFITTED = 10_000  # rows of such a table with all their copies
FOLDS = 10
FEWEST_TEST_GROUPS = 8  # of which intervals hold what they promise
KEPT_TOGETHER = (
    "copies of a row are kept on the same side of the split, and intervals take them for one row"
)

OTHERWISE = "lower --test-size, or use another column"
COPIES = "copies of a row stay together"

Folds = Sequence[tuple[np.ndarray, np.ndarray]]


@dataclass(frozen=True)
class SplitOptions:
    """How rows are to be held out."""

    share: float
    seed: int
    group: str | None = None
    time: str | None = None
    ignore: tuple[str, ...] = ()
    strict: bool = False

    def __post_init__(self) -> None:
        if self.group is not None and self.time is not None:
            raise CommandError("--group and --time: choose one of them", USAGE)

    @property
    def features_to_ignore(self) -> tuple[str, ...]:
        """Columns that are not read: those by which rows are split are needed first."""
        return tuple(name for name in self.ignore if name not in (self.group, self.time))


@dataclass(frozen=True, eq=False)
class Parts:
    """Rows to learn from, rows to be tested with, and what is odd about them.

    With ``folds`` both parts are all rows, and scores come from models fitted anew for each fold.
    ``others`` have no target, and are learned from all the same.
    """

    learn: TableProblem
    test: TableProblem
    findings: tuple[Finding, ...]
    folds: Folds | None = None
    others: TableProblem | None = None

    @property
    def about(self) -> str:
        """The split in words."""
        if self.folds is not None:
            return f"{count(len(self.learn), 'row')}, scored in {len(self.folds)} folds"
        how = ", the latest" if self.learn.in_time else ""
        return f"{count(len(self.learn), 'row')} to learn from, {len(self.test):,} held out{how}"


def parted(problem: TableProblem, given_test: TableProblem | None, options: SplitOptions) -> Parts:
    """Check the rows and split them; ``given_test`` are rows that were held out by others."""
    keys = RowKeys.of(problem.X)
    findings = _checked(problem, keys, options)
    if options.strict:
        stop_at_leaks(findings)
    problem, findings = _with_copies_together(problem, keys, findings)
    if given_test is None:
        learn, test = _split(problem, options)
        learned, tested = keys.take(learn), keys.take(test)
        parts = Parts(problem.take(learn), problem.take(test), ())
    else:
        learned, tested = keys, RowKeys.of(given_test.X, names=keys.names)
        if given_test.groups is None:
            given_test = by_copies(given_test, tested)
        parts = Parts(problem, given_test, ())
        findings = [*findings, *in_both(problem, given_test)]
    findings = [*findings, *check_parts(learned, tested)]
    if options.strict:
        stop_at_leaks(f for f in findings if not f.mended)
    return _large_enough(parts, problem, findings, options.seed, given_test is not None)


def stop_at_leaks(findings: Iterable[Finding]) -> None:
    """Refuse to go on where a score could not be believed."""
    for finding in findings:
        if finding.severity == "leak":
            said = f"{finding.kind}: {finding.sentence}; {finding.advice}"
            raise CommandError(f"--strict: {said}", LEAK)


def _checked(problem: TableProblem, keys: RowKeys, options: SplitOptions) -> list[Finding]:
    """Return the findings, without those that an option has taken care of."""
    known: dict[str, Any] = {"task": problem.task, "target": problem.target, "keys": keys}
    found = check_table(problem.X, problem.y, **known, random_state=options.seed)
    cared_for = set()
    if options.group is not None:
        cared_for |= {"group", "repeated rows", "near copies"}  # copies are seen after the split
    if options.time is not None:
        cared_for |= {"time order", "repeated rows"}
    left = [finding for finding in found if finding.kind not in cared_for]
    return left if options.group is None else [*left, _kept_together(options.group)]


def _kept_together(group: str) -> Finding:
    sentence = f"rows of one {group!r} are kept together, and intervals draw them whole"
    return Finding("group", "note", (group,), sentence, "nothing need be done")


def _with_copies_together(
    problem: TableProblem, keys: RowKeys, findings: list[Finding]
) -> tuple[TableProblem, list[Finding]]:
    """Make groups of the copies of rows, if there are many."""
    copied = [f for f in findings if f.kind == "repeated rows"]
    if not copied:
        return problem, findings
    mended = [replace(f, mended=KEPT_TOGETHER) if f in copied else f for f in findings]
    return replace(problem, groups=keys.groups), mended


# ---------------------------------------------------------------- columns by which rows are split
def with_order(problem: TableProblem, options: SplitOptions) -> TableProblem:
    """Return the problem with the groups or in the order of the column that was named."""
    if options.group is not None:
        return _without(by_column(problem, options.group), options.group)
    if options.time is None:
        return problem
    column = column_of(problem, "--time", options.time)
    if column.form not in ("date", "number"):
        raise CommandError(f"--time: {options.time!r} holds neither dates nor numbers", USAGE)
    here = np.flatnonzero(np.isfinite(column.values))
    rows = here[np.argsort(column.values[here], kind="stable")]
    notes = problem.notes
    if len(here) < len(problem):
        gone = count(len(problem) - len(here), "row")
        notes = (*notes, f"{gone} without a value of {options.time!r} left out")
    ordered = replace(problem.take(rows), times=column.values[rows], notes=notes)
    return _without(ordered, options.time) if options.time in options.ignore else ordered


def _without(problem: TableProblem, name: str) -> TableProblem:
    """Return the problem without a column, which is no feature."""
    if len(problem.X.columns) < 2:
        raise CommandError(f"without {name!r} there is no column to learn from", USAGE)
    return replace(problem, X=problem.X.drop(name))


# ---------------------------------------------------------------- splits
def _split(problem: TableProblem, options: SplitOptions) -> tuple[np.ndarray, np.ndarray]:
    """Return the rows to learn from and those to be tested with."""
    if problem.times is None and problem.groups is None:
        return split(problem, options.share, options.seed)
    classes = problem.y if problem.task == "classify" else None
    option = "--time" if problem.times is not None else "--group"
    if problem.groups is not None and not problem.grouped_by:
        option = COPIES
        _are_several(problem, problem.groups)
    try:
        if problem.times is not None:
            learn, test = held_out_latest(problem.times, options.share)
        else:
            learn, test = held_out_groups(problem.groups, options.share, options.seed, classes)
    except ValueError as error:
        raise CommandError(f"{option}: {error}") from None
    learn, test = np.sort(learn), np.sort(test)
    if classes is not None:
        _has_classes(option, classes[learn], classes)
    return learn, test


def _are_several(problem: TableProblem, rows: np.ndarray) -> None:
    """Refuse copies of a single row."""
    if len(np.unique(rows)) < 2:
        raise CommandError(
            f"all {count(len(problem), 'row')} are the same but for {problem.target!r}: there is "
            f"nothing to learn from; give columns that vary"
        )


def _has_classes(option: str, learned: np.ndarray, classes: np.ndarray) -> None:
    lacking = np.setdiff1d(classes, learned)
    if len(lacking):
        names = listing([called(label) for label in lacking])
        raise CommandError(
            f"{option}: no row of the class {names} would be left to learn from: its rows are all "
            f"on the other side; {'get more different rows' if option == COPIES else OTHERWISE}"
        )


# ---------------------------------------------------------------- too few rows to test with
def _large_enough(
    parts: Parts, problem: TableProblem, findings: list[Finding], seed: int, given: bool
) -> Parts:
    """Score small tables by cross-validation instead of by a few rows."""
    small = _too_small(parts.test)
    if not small:
        _can_be_learned(parts.learn)
        return replace(parts, findings=tuple(worst_first(findings)))
    folds = None if given or not _is_cheap(problem) else _folds(problem, seed)
    mended = (
        "" if folds is None else f"scores are cross-validated over all rows ({len(folds)} folds)"
    )
    advice = "get more rows, or hold more of them out by --test-size"
    said = worst_first([*findings, Finding("small test", "warning", (), small, advice, mended)])
    if folds is None:
        _can_be_learned(parts.learn)
        return replace(parts, findings=tuple(said))
    if len(problem) < FEWEST:
        raise CommandError(
            f"{count(len(problem), 'row')} with a target are too few: {FEWEST} are needed, two to "
            f"learn from in each of two folds"
        )
    return Parts(problem, problem, tuple(said), folds)


def _is_cheap(problem: TableProblem) -> bool:
    """Whether a table can be fitted for each fold; copies of a row count once."""
    n = len(problem) if problem.grouped_by else _n_groups(problem.groups, len(problem))
    return n <= MOST_REFITTED and len(problem) <= MOST_COPIES_REFITTED


def _n_groups(groups: np.ndarray | None, n: int) -> int:
    return n if groups is None else len(np.unique(groups))


def _can_be_learned(learn: TableProblem) -> None:
    """Refuse a part in which no two classes have a row for each of two folds."""
    if learn.task == "regress":
        return
    counts = np.sort(np.unique(learn.y, return_counts=True)[1])
    if len(counts) < 2 or counts[-2] < 2:
        raise CommandError(
            f"{count(len(learn), 'row')} to learn from are too few: two classes need 2 rows each; "
            f"lower --test-size, or get more rows"
        )


def _too_small(test: TableProblem) -> str:
    """Return why a test part says little, or ""."""
    what, fewest = ("group", FEWEST_TEST_GROUPS) if test.grouped_by else ("row", FEWEST_TEST_ROWS)
    copies = None if test.grouped_by else test.groups
    held_out = "held-out" if copies is None else "different held-out"
    n = _n_groups(test.groups, len(test))
    if n < fewest:
        return f"{_say(n, f'{held_out} {what}')} little about new {what}s (fewer than {fewest})"
    if test.task == "regress":
        return ""
    labels, counts = np.unique(test.y, return_counts=True)
    if copies is not None:
        counts = np.array([len(np.unique(copies[test.y == label])) for label in labels])
    rare = counts.argmin()
    if counts[rare] >= FEWEST_OF_A_CLASS:
        return ""
    which = f" of {called(labels[rare])!r}"
    return f"{_say(counts[rare], f'{held_out} row', which)} little about it"


def _say(n: int, what: str, which: str = "") -> str:
    return f"{count(n, what)}{which} {'says' if n == 1 else 'say'}"


def _folds(problem: TableProblem, seed: int) -> Folds | None:
    """Return folds that hold each row once; None where groups or time do not allow it."""
    n, y = len(problem), problem.y
    if problem.times is not None:
        return None
    if problem.groups is not None:
        splitter: Any = GroupFolds(FOLDS, classes=problem.task == "classify", seed=seed)
        found = list(splitter.split(problem.X, y, problem.groups))
        whole = sum(len(test) for _, test in found) == n
        return found if whole and min(len(learn) for learn, _ in found) > 1 else None
    if problem.task == "regress":
        splitter = KFold(max(min(FOLDS, n // 2), 2), shuffle=True, random_state=seed)
    else:
        smallest = int(np.unique(y, return_counts=True)[1].min())
        splitter = StratifiedKFold(max(min(FOLDS, smallest), 2), shuffle=True, random_state=seed)
    return list(splitter.split(np.zeros((n, 1)), y))
