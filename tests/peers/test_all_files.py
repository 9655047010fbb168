"""Every test file of scikit-learn that could concern an estimator here is run, or has a reason."""

from __future__ import annotations

from pathlib import Path

import pytest
import sklearn

FOLDERS = """
cluster covariance cross_decomposition decomposition ensemble gaussian_process linear_model manifold
mixture model_selection neighbors neural_network preprocessing semi_supervised svm
"""

NOT_RUN = {
    "there is no such estimator here": """
        cluster/affinity_propagation cluster/bicluster cluster/birch cluster/bisect_k_means
        cluster/dbscan cluster/feature_agglomeration cluster/hdbscan cluster/hierarchical
        cluster/mean_shift cluster/optics covariance/elliptic_envelope covariance/graphical_lasso
        decomposition/dict_learning decomposition/factor_analysis decomposition/nmf
        decomposition/online_lda decomposition/truncated_svd ensemble/bagging ensemble/forest
        ensemble/gradient_boosting ensemble/iforest ensemble/stacking ensemble/voting
        linear_model/bayes linear_model/least_angle linear_model/omp linear_model/ransac
        linear_model/theil_sen manifold/t_sne mixture/bayesian_mixture neighbors/kde neighbors/lof
        neighbors/nca neighbors/nearest_centroid neural_network/rbm semi_supervised/self_training
        gaussian_process/gpc gaussian_process/gpr preprocessing/target_encoder
    """,
    "the method of that name is another one here": """
        cluster/k_means manifold/mds linear_model/huber decomposition/incremental_pca
        covariance/covariance covariance/robust_covariance preprocessing/polynomial
        linear_model/passive_aggressive linear_model/sgd model_selection/successive_halving
    """,
    "tests functions and loops of scikit-learn's own": """
        ensemble/base ensemble/bootstrap linear_model/linear_loss
        linear_model/sag neighbors/ball_tree neighbors/graph neighbors/kd_tree
        neighbors/neighbors_tree neighbors/quad_tree neural_network/base svm/bounds
        neural_network/stochastic_optimizers model_selection/split gaussian_process/kernels
    """,
    "scalers, encoders and the like are used as they are": """
        preprocessing/common preprocessing/data preprocessing/discretization
        preprocessing/encoders preprocessing/function_transformer preprocessing/label
        model_selection/classification_threshold model_selection/plot
    """,
    "tests families of estimators, most of which are not here": """
        ensemble/common linear_model/common mixture/mixture neighbors/neighbors_pipeline
    """,
}
REASONS = {name: why for why, names in NOT_RUN.items() for name in names.split()}
HERE = Path(__file__).parent


def shipped():
    """Yield folder/name of the test files of the installed scikit-learn, without their prefix."""
    root = Path(sklearn.__file__).parent
    for folder in FOLDERS.split():
        for file in (root / folder / "tests").glob("test_*.py"):
            yield f"{folder}/{file.stem.removeprefix('test_')}"


def is_run(name):
    folder, file = name.split("/")
    wanted = f'"sklearn.{folder}.tests.test_{file}"'
    return any(wanted in ours.read_text(encoding="utf-8") for ours in HERE.glob("test_*.py"))


def test_each_file_is_run_or_has_a_reason():
    names = set(shipped())
    if not names:
        pytest.skip("this scikit-learn comes without tests")
    unknown = {name for name in names if name not in REASONS and not is_run(name)}
    assert not unknown
    assert not {name for name in REASONS if is_run(name)}


LEFT_OUT: dict[str, str] = {}
