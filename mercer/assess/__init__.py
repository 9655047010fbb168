"""Assessment: rates, curves, calibration and errors of predictions, with intervals.

Scores over folds, sizes and parameters are in `mercer.select`: ``cross_validate``,
``learning_curve``, ``validation_curve``.
"""

from mercer.assess.bootstrap import Interval
from mercer.assess.calibration import Calibration
from mercer.assess.classification import ClassificationEvaluation
from mercer.assess.evaluate import GeneralizationGap, evaluate, generalization_gap
from mercer.assess.ranking import Roc
from mercer.assess.regression import RegressionEvaluation

__all__ = [
    "Calibration",
    "ClassificationEvaluation",
    "GeneralizationGap",
    "Interval",
    "RegressionEvaluation",
    "Roc",
    "evaluate",
    "generalization_gap",
]
