"""Pictures of choice, assessment and projections; every function returns the Axes it drew on."""

from mercer.plot.assessment import calibration, confusion, predictions, residuals, roc
from mercer.plot.curves import learning_curve, validation_curve
from mercer.plot.projections import embedding, scree
from mercer.plot.surface import search
from mercer.plot.trace import trace
from mercer.plot.weights import loadings

__all__ = [
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
