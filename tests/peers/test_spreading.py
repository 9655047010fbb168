"""scikit-learn's tests of spreading of labels."""

from __future__ import annotations

from tests.peers import adapters_more as adapters
from tests.peers.borrow import borrowed

NAMES = ("LabelSpreading",)
MACHINES = {name: getattr(adapters, name) for name in NAMES}

GRAPH = "the graph is of nearest neighbours, with weights of its own, and is never n × n"
LEFT_OUT = {
    "test_predict_proba": GRAPH,
    "test_label_spreading_closed_form": "takes the graph from a private method",
    "test_convergence_warning": "the warning is the same, in other words",
}

FILE = "sklearn.semi_supervised.tests.test_label_propagation"
globals().update(borrowed(FILE, {"sklearn.semi_supervised._label_propagation": MACHINES}, LEFT_OUT))
