"""All checks of a table, in one call."""

from __future__ import annotations

from typing import Any

from mercer._words import count
from mercer.checks.finding import Finding, worst_first
from mercer.checks.giveaway import check_giveaways
from mercer.checks.groups import check_groups
from mercer.checks.near import check_near_copies
from mercer.checks.order import check_file_order, check_time
from mercer.checks.rows import RowKeys, check_copies
from mercer.checks.values import check_constants, check_duplicates, check_sentinels
from mercer.checks.view import View

CHECKS = (
    check_near_copies,
    check_giveaways,
    check_file_order,
    check_time,
    check_groups,
    check_sentinels,
    check_duplicates,
    check_constants,
)


def check_table(
    X: Any,
    y: Any,
    *,
    task: str = "auto",
    target: str = "target",
    keys: RowKeys | None = None,
    random_state: int = 0,
) -> list[Finding]:
    """Look for what makes a score on held-out rows mean less than it seems.

    Rows that occur more than once or nearly so, columns that give the target away or count the
    rows, rows that belong together or follow one another in time, numbers that stand for missing
    ones, constant and duplicate columns. Equal rows are counted among all rows; all else is found
    on at most 20,000 rows and 300 columns, drawn at random.

    Parameters
    ----------
    X : frame of polars or pandas, array or sparse matrix of shape (n_samples, n_features)
        The table, its rows in the order of the file.
    y : array of shape (n_samples,)
        The targets, none missing.
    task : {"auto", "classify", "regress"}, default="auto"
        What the targets are; "auto" takes more than 20 different numbers as quantities.
    target : str, default="target"
        What the sentences call the target.
    keys : RowKeys or None, default=None
        The hashes of the rows, if they are known already.
    random_state : int, default=0
        Of the samples.

    Returns
    -------
    list of Finding
        Leaks first, then warnings, then notes; empty if nothing is odd.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import check_table
    >>> rng = np.random.default_rng(0)
    >>> X, y = rng.normal(size=(200, 3)), rng.integers(2, size=200)
    >>> check_table(X, y)
    []
    >>> leaked = np.column_stack([X, y + 0.1 * rng.normal(size=200)])
    >>> [(finding.kind, finding.columns) for finding in check_table(leaked, y)]
    [('gives the target away', ('x3',))]
    >>> check_table(np.tile(X, (10, 1)), np.tile(y, 10))[0].severity
    'leak'
    """
    keys = RowKeys.of(X) if keys is None else keys
    view = View.of(X, y, task, target, random_state, keys)
    found = check_copies(keys)
    for check in CHECKS:
        found += check(view)
    return worst_first([*_without_names(found), *_sampled(view)])


def _without_names(found: list[Finding]) -> list[Finding]:
    """Return the findings; the name of a patient tells the patient's target, and is no leak."""
    names = {column for finding in found if finding.kind == "group" for column in finding.columns}
    return [f for f in found if f.kind != "gives the target away" or not names & set(f.columns)]


def _sampled(view: View) -> list[Finding]:
    """Say of what part the findings are."""
    if not view.is_sampled:
        return []
    rows, columns = len(view), len(view.columns)
    sentence = (
        f"the checks looked at {rows:,} of {count(view.shape[0], 'row')} and {columns:,} of "
        f"{count(view.shape[1], 'column')}, drawn at random"
    )
    return [Finding("sample", "note", (), sentence, "nothing need be done")]
