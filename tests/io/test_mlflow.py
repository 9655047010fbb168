"""MLflow stores fitted models in its default form, which is that of skops."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from mercer import SVC, KernelRidge
from tests.cases import two_classes

mlflow = pytest.importorskip("mlflow.sklearn", reason="mlflow-skinny is in the extra dev")
skops = pytest.importorskip("skops.io", reason="skops is in the extra dev")

X, Y = two_classes(60, 3)
MODELS = [SVC(), KernelRidge("linear"), make_pipeline(StandardScaler(), SVC(probability=True))]


@pytest.mark.long  # MLflow itself takes half a minute
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("model", MODELS, ids=repr)
def test_mlflow_stores_a_fitted_model(model, tmp_path):
    model.fit(X, Y)
    trusted = skops.get_untrusted_types(data=skops.dumps(model))
    assert all(name.startswith("mercer.") for name in trusted)
    mlflow.save_model(model, str(tmp_path / "model"), skops_trusted_types=trusted)
    again = mlflow.load_model(str(tmp_path / "model"))
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
