"""What a model file may name: classes, functions and types, and why these; the error if not.

A file holds names, never code, and a name is only ever looked up here. What is built from a name
is built without calling it: an empty object that gets its attributes. So a class may stand here if
an object of it does nothing until one of its methods is called, and if those methods do no more
with their attributes than compute. That leaves out all that opens files, unpickles, evaluates text
or runs a function that an attribute names by its text.

- Classes of mercer are not listed one by one. All classes of the folders below that are
  estimators, kernels, losses, penalties or norms (`BaseEstimator`, `ParameterValue`, `Norm`), or
  plain values (data classes, named tuples, enums), may be in a file. Folders that read and write
  files or talk to people (``io``, ``datasets``, ``cli``, ``report``, ``plot``) are not among them.
- Classes of scikit-learn are those that stand before or around a kernel machine and whose fitted
  state is arrays, numbers and texts.
- Functions are those that such classes take by name: scores, tests of columns, and elementwise
  functions of NumPy.
"""

from __future__ import annotations

import numpy as np
from sklearn.base import BaseEstimator

from mercer._parameters import ParameterValue
from mercer.norms import Norm


class ModelFileError(ValueError):
    """A model that cannot be saved, or a file that is not a model, is broken or not trusted."""


MERCER = (
    "assess",
    "bayes",
    "boosting",
    "distances",
    "kernels",
    "linear",
    "losses",
    "machines",
    "maps",
    "meta",
    "nets",
    "norms",
    "optimize",
    "penalties",
    "result",
    "schoenberg",
    "select",
    "solvers",
    "spectral",
    "tables",
)

PLAIN_VALUES = {"Gaussian", "JointTable", "NormalInverseWishart"}
"""Classes of mercer that are values although they have no base class that says so."""

BASES = (BaseEstimator, ParameterValue, Norm)
"""What a class of the user's own must derive from to be saved."""

SCIKIT_LEARN = {
    "sklearn.compose": ("ColumnTransformer", "TransformedTargetRegressor", "make_column_selector"),
    "sklearn.decomposition": ("PCA", "TruncatedSVD"),
    "sklearn.dummy": ("DummyClassifier", "DummyRegressor"),
    "sklearn.feature_extraction": ("DictVectorizer", "FeatureHasher"),
    "sklearn.feature_extraction.text": (
        "CountVectorizer",
        "HashingVectorizer",
        "TfidfTransformer",
        "TfidfVectorizer",
    ),
    "sklearn.feature_selection": (
        "GenericUnivariateSelect",
        "SelectFdr",
        "SelectFpr",
        "SelectFwe",
        "SelectKBest",
        "SelectPercentile",
        "VarianceThreshold",
    ),
    "sklearn.impute": ("MissingIndicator", "SimpleImputer"),
    "sklearn.linear_model": ("LinearRegression", "LogisticRegression", "Ridge", "RidgeClassifier"),
    "sklearn.metrics._scorer": ("_PassthroughScorer", "_Scorer"),
    "sklearn.model_selection": (
        "GridSearchCV",
        "GroupKFold",
        "KFold",
        "LeaveOneOut",
        "RandomizedSearchCV",
        "RepeatedKFold",
        "RepeatedStratifiedKFold",
        "ShuffleSplit",
        "StratifiedGroupKFold",
        "StratifiedKFold",
        "StratifiedShuffleSplit",
        "TimeSeriesSplit",
    ),
    "sklearn.multiclass": ("OneVsOneClassifier", "OneVsRestClassifier"),
    "sklearn.multioutput": ("MultiOutputClassifier", "MultiOutputRegressor"),
    "sklearn.pipeline": ("FeatureUnion", "Pipeline"),
    "sklearn.preprocessing": (
        "Binarizer",
        "FunctionTransformer",
        "KBinsDiscretizer",
        "LabelBinarizer",
        "LabelEncoder",
        "MaxAbsScaler",
        "MinMaxScaler",
        "MultiLabelBinarizer",
        "Normalizer",
        "OneHotEncoder",
        "OrdinalEncoder",
        "PolynomialFeatures",
        "PowerTransformer",
        "QuantileTransformer",
        "RobustScaler",
        "StandardScaler",
        "TargetEncoder",
    ),
}

ONLY_NONE = {
    # joblib keeps its results in that folder as pickles, and reads them when a step is fitted again
    ("sklearn.pipeline.Pipeline", "memory"): "it names a folder of pickles on one machine",
}
"""Attributes that a file may hold only as None, and why."""

FUNCTIONS = {
    "numpy": (
        "abs",
        "absolute",
        "arcsinh",
        "arctan",
        "cbrt",
        "ceil",
        "cos",
        "cosh",
        "dot",
        "exp",
        "exp2",
        "expm1",
        "floor",
        "fabs",
        "inner",
        "log",
        "log10",
        "log1p",
        "log2",
        "max",
        "mean",
        "median",
        "min",
        "negative",
        "prod",
        "reciprocal",
        "rint",
        "sign",
        "sin",
        "sinh",
        "sqrt",
        "square",
        "std",
        "sum",
        "tan",
        "tanh",
        "trunc",
        "var",
        "vdot",
    ),
    "sklearn.feature_selection": (
        "chi2",
        "f_classif",
        "f_regression",
        "mutual_info_classif",
        "mutual_info_regression",
        "r_regression",
    ),
    "sklearn.metrics": (
        "accuracy_score",
        "adjusted_mutual_info_score",
        "adjusted_rand_score",
        "average_precision_score",
        "balanced_accuracy_score",
        "brier_score_loss",
        "cohen_kappa_score",
        "completeness_score",
        "d2_absolute_error_score",
        "d2_brier_score",
        "d2_log_loss_score",
        "d2_pinball_score",
        "d2_tweedie_score",
        "explained_variance_score",
        "f1_score",
        "fbeta_score",
        "fowlkes_mallows_score",
        "hamming_loss",
        "homogeneity_score",
        "jaccard_score",
        "log_loss",
        "matthews_corrcoef",
        "max_error",
        "mean_absolute_error",
        "mean_absolute_percentage_error",
        "mean_gamma_deviance",
        "mean_pinball_loss",
        "mean_poisson_deviance",
        "mean_squared_error",
        "mean_squared_log_error",
        "median_absolute_error",
        "mutual_info_score",
        "normalized_mutual_info_score",
        "precision_score",
        "r2_score",
        "rand_score",
        "recall_score",
        "roc_auc_score",
        "root_mean_squared_error",
        "root_mean_squared_log_error",
        "top_k_accuracy_score",
        "v_measure_score",
        "zero_one_loss",
    ),
    "sklearn.metrics._scorer": ("negative_likelihood_ratio", "positive_likelihood_ratio"),
}

TYPES: dict[str, type] = {
    **{f"builtins.{t.__name__}": t for t in (bool, int, float, complex, str, bytes, object)},
    **{f"numpy.{t.__name__}": t for t in np.sctypeDict.values()},
}
"""Types that are values of parameters, such as ``dtype=np.float64``."""
