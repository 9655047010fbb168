"""scikit-learn's tests of naive Bayes with Gaussians."""

from __future__ import annotations

from tests.peers import adapters
from tests.peers.borrow import borrowed

MACHINES = {"GaussianNB": adapters.GaussianNB}

WORDS = "the error is the same, in other words"
LEFT_OUT = {
    "test_gnb": WORDS,
    "test_gnb_neg_priors": WORDS,
    "test_gnb_wrong_nb_priors": WORDS,
    "test_gnb_prior_greater_one": WORDS,
    "test_gnb_priors_sum_isclose": "one of its priors is 0, and priors are positive here",
    "test_gnb_sample_weight": "a class whose rows all weigh nothing is refused",
    "test_gnb_check_update_with_no_data": "tests a private function",
}

globals().update(
    borrowed(
        "sklearn.tests.test_naive_bayes", {"sklearn.naive_bayes": MACHINES}, LEFT_OUT, only="gnb"
    )
)
