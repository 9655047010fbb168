"""scikit-learn's tests of its support vector machines on sparse rows."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone

from tests.peers import adapters
from tests.peers.borrow import borrowed

NAMES = ("SVC", "NuSVC", "SVR", "NuSVR", "OneClassSVM")
MACHINES = {name: getattr(adapters, name) for name in NAMES}

FORM = "coefficients are arrays here, also those of sparse rows"
NOT_OURS = "tests LinearSVC, which is not replaced"
LEFT_OUT = {
    "test_svc_iris": FORM,
    "test_unsorted_indices": FORM,
    "test_sparse_realdata": FORM,
    "test_timeout": "max_iter=1 is enough for its few rows",
    "test_error": NOT_OURS,
    "test_linearsvc": NOT_OURS,
    "test_linearsvc_iris": NOT_OURS,
    "test_weight": NOT_OURS,
}


def weights_of_distinct(model, rows):
    """Return what rows weigh in each problem, equal ones together: how they share it is open."""
    which = np.unique(rows, axis=0, return_inverse=True)[1]
    coefs = np.zeros((len(model.dual_coef_), len(rows)))
    coefs[:, model.support_] = model.dual_coef_
    return np.array([np.bincount(which, c) for c in coefs])


def check_svm_model_equal(machine, rows, y, new):
    """As in the file, but for the form of the arrays; and sparse rows may be asked for by both."""
    machine.set_params(tol=1e-7)  # the two are proved apart from one another
    sparse, dense = clone(machine).fit(rows, y), machine.fit(rows.toarray(), y)
    new_dense = new.toarray() if sp.issparse(new) else new
    np.testing.assert_array_equal(
        sparse.support_vectors_.toarray(), rows.toarray()[sparse.support_]
    )
    weights = (weights_of_distinct(model, rows.toarray()) for model in (sparse, dense))
    np.testing.assert_allclose(*weights, atol=1e-5)
    for asked in (new, new_dense):
        for model in (sparse, dense):
            np.testing.assert_array_equal(model.predict(asked), dense.predict(new_dense))
            values = model.decision_function(asked), dense.decision_function(new_dense)
            np.testing.assert_allclose(*values, atol=1e-5)


globals().update(
    borrowed(
        "sklearn.svm.tests.test_sparse",
        {"sklearn.svm": MACHINES},
        LEFT_OUT,
        check_svm_model_equal=check_svm_model_equal,
    )
)
