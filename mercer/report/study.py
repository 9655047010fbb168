"""What a report shows, as plain values: the computing ends here and the drawing begins."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from mercer.checks import Finding
from mercer.plot.object_records import SeriesLines, StrongTerms
from mercer.plot.ranking_records import Thresholds
from mercer.plot.records import LearningCurve as Curve
from mercer.plot.records import PartialDependence, Surface


@dataclass(frozen=True)
class Estimate:
    """A score with its 95 % interval."""

    value: float
    low: float
    high: float


@dataclass(frozen=True)
class Score:
    """One score of the model and of those it is compared with.

    ``rivals`` maps a name ("always 'no'", "linear model") to that rival's estimate, and ``leads``
    to how far the model is above it on the same rows. A ``unit`` of "share" is read in per cent.
    """

    name: str
    meaning: str  # in words, e.g. "share of the rows predicted rightly"
    model: Estimate
    rivals: Mapping[str, Estimate] = field(default_factory=dict)
    higher_is_better: bool = True
    unit: Literal["share", ""] = ""
    leads: Mapping[str, Estimate] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class Cloud:
    """The rows as points of a plane.

    ``label`` is the truth (classes, or numbers for regression). ``error`` says which rows were
    predicted wrongly (bool), or the residuals. ``rows`` holds for each point what a hover shows.
    """

    words: str  # how the coordinates were found
    points: np.ndarray  # (n, 2)
    label: np.ndarray
    error: np.ndarray
    rows: Sequence[Mapping[str, str]]
    axes: tuple[str, str] = ("component 1", "component 2")


@dataclass(frozen=True)
class Case:
    """One row that is worth a look."""

    row: int
    truth: str
    prediction: str
    confidence: str  # "97 %", or the residual
    right: bool | None
    values: Mapping[str, str]
    reasons: Sequence[tuple[str, str]] = ()  # columns that moved the prediction, and by how much


@dataclass(frozen=True)
class CaseTable:
    """A list of rows under a heading, e.g. "least certain".

    ``measure`` is the name of what ``Case.confidence`` holds.
    """

    heading: str
    words: str
    cases: Sequence[Case]
    measure: str = "confidence"


@dataclass(frozen=True)
class Importance:
    """How much the score falls when a column is shuffled."""

    column: str
    drop: Estimate


@dataclass(frozen=True, eq=False)
class ColumnPicture:
    """How the values of a column are spread over bins or levels, and the target within each.

    ``target`` has the shape (bins, 1), the mean of the numbers, or (bins, classes), the shares.
    """

    name: str
    words: str  # "number; 32.1 to 59.6, median 44.5; none missing"
    labels: tuple[str, ...]
    counts: np.ndarray
    target: np.ndarray
    quantity: bool  # whether the bins are steps of a quantity
    missing: int = 0


@dataclass(frozen=True, eq=False)
class Correlations:
    """Correlations of columns with one another, shape (d, d)."""

    names: tuple[str, ...]
    matrix: np.ndarray


@dataclass(frozen=True, eq=False)
class DataPicture:
    """What the training rows look like.

    ``classes`` are those whose shares ``ColumnPicture.target`` holds, empty for numbers;
    ``overall`` is the target of all rows.
    """

    words: str
    columns: Sequence[ColumnPicture]
    classes: tuple[str, ...]
    overall: np.ndarray
    correlations: Correlations | None = None


@dataclass(frozen=True)
class Proof:
    """The certificate, in a sentence and in full."""

    sentence: str  # "the optimum is known to within 0.003 %"
    ok: bool
    rows: Sequence[tuple[str, str]]


@dataclass(frozen=True, eq=False)
class ThresholdStudy:
    """What follows from calling rows positive from a probability on, for a handful of them.

    ``used`` is the probability of the model itself, ``chosen`` that of the largest F1 by
    cross-validation on the training rows: the rows of the table have no say in it.
    """

    table: Thresholds
    used: float
    chosen: float | None = None
    words: str = ""  # how it was chosen


@dataclass(frozen=True, eq=False)
class Study:
    """All that one report shows of one model; what could not be computed is None, and said."""

    title: str
    task: Literal["classify", "regress"]
    words: Mapping[str, Sequence[str]]  # what was done: sentences under a heading
    scores: Sequence[Score]
    evaluation: Any  # ClassificationEvaluation or RegressionEvaluation
    proof: Proof
    environment: Mapping[str, str]
    command: str = ""  # how to repeat it
    repeat: Mapping[str, str] = field(default_factory=dict)  # what the same result needs
    surface: Surface | None = None
    curve: Curve | None = None
    thresholds: ThresholdStudy | None = None
    cloud: Cloud | None = None
    cases: Sequence[CaseTable] = ()
    importances: Sequence[Importance] = ()
    importance_words: str = ""
    data: DataPicture | None = None
    objects: Sequence[SeriesLines | StrongTerms] = ()
    dependences: Sequence[PartialDependence] = ()
    dependence_words: str = ""
    left_out: Mapping[str, str] = field(default_factory=dict)  # section: why it is not there
    findings: Sequence[Finding] = ()  # what was odd about the rows, the worst first
    n_folds: int = 0  # of cross-validated scores; 0: the rows were held out

    @property
    def sentences(self) -> list[str]:
        """What was done, without the headings."""
        return [sentence for part in self.words.values() for sentence in part]
