"""Assessment: rates, curves, calibration and errors of predictions, with intervals.

Scores over folds, sizes and parameters are in `mercer.select`: ``cross_validate``,
``learning_curve``, ``validation_curve``.
"""

from mercer.assess.bootstrap import Interval
from mercer.assess.classification import ClassificationEvaluation
from mercer.assess.evaluate import GeneralizationGap, evaluate, generalization_gap
from mercer.assess.regression import RegressionEvaluation
from mercer.plot.ranking_records import PrecisionRecall, Roc, Thresholds
from mercer.plot.records import Calibration

__all__ = [
    "Calibration",
    "ClassificationEvaluation",
    "GeneralizationGap",
    "Interval",
    "PrecisionRecall",
    "RegressionEvaluation",
    "Roc",
    "Thresholds",
    "evaluate",
    "generalization_gap",
]
