"""Feed-forward networks, trained by backpropagation."""

from mercer.nets.autoencoder import Autoencoder
from mercer.nets.classifier import MLPClassifier
from mercer.nets.regressor import MLPRegressor

__all__ = ["Autoencoder", "MLPClassifier", "MLPRegressor"]
