"""Feed-forward networks, trained by backpropagation."""

from mercer.nets.autoencoder import Autoencoder
from mercer.nets.predictors import MLPClassifier, MLPRegressor

__all__ = ["Autoencoder", "MLPClassifier", "MLPRegressor"]
