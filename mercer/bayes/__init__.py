"""Bayes' rule with Gaussians: densities, classifiers, mixtures and EM."""

from mercer.bayes._em import em
from mercer.bayes.classifier import GaussianBayes
from mercer.bayes.gaussian import Gaussian, NormalInverseWishart
from mercer.bayes.mixture import GMM
from mercer.bayes.table import JointTable

__all__ = ["GMM", "Gaussian", "GaussianBayes", "JointTable", "NormalInverseWishart", "em"]
