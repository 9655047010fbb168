"""Machines in C and ONNX answer as those that they were written from."""

from __future__ import annotations

import ctypes
import shutil
import subprocess

import numpy as np
import pytest
from sklearn.datasets import load_iris

from mercer import (
    KNN,
    SVC,
    SVR,
    KernelLogistic,
    KernelMachine,
    KernelRidge,
    KernelRidgeClassifier,
    LaplacianRidge,
    LaplacianSVC,
    LinearSVC,
    LogisticRegression,
    MetricRidge,
    MetricRidgeClassifier,
    NuSVC,
    NuSVR,
    OneClassSVM,
    Perceptron,
    Ridge,
)
from mercer.io import read_libsvm, write_c, write_libsvm, write_onnx
from mercer.kernels import (
    RBF,
    ChiSquared,
    Cosine,
    Exponential,
    Intersection,
    Laplacian,
    Linear,
    Matern,
    Periodic,
    Polynomial,
    RationalQuadratic,
    Sigmoid,
    Wavelet,
)

X, Y = load_iris(return_X_y=True)
LABELS = ["a", 'b"\\?', "*/ ü\n1"]
T, WORDS = X[:, 3], np.array(LABELS)[Y]
X = X[:, :3]
NEW = np.random.default_rng(0).normal(X.mean(axis=0), X.std(axis=0), size=(60, 3)).clip(0.0)
WEIGHTS = [0.5, 0.0, 2.0]
MATRIX = np.array([[2.0, 0.5, 0.0], [0.5, 1.0, -0.3], [0.0, -0.3, 0.2]])
CC = shutil.which("cc")
ROUNDING = 1e-9

KERNELS = [
    Linear(),
    Linear(bias=0.5),
    Polynomial(3, scale=0.1, bias=0.3),
    RBF(),
    Exponential(exponent=0.7),
    Exponential(0.3, p=1.0),
    Laplacian(),
    Matern(0.5),
    Matern(1.5),
    Matern(2.5),
    0.5 * RBF(gamma=0.1) + Laplacian(gamma=0.2) * Linear(bias=1.0),
    (0.1 * Linear()).exp().normalized() + 2.0,
    Polynomial(2, bias=1.0).normalized() ** 2,
    (RBF(gamma=0.2) + Linear()).normalized(),
    RBF(metric=WEIGHTS),
    RBF(0.3, metric=MATRIX),
    Exponential(0.5, metric=MATRIX, exponent=1.3),
    Exponential(0.5, metric=WEIGHTS, p=1.5),
    Exponential(0.3, p=0.7, exponent=0.6),
    Laplacian(metric=WEIGHTS),
    Matern(2.5, metric=[1.0, 2.0, 3.0]),
    RBF(metric=WEIGHTS) + 0.5 * RBF(0.1, metric=MATRIX) * Laplacian() + Matern(1.5, metric=WEIGHTS),
    RationalQuadratic(0.7),
    RationalQuadratic(3.0, metric=MATRIX),
    Periodic([1.0, 2.5, 0.7], gamma=0.4),
    Cosine(),
    0.3 * Cosine() + Cosine() * RBF(),
    Intersection(),
    Intersection().normalized() * Laplacian(),
    ChiSquared(0.2),
]
MODELS = {
    "two classes": SVC("rbf").fit(X[Y < 2], Y[Y < 2]),
    "classes by pairs": SVC(C=3.0).fit(X, WORDS),
    "classes against the rest": SVC(multiclass="ovr").fit(X, WORDS),
    "shares": NuSVC(nu=0.3).fit(X, Y),
    "novelty": OneClassSVM(nu=0.2).fit(X),
    "numbers": SVR(C=2.0).fit(X, T),
    "shares of numbers": NuSVR().fit(X, T),
    "ridge": KernelRidge("rbf", lam=0.1).fit(X, T),
    "two targets": KernelRidge("laplacian").fit(X, np.column_stack([T, T**2])),
    "landmarks": KernelRidge("rbf", lam=0.1, landmarks=20, random_state=0).fit(X, T),
    "ridge of classes": KernelRidgeClassifier().fit(X, WORDS),
    "odds": KernelLogistic().fit(X, Y),
    "odds of two": KernelLogistic("linear").fit(X[Y > 0], Y[Y > 0]),
    "another loss": KernelMachine("huber", lam=0.1).fit(X, T),
    "another loss of classes": KernelMachine("hinge", lam=0.1).fit(X, WORDS),
    "ties": SVC(RBF(0.05), break_ties=True).fit(X, WORDS),
    "chances of two": SVC(probability=True).fit(X[Y > 0], Y[Y > 0]),
    "chances by pairs": SVC(RBF(0.1), C=0.1, probability=True).fit(X, WORDS),
    "chances against the rest": SVC(multiclass="ovr", probability=True).fit(X, Y),
    "chances of shares": NuSVC(nu=0.3, probability=True).fit(X, Y),
    "mistakes": Perceptron("rbf", random_state=0).fit(X, np.where(Y > 0, "yes", "no")),
    "a graph": LaplacianSVC(multiclass="ovo").fit(X, Y),
    "numbers and a graph": LaplacianRidge().fit(X, T),
    "a learned metric": MetricRidge(rounds=2, random_state=0).fit(X, T),
    "a learned matrix": MetricRidge(metric="full", rounds=1, random_state=0).fit(X, T),
    "a learned metric of two": MetricRidgeClassifier(rounds=1).fit(X[Y > 0], WORDS[Y > 0]),
    "a learned metric of classes": MetricRidgeClassifier("laplacian", rounds=1).fit(X, WORDS),
    "linear": LinearSVC().fit(X, WORDS),
    "linear odds": LogisticRegression().fit(X, WORDS),
    "linear odds of two": LogisticRegression().fit(X[Y > 0], Y[Y > 0]),
    "linear numbers": Ridge().fit(X, np.column_stack([T, T**2])),
}
every_model = pytest.mark.parametrize("model", MODELS.values(), ids=MODELS.keys())
every_kernel = pytest.mark.parametrize("kernel", KERNELS, ids=repr)


def values(model, rows):
    """Return the values of all problems, a column each."""
    if isinstance(model, (SVC, NuSVC)):
        return model._raw_decision(rows)
    found = model.decision_function(rows) if hasattr(model, "decision_function") else None
    found = model.predict(rows) if found is None else found
    return np.asarray(found).reshape(len(rows), -1)


# ---------------------------------------------------------------- C
class Compiled:
    """What a file of C computes, compiled with all warnings as errors."""

    def __init__(self, model, folder):
        self.model = model
        source = write_c(model, folder / "machine.c", name="m")
        library = folder / "machine.so"
        command = [CC, "-std=c99", "-Wall", "-Wextra", "-Werror", "-O1", "-shared", "-fPIC"]
        subprocess.run([*command, "-o", library, source, "-lm"], check=True, capture_output=True)
        self.library = ctypes.CDLL(str(library))

    def values(self, rows):
        t = values(self.model, rows[:1]).shape[1]
        out = np.empty((len(rows), t))
        for x, f in zip(np.ascontiguousarray(rows), out, strict=True):
            self.library.m_values(
                x.ctypes.data_as(ctypes.c_void_p), f.ctypes.data_as(ctypes.c_void_p)
            )
        return out

    def chances(self, rows):
        out = np.empty((len(rows), len(self.model.classes_)))
        for x, p in zip(np.ascontiguousarray(rows), out, strict=True):
            self.library.m_probabilities(
                x.ctypes.data_as(ctypes.c_void_p), p.ctypes.data_as(ctypes.c_void_p)
            )
        return out

    def labels(self, rows):
        self.library.m_predict.restype = ctypes.c_int
        codes = [self.library.m_predict(x.ctypes.data_as(ctypes.c_void_p)) for x in rows.copy()]
        return np.array(codes)


needs_cc = pytest.mark.skipif(CC is None, reason="there is no C compiler")


@needs_cc
@every_model
def test_c_answers_as_the_model(model, tmp_path):
    machine, wanted = Compiled(model, tmp_path), values(model, NEW)
    scale = np.abs(wanted).max()
    np.testing.assert_allclose(machine.values(NEW), wanted, rtol=ROUNDING, atol=ROUNDING * scale)
    classes = [-1, 1] if isinstance(model, OneClassSVM) else getattr(model, "classes_", None)
    if classes is not None:
        predicted = np.asarray(classes)[machine.labels(NEW)]
        np.testing.assert_array_equal(predicted, model.predict(NEW))
    if hasattr(model, "predict_proba"):
        np.testing.assert_allclose(machine.chances(NEW), model.predict_proba(NEW), atol=ROUNDING)


@needs_cc
@every_kernel
def test_c_has_the_kernel(kernel, tmp_path):
    model = KernelRidge(kernel, lam=0.5).fit(X, T)
    found = Compiled(model, tmp_path).values(NEW)
    np.testing.assert_allclose(found, values(model, NEW), rtol=ROUNDING, atol=ROUNDING)


@needs_cc
def test_c_tells_the_labels(tmp_path):
    machine = Compiled(MODELS["classes by pairs"], tmp_path)
    labels = (ctypes.c_char_p * 3).in_dll(machine.library, "m_classes")
    assert [label.decode() for label in labels] == MODELS["classes by pairs"].classes_.tolist()


# ---------------------------------------------------------------- ONNX
class Graph:
    """What an ONNX model computes."""

    def __init__(self, model, folder):
        runtime = pytest.importorskip("onnxruntime", reason="it is in the extra onnx")
        path = write_onnx(model, folder / "machine.onnx")
        self.session = runtime.InferenceSession(str(path), providers=["CPUExecutionProvider"])

    def ask(self, name, rows):
        return self.session.run([name], {"X": rows})[0]


@every_model
def test_onnx_answers_as_the_model(model, tmp_path):
    graph, wanted = Graph(model, tmp_path), values(model, NEW)
    found = graph.ask("values", NEW)
    assert found.dtype == np.float64
    np.testing.assert_allclose(found, wanted, rtol=ROUNDING, atol=ROUNDING * np.abs(wanted).max())
    if hasattr(model, "classes_") or isinstance(model, OneClassSVM):
        np.testing.assert_array_equal(graph.ask("label", NEW), model.predict(NEW))
    if hasattr(model, "predict_proba"):
        found = graph.ask("probabilities", NEW)
        np.testing.assert_allclose(found, model.predict_proba(NEW), atol=ROUNDING)


@every_kernel
def test_onnx_has_the_kernel(kernel, tmp_path):
    model = KernelRidge(kernel, lam=0.5).fit(X, T)
    found = Graph(model, tmp_path).ask("values", NEW)
    np.testing.assert_allclose(found, values(model, NEW), rtol=ROUNDING, atol=ROUNDING)


@pytest.mark.parametrize("metric", [None, WEIGHTS, MATRIX], ids=["plain", "weights", "matrix"])
def test_nothing_cancels_far_from_the_origin(metric, tmp_path):
    far = X * [1.0, 1.0, 1e-3] + [1e6, 0.0, 1e3]
    new = NEW * [1.0, 1.0, 1e-3] + [1e6, 0.0, 1e3]
    model = KernelRidge(RBF(gamma=0.5, metric=metric), lam=0.5).fit(far, T)
    found = [Graph(model, tmp_path).ask("values", new)]
    found += [Compiled(model, tmp_path).values(new)] if CC is not None else []
    for one in found:
        np.testing.assert_allclose(one, values(model, new), rtol=1e-7, atol=1e-7)


@pytest.mark.parametrize(
    "kernel", [Cosine(), Linear() + Periodic(2.0), ChiSquared(), Intersection()]
)
def test_rows_of_zeros_have_answers(kernel, tmp_path):
    model = KernelRidge(kernel, lam=0.5).fit(np.vstack([X, np.zeros((1, 3))]), np.append(T, 3.0))
    rows = np.array([[0.0, 0.0, 0.0], [0.0, 1e-160, 0.0], [0.0, 0.0, 7.0]])
    wanted = values(model, rows)
    np.testing.assert_allclose(Graph(model, tmp_path).ask("values", rows), wanted, rtol=1e-9)
    if CC is not None:
        np.testing.assert_allclose(Compiled(model, tmp_path).values(rows), wanted, rtol=1e-9)


# ---------------------------------------------------------------- probabilities of LIBSVM
def test_chances_of_libsvm_have_shifts(tmp_path):
    """A model of LIBSVM keeps its curve: the likeliest class need not be the predicted one."""
    text = write_libsvm(SVC(C=0.3).fit(X, Y), tmp_path / "machine").read_text()
    shifted = text.replace("nr_sv", "probA -2 -1.5 -0.1\nprobB 0.3 1.2 -2\nnr_sv")
    (tmp_path / "machine").write_text(shifted)
    model = read_libsvm(tmp_path / "machine", n_features=3)
    assert model.shifts_.tolist() == [-0.3, -1.2, 2.0]
    wanted = model.predict_proba(NEW)
    assert (wanted.argmax(axis=1) != model.predict(NEW)).any()
    if CC is not None:
        np.testing.assert_allclose(Compiled(model, tmp_path).chances(NEW), wanted, atol=ROUNDING)
    found = Graph(model, tmp_path).ask("probabilities", NEW)
    np.testing.assert_allclose(found, wanted, atol=ROUNDING)


# ---------------------------------------------------------------- what cannot be
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("write", [write_c, write_onnx])
def test_what_has_no_such_form_is_told(write, tmp_path):
    pytest.importorskip("onnx")
    path = tmp_path / "machine"
    with pytest.raises(TypeError, match="model must be one of SVC"):
        write(KNN().fit(X, Y), path)
    with pytest.raises(ValueError, match="as votes jump"):
        write(Perceptron("rbf", voted=True, random_state=0).fit(X, Y), path)
    with pytest.raises(ValueError, match="kernels that can be exported"):
        write(SVC(Wavelet()).fit(X, Y), path)
    with pytest.raises(ValueError, match="kernels that can be exported"):
        write(SVC("precomputed").fit(X @ X.T, Y), path)
    assert not path.exists()
    assert write(SVC(Sigmoid(0.01)).fit(X, Y), path).exists()


def test_a_name_of_c():
    with pytest.raises(ValueError, match="name must be a name of the language C"):
        write_c(MODELS["numbers"], "nowhere.c", name="a b")
