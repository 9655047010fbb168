"""Ensembles that are built one weak classifier at a time."""

from mercer.boosting.adaboost import AdaBoost

__all__ = ["AdaBoost"]
