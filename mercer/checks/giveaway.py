"""A single column that tells the target: often it was filled in after the target was known."""

from __future__ import annotations

import numpy as np
from sklearn.tree import DecisionTreeClassifier

from mercer._labels import smallest_class
from mercer._words import fixed, percent
from mercer.checks.finding import Finding
from mercer.checks.view import NUMERIC, View, correlation, is_missing, level_codes, n_values, ranks
from mercer.tables.columns import Column

RECALL = 0.99  # mean recall of the classes by one column alone
EXPLAINED = 0.999  # share of the variance, or rank correlation, by one column alone
FEWEST_ROWS = 30  # fewer rows can be told apart by chance
FEWEST_OF_A_CLASS = 5
LEAVES = 4  # of the tree for each class: a few intervals, not every value


def check_giveaways(view: View) -> list[Finding]:
    """Return the columns that alone predict the target nearly without a mistake."""
    found = [c for c in view.features if c.form != "date"]  # dates are looked at in their order
    first = np.unique(view.copies, return_index=True)[1]  # copies of a row are chance, too
    enough = len(first) >= FEWEST_ROWS and (
        view.task == "regress" or smallest_class(view.y[first]) >= FEWEST_OF_A_CLASS
    )
    if len(found) < 2 or not enough:  # a table of one column is about that column
        return []
    tells = _tells_class if view.task == "classify" else _tells_number
    return [_finding(c.name, view.target, told) for c in found if (told := tells(c, view))]


def _finding(name: str, target: str, told: str) -> Finding:
    sentence = f"the column {name!r} alone gives {target!r} away: {told}"
    advice = f"check whether {name!r} is known before {target!r} is; if not, --ignore {name!r}"
    return Finding("gives the target away", "leak", (name,), sentence, advice)


# ---------------------------------------------------------------- classes
def _tells_class(column: Column, view: View) -> str:
    """Return how well a column tells the classes, in words, if it does."""
    recall = _recall_of_column(column, view)
    if recall < RECALL:
        return ""
    return f"it tells {percent(recall)} of the rows rightly (mean over the classes)"


def _recall_of_column(column: Column, view: View) -> float:
    """Return the mean recall of the classes by levels, or by a few intervals of numbers."""
    if column.form not in NUMERIC:
        return recall_by_levels(level_codes(column), view)
    return _recall_of_tree(column, view) if _is_in_stretches(column, view) else 0.0


def _is_in_stretches(column: Column, view: View) -> bool:
    """Whether the classes, in the order of a column, change so seldom that few rows are wrong.

    A row in the wrong interval makes two changes; a first look that spares most trees.
    """
    ordered = view.y[np.lexsort((view.y, column.values))]
    changes = int((np.diff(ordered) != 0).sum())
    return changes <= LEAVES * view.n_classes + 4.0 * (1.0 - RECALL) * len(view)


def recall_by_levels(codes: np.ndarray, view: View) -> float:
    """Return the mean recall where each half of the rows is predicted by the other, level by level.

    The class of a level is the one whose share of its own rows is largest there.
    """
    y, k, half = view.y, view.n_classes, view.halves
    recalls = [
        _recall(
            _largest_share(codes[learn], y[learn], k, codes.max() + 1)[codes[~learn]], y[~learn]
        )
        for learn in (half, ~half)
    ]
    return float(np.mean(recalls))


def _largest_share(codes: np.ndarray, y: np.ndarray, k: int, n_levels: int) -> np.ndarray:
    """Return the class of each level; −1 for levels that do not occur."""
    counts = np.bincount(codes * k + y, minlength=n_levels * k).reshape(n_levels, k)
    shares = counts / np.maximum(counts.sum(axis=0), 1)
    return np.where(counts.any(axis=1), shares.argmax(axis=1), -1)


def _recall(predicted: np.ndarray, y: np.ndarray) -> float:
    right = np.bincount(y, predicted == y)
    rows = np.bincount(y)
    return float((right[rows > 0] / rows[rows > 0]).mean())


def _recall_of_tree(column: Column, view: View) -> float:
    tree = DecisionTreeClassifier(
        max_leaf_nodes=LEAVES * view.n_classes, class_weight="balanced", random_state=view.seed
    )
    # a tree knows the order of values only, and not all of them are float32, which it works with
    places = np.unique(column.values, return_inverse=True)[1].reshape(-1)
    x, y, half = np.where(is_missing(column), np.nan, places)[:, None], view.y, view.halves
    recalls = [
        _recall(tree.fit(x[learn], y[learn]).predict(x[~learn]), y[~learn])
        for learn in (half, ~half)
    ]
    return float(np.mean(recalls))


# ---------------------------------------------------------------- numbers
def _tells_number(column: Column, view: View) -> str:
    """Return how well a column tells a number, in words, if it does."""
    if column.form in NUMERIC:
        here = ~is_missing(column)
        if here.mean() < EXPLAINED or n_values(column) <= 2:
            return ""
        ordered = abs(correlation(ranks(column.values[here]), ranks(view.y[here])))
        if ordered >= EXPLAINED:
            return f"their rank correlation is {fixed(ordered)}"
    r2 = _explained(column, view)
    return f"a function of it alone has R² {fixed(r2)}" if r2 >= EXPLAINED else ""


def _explained(column: Column, view: View) -> float:
    """Return R² where each half of the rows is predicted by the other from one column."""
    half, predicted = view.halves, np.empty(len(view))
    x = column.values if column.form in NUMERIC else level_codes(column).astype(float)
    curve = column.form in NUMERIC
    for learn in (half, ~half):
        known, means = _means(x[learn], view.y[learn])
        near = np.interp(x[~learn], known, means)
        same = np.isin(x[~learn], known)
        predicted[~learn] = near if curve else np.where(same, near, view.y[learn].mean())
    return 1.0 - float(np.mean((view.y - predicted) ** 2)) / float(np.var(view.y))


def _means(x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the distinct values of x in order, and the mean of y at each."""
    known, places, counts = np.unique(x, return_inverse=True, return_counts=True)
    return known, np.bincount(places, y) / counts
