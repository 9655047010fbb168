"""Pictures of models, choice, assessment and projections.

Functions return the Axes that they drew on; Displays keep the plain data of a picture and are made
from a fitted model, as in scikit-learn.
"""

from mercer.plot.assessment import calibration, confusion, predictions, residuals, roc
from mercer.plot.curves import learning_curve, validation_curve
from mercer.plot.displays import (
    CalibrationDisplay,
    ConfusionDisplay,
    DecisionDisplay,
    EmbeddingDisplay,
    GramDisplay,
    LearningCurveDisplay,
    PredictionDisplay,
    RocDisplay,
    ScreeDisplay,
    SearchDisplay,
    TraceDisplay,
)
from mercer.plot.projections import embedding, scree
from mercer.plot.surface import search
from mercer.plot.trace import trace
from mercer.plot.weights import loadings

__all__ = [
    "CalibrationDisplay",
    "ConfusionDisplay",
    "DecisionDisplay",
    "EmbeddingDisplay",
    "GramDisplay",
    "LearningCurveDisplay",
    "PredictionDisplay",
    "RocDisplay",
    "ScreeDisplay",
    "SearchDisplay",
    "TraceDisplay",
    "calibration",
    "confusion",
    "embedding",
    "learning_curve",
    "loadings",
    "predictions",
    "residuals",
    "roc",
    "scree",
    "search",
    "trace",
    "validation_curve",
]
