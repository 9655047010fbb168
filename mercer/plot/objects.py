"""Pictures of objects: series as lines, with the path that warps one to another; strong words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from mercer.plot._axes import BLUE, ORANGE, PALETTE, axes_for, clean, name_of
from mercer.plot._display import Display, documented
from mercer.plot.object_records import SeriesLines, StrongTerms


@documented
def series(record: SeriesLines, *, ax: Any = None) -> Any:
    """Draw series as lines in the colours of their classes; support vectors are bold.

    Parameters
    ----------
    record : SeriesLines
        The lines.
    """
    ax = axes_for(ax)
    first: set[int] = set()
    for line, place, carries in zip(record.lines, record.places, record.support, strict=True):
        bold: dict[str, Any] = {"linewidth": 1.8} if carries else {"linewidth": 0.9, "alpha": 0.5}
        label = None if place in first else name_of(record.classes[place])
        ax.plot(line, color=PALETTE[place % len(PALETTE)], label=label, **bold)
        first.add(int(place))
    ax.legend(frameon=False)
    return clean(ax, "y", "step", record.name or "value")


@documented
def terms(record: StrongTerms, which: int = 0, *, ax: Any = None) -> Any:
    """Draw the strongest words of a class as bars: the mean score with the word and without.

    Parameters
    ----------
    record : StrongTerms
        The words.
    which : int, default=0
        The number of the class.
    """
    ax, own = axes_for(ax), record.terms[which]
    heights = np.arange(len(own))[::-1]
    ax.hlines(heights, [t.absent for t in own], [t.present for t in own], color=BLUE, linewidth=5)
    ax.plot([t.absent for t in own], heights, "|", color=ORANGE, markersize=11)
    ax.set_yticks(heights, [name_of(repr(t.text)) for t in own])
    return clean(ax, "x", f"mean score of {record.classes[which]}, without and with", "")


@documented
def warping(x: Any, y: Any, path: Any, *, ax: Any = None) -> Any:
    """Draw two series one above the other, and which steps an alignment takes together.

    Parameters
    ----------
    x, y : array of shape (steps,)
        The series.
    path : array of shape (length, 2)
        Pairs of steps, of x and of y.
    """
    ax, x, y, path = axes_for(ax), np.ravel(x), np.ravel(y), np.asarray(path, dtype=np.intp)
    gap = 1.2 * max(np.ptp(x), np.ptp(y), 1e-300)
    for i, j in path[:: max(1, len(path) // 80)]:
        ax.plot([i, j], [x[i] + gap, y[j]], color="#BBBBBB", linewidth=0.6, zorder=0)
    ax.plot(np.arange(len(x)), x + gap, color=BLUE)
    ax.plot(np.arange(len(y)), y, color=ORANGE)
    ax.set_yticks([])
    return clean(ax, None, "step", "")


@dataclass(eq=False, repr=False)
class SeriesDisplay(Display):
    """Series as lines, some of each class, support vectors bold.

    Parameters
    ----------
    record : SeriesLines
        The lines.

    Examples
    --------
    >>> from mercer.plot import SeriesDisplay
    >>> display = SeriesDisplay.from_series([[0, 1], [1, 0]], ["up", "down"])  # doctest: +SKIP
    """

    record: SeriesLines

    @classmethod
    def from_series(
        cls, X: Sequence[Any], y: Any, *, model: Any = None, name: str = "", ax: Any = None
    ) -> Self:
        """Choose some of the series.

        Parameters
        ----------
        X : sequence of arrays
            The series.
        y : array of shape (n,)
            Their classes.
        model : fitted support vector machine, default=None
            It was fitted to X, and says which are support vectors.
        name : str, default=""
            What they measure.
        """
        support = getattr(model, "support_", None)
        return cls(SeriesLines.of(X, y, name=name, support=support)).plot(ax)

    def _draw(self, ax: Any) -> Any:
        return series(self.record, ax=ax)


@dataclass(eq=False, repr=False)
class TermsDisplay(Display):
    """The words or pieces of strings with which the answers of a model go most.

    Parameters
    ----------
    record : StrongTerms
        The words.
    which : int, default=0
        The number of the class that is drawn.

    Examples
    --------
    >>> from mercer import SVC
    >>> from mercer.kernels import Words
    >>> from mercer.plot import TermsDisplay
    >>> texts = ["good film", "a bad film", "very good", "bad and long"] * 10
    >>> model = SVC(Words(), probability=True).fit(texts, ["like", "dislike"] * 20)
    >>> display = TermsDisplay.from_estimator(model, texts)  # doctest: +SKIP
    """

    record: StrongTerms
    which: int = 0

    @classmethod
    def from_estimator(
        cls, model: Any, texts: Sequence[str], *, kind: str = "text", which: int = 0, ax: Any = None
    ) -> Self:
        """Ask a model about texts.

        Parameters
        ----------
        model : fitted estimator
            It takes texts; its probabilities, or predicted numbers, are compared.
        texts : sequence of str
            The texts.
        kind : {"text", "string"}, default="text"
            Whether words are looked for, or letters in a row.
        which : int, default=0
            The number of the class that is drawn.
        """
        if hasattr(model, "predict_proba"):
            scores, classes = model.predict_proba(texts), model.classes_
        else:
            scores, classes = model.predict(texts), None
        record = StrongTerms.of(texts, scores, classes=classes, kind=kind)
        return cls(record, which).plot(ax)

    def _draw(self, ax: Any) -> Any:
        return terms(self.record, self.which, ax=ax)
