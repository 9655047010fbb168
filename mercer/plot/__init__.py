"""Pictures of model choice, drawn with matplotlib; every function returns the Axes it drew on."""

from mercer.plot.curves import learning_curve, validation_curve
from mercer.plot.surface import search

__all__ = ["learning_curve", "search", "validation_curve"]
