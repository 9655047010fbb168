"""Linear models: regression in several norms and penalties, ridge, lasso, logistic regression."""

from mercer.linear.lasso import Lasso, LassoPath, lasso_path
from mercer.linear.logistic import LogisticRegression
from mercer.linear.penalised import PenaltyRegression
from mercer.linear.regression import LinearRegression
from mercer.linear.ridge import Ridge

__all__ = [
    "Lasso",
    "LassoPath",
    "LinearRegression",
    "LogisticRegression",
    "PenaltyRegression",
    "Ridge",
    "lasso_path",
]
