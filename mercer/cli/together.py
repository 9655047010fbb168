"""Rows that belong together: of one value of a column, or copies of one row.

They stay on one side of a split, and intervals draw them whole: ten copies of a row say no more
than the row itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from mercer._words import count, percent
from mercer.checks import Finding, RowKeys
from mercer.checks.rows import check_copies, severity, value_keys
from mercer.cli.errors import USAGE, CommandError
from mercer.cli.options import chosen
from mercer.cli.problem import TableProblem
from mercer.cli.screen import Screen
from mercer.tables.columns import Column
from mercer.tables.frames import as_table
from mercer.tables.kinds import as_plain


def column_of(problem: TableProblem, option: str, name: str) -> Column:
    """Return a column that an option names."""
    if sp.issparse(problem.X):
        raise CommandError(f"{option} needs a table whose columns have names", USAGE)
    names = list(problem.X.columns)
    place = names.index(chosen(option, name, names))
    return as_plain(as_table(problem.X, "mercer").read(place, name))


def by_column(problem: TableProblem, name: str) -> TableProblem:
    """Return the problem with the groups of a column; equal values are equal in other files too."""
    return replace(problem, groups=value_keys(column_of(problem, "--group", name)), grouped_by=name)


def by_copies(problem: TableProblem, keys: RowKeys) -> TableProblem:
    """Return the problem with the copies of each row as a group, if there are many."""
    return replace(problem, groups=keys.groups) if check_copies(keys) else problem


def in_both(learn: TableProblem, test: TableProblem) -> list[Finding]:
    """Return whether groups of a column stand in both parts, where others have made these."""
    if learn.groups is None or test.groups is None or learn.grouped_by != test.grouped_by:
        return []
    shared = float(np.isin(test.groups, learn.groups).mean())
    if not (shared and learn.grouped_by):
        return []
    sentence = (
        f"{percent(shared)} of the held-out rows have a {learn.grouped_by!r} that was learned "
        f"from, so the score is too good for a new one"
    )
    advice = f"hold out rows with another {learn.grouped_by!r}"
    return [Finding("group", severity(shared), (learn.grouped_by,), sentence, advice)]


def drawn_whole(
    problem: TableProblem, asked: str | None, abouts: Sequence[dict[str, Any]], screen: Screen
) -> TableProblem:
    """Return rows for saved models with the groups asked for, those of the fit, or copies."""
    known = next((about["group"] for about in abouts if about.get("group")), None)
    name = asked or known
    if name is not None and (asked or name in getattr(problem.X, "columns", ())):
        found = by_column(problem, name)
        what = f"groups by {name!r}"
    else:
        found, what = by_copies(problem, RowKeys.of(problem.X)), "different rows"
        if name is not None and found.groups is None:
            screen.note(f"there is no column {name!r}: intervals take rows for independent")
    if found.groups is not None:
        groups = count(len(np.unique(found.groups)), "group").split()[0]
        screen.note(f"intervals are of {groups} {what}, drawn whole")
    return found
