"""Pictures of models, choice, assessment and projections.

Functions return the Axes that they drew on; Displays keep the plain data of a picture and are made
from a fitted model, as in scikit-learn.
"""

from mercer.plot.classes import CalibrationDisplay, ConfusionDisplay, calibration, confusion
from mercer.plot.curves import LearningCurveDisplay, learning_curve, validation_curve
from mercer.plot.decision import DecisionDisplay
from mercer.plot.gram import GramDisplay
from mercer.plot.numbers import PredictionDisplay, predictions, residuals
from mercer.plot.objects import SeriesDisplay, TermsDisplay, series, terms, warping
from mercer.plot.projections import EmbeddingDisplay, ScreeDisplay, embedding, scree
from mercer.plot.ranking import PrecisionRecallDisplay, RocDisplay, precision_recall, roc
from mercer.plot.runs import TraceDisplay, trace
from mercer.plot.searches import SearchDisplay, search
from mercer.plot.weights import loadings

__all__ = [
    "CalibrationDisplay",
    "ConfusionDisplay",
    "DecisionDisplay",
    "EmbeddingDisplay",
    "GramDisplay",
    "LearningCurveDisplay",
    "PrecisionRecallDisplay",
    "PredictionDisplay",
    "RocDisplay",
    "ScreeDisplay",
    "SearchDisplay",
    "SeriesDisplay",
    "TermsDisplay",
    "TraceDisplay",
    "calibration",
    "confusion",
    "embedding",
    "learning_curve",
    "loadings",
    "precision_recall",
    "predictions",
    "residuals",
    "roc",
    "scree",
    "search",
    "series",
    "terms",
    "trace",
    "validation_curve",
    "warping",
]
