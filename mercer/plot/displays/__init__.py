"""Displays: pictures of fitted models as objects, in scikit-learn's manner."""

from mercer.plot.displays.calibration import CalibrationDisplay
from mercer.plot.displays.classes import ConfusionDisplay, RocDisplay
from mercer.plot.displays.decision import DecisionDisplay
from mercer.plot.displays.gram import GramDisplay
from mercer.plot.displays.numbers import PredictionDisplay
from mercer.plot.displays.projections import EmbeddingDisplay, ScreeDisplay
from mercer.plot.displays.runs import LearningCurveDisplay, SearchDisplay, TraceDisplay

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
]
