"""Linear models: regression in several norms and penalties, ridge, lasso, logistic regression."""

from mercer.linear._lasso_path import LassoPath
from mercer.linear.elastic_net import ElasticNet, elastic_net_path
from mercer.linear.lasso import Lasso, lasso_path
from mercer.linear.logistic import LogisticRegression
from mercer.linear.penalised import PenaltyRegression
from mercer.linear.quantile import QuantileRegression
from mercer.linear.regression import LinearRegression
from mercer.linear.ridge import Ridge

__all__ = [
    "ElasticNet",
    "Lasso",
    "LassoPath",
    "LinearRegression",
    "LogisticRegression",
    "PenaltyRegression",
    "QuantileRegression",
    "Ridge",
    "elastic_net_path",
    "lasso_path",
]
