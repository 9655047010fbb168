"""Model files of LIBSVM: what it has written is read, what is written it can use."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.preprocessing import scale

import mercer
from mercer import SVC, SVR, NuSVC, NuSVR, OneClassSVM
from mercer.io import ModelFileError, read_libsvm, write_libsvm
from mercer.kernels import RBF, Laplacian, Linear, Polynomial, Sigmoid

X, Y = load_iris(return_X_y=True)
X = scale(X)
KERNELS = [Linear(), Polynomial(2, scale=0.3, bias=0.5), RBF(gamma=0.2), Sigmoid(0.05, -0.1)]
MACHINES = [
    SVC(C=2.0),
    NuSVC(nu=0.3),
    OneClassSVM(nu=0.2),
    SVR(C=2.0, epsilon=0.05),
    NuSVR(nu=0.4),
]
every_machine = pytest.mark.parametrize("machine", MACHINES, ids=lambda m: type(m).__name__)
SOUND = "ignore::sklearn.exceptions.ConvergenceWarning"  # of the sigmoid, which is no kernel


def target(machine):
    return X[:, 3] if isinstance(machine, (SVR, NuSVR)) else Y


def values(model, rows):
    if isinstance(model, (SVR, NuSVR)):
        return model.predict(rows)
    return model.decision_function(rows)


# ---------------------------------------------------------------- the slow and obvious reader
def naive_values(path, rows):
    """Return what LIBSVM's svm_predict_values returns, written from its README."""
    lines = path.read_text().splitlines()
    header = dict(line.split(" ", 1) for line in lines[: lines.index("SV")])
    number = lambda name: float(header[name])  # noqa: E731
    scaled = lambda u, v: number("gamma") * (u @ v) + number("coef0")  # noqa: E731
    kernels = {
        "linear": lambda u, v: u @ v,
        "polynomial": lambda u, v: (
            (number("gamma") * (u @ v) + number("coef0")) ** number("degree")
        ),
        "rbf": lambda u, v: np.exp(-number("gamma") * ((u - v) ** 2).sum()),
        "sigmoid": lambda u, v: np.tanh(scaled(u, v)),
    }
    kernel = kernels[header["kernel_type"]]
    k = int(header["nr_class"])
    coefs, vectors = [], []
    for line in lines[lines.index("SV") + 1 :]:
        words = line.split()
        coefs.append([float(c) for c in words[: k - 1]])
        vectors.append(np.zeros(rows.shape[1]))
        for cell in words[k - 1 :]:
            column, value = cell.split(":")
            vectors[-1][int(column) - 1] = float(value)
    coefs = np.array(coefs)
    K = np.array([[kernel(x, v) for v in vectors] for x in rows])
    rho = [float(r) for r in header["rho"].split()]
    if "label" not in header:
        return (K @ coefs)[:, 0] - rho[0], None
    counts = [int(c) for c in header["nr_sv"].split()]
    stops = np.cumsum(counts)
    part = [slice(stop - count, stop) for stop, count in zip(stops, counts, strict=True)]
    columns = []
    for i in range(k):
        for j in range(i + 1, k):
            f = K[:, part[i]] @ coefs[part[i], j - 1] + K[:, part[j]] @ coefs[part[j], i]
            columns.append(f - rho[len(columns)])
    return np.column_stack(columns), [int(label) for label in header["label"].split()]


@pytest.mark.filterwarnings(SOUND)
@every_machine
@pytest.mark.parametrize("kernel", KERNELS, ids=lambda k: type(k).__name__)
@pytest.mark.parametrize("classes", [2, 3])
def test_what_is_written_means_the_same(machine, kernel, classes, tmp_path):
    some = target(machine) != 2 if classes == 2 else np.ones(len(X), bool)
    model = type(machine)(**machine.get_params(deep=False)).set_params(kernel=kernel)
    if hasattr(model, "decision_function_shape"):
        model.set_params(decision_function_shape="ovo")
    model.fit(X[some], target(machine)[some])
    path = write_libsvm(model, tmp_path / "model")
    found, labels = naive_values(path, X[::7])
    if labels is None:
        np.testing.assert_allclose(found, values(model, X[::7]), rtol=1e-9, atol=1e-9)
    elif len(labels) == 2:  # positive for the first label
        np.testing.assert_allclose(-found[:, 0], values(model, X[::7]), rtol=1e-9, atol=1e-9)
    else:
        np.testing.assert_allclose(found, values(model, X[::7]), rtol=1e-9, atol=1e-9)
    again = read_libsvm(path)
    if labels is not None:
        again.set_params(decision_function_shape="ovo")
    np.testing.assert_allclose(values(again, X), values(model, X), rtol=1e-12, atol=1e-12)
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    assert not again.certificate_.ok
    saved = mercer.load(mercer.save(again, tmp_path / "model.mercer"))
    np.testing.assert_array_equal(saved.predict(X), model.predict(X))


@pytest.mark.parametrize("kind", ["classes", "numbers"])
def test_rows_of_a_given_matrix_are_numbered(kind, tmp_path):
    K, y = RBF(gamma=0.3)(X), Y if kind == "classes" else X[:, 0]
    model = (SVC("precomputed") if kind == "classes" else SVR("precomputed")).fit(K, y)
    again = read_libsvm(write_libsvm(model, tmp_path / "model"))
    columns = K[:, : again.n_features_in_]
    np.testing.assert_allclose(values(again, columns), values(model, K), rtol=1e-12, atol=1e-12)


# ---------------------------------------------------------------- LIBSVM itself
WRITTEN = """svm_type c_svc
kernel_type rbf
gamma 0.5
nr_class 3
total_sv 13
rho 0.20200004603400126 -0.041548587368122177 -0.33070026365676047
label 3 1 2
probA -2.2596570456219065 -2.1257820084004262 -2.3130032965547884
probB 0.17948212815764505 -0.011658613052824431 -0.035918699068299309
nr_sv 4 5 4
SV
0.78240974123373574 0.6932124025309655 1:-1.4 2:-0.2 3:-2.4 4:-1
0.52317502897576973 0.34525041557943431 1:-0.4 2:0.8 3:-2.5 4:-0.8
0.3662640698312174 0 1:-1 2:0.3 3:-1.9 4:-1
0.26591380174711582 0.40482488710289544 1:-0.6 2:1 3:-2.3 4:-1.1
-0.64761271851830871 1 1:1.2 2:0.1 3:0.9 4:0.2
-0 0.53010531830312546 1:0.8 2:-0.2 3:0.8 4:0.1
-0.30052822254600126 0.81078276106092217 1:-0.2 2:-0.1 3:0.7 4:0.3
-0.063105596680968823 0 1:-0.3 2:-0.5 3:0.6
-0.9265161040425598 0.43244711531434771 1:-0.7 2:-0.6 3:-0.8 4:-0.1
-0.33672400073379133 -0 1:0.5 2:0.2 3:2.2 4:1.3
-0.64876798614903142 -0.7733351946783954 1:0.9 2:-0.6 3:2 4:0.6
-0 -1 1:0.7 2:-0.1 3:1.7 4:0.6
-0.45779571833047261 -1 1:0.4 2:0.3 3:1.6 4:1.1
"""
"""What svm-train of LIBSVM 3.37 has written of some irises, whose labels came in another order."""


def test_a_file_that_libsvm_has_written(tmp_path):
    path = tmp_path / "model"
    path.write_text(WRITTEN)
    model = read_libsvm(path).set_params(decision_function_shape="ovo")
    rows = 2 * np.random.default_rng(0).normal(size=(40, 4))
    found, labels = naive_values(path, rows)
    assert labels == [3, 1, 2]
    assert model.classes_.tolist() == [1, 2, 3]
    # its pairs are 3-1, 3-2, 1-2, positive for the first; here 1-2, 1-3, 2-3
    wanted = np.column_stack([found[:, 2], -found[:, 0], -found[:, 1]])
    np.testing.assert_allclose(model.decision_function(rows), wanted, atol=1e-12)
    one, two, three = wanted.T > 0  # 1 beats 2, 1 beats 3, 2 beats 3
    votes = np.column_stack([one * 1 + two, ~one * 1 + three, ~two * 1 + ~three])
    np.testing.assert_array_equal(model.predict(rows), model.classes_[votes.argmax(axis=1)])
    # two classes: σ(−A f − B) of the label that comes first
    chance = 1.0 / (1.0 + np.exp(-2.2596570456219065 * found[:, 0] + 0.17948212815764505))
    slope, shift = model.slopes_[1, 0], model.shifts_[1]
    np.testing.assert_allclose(1.0 / (1.0 + np.exp(-slope * wanted[:, 1] - shift)), 1.0 - chance)


@pytest.mark.parametrize("kernel", range(4))
@pytest.mark.parametrize("kind", range(5))
@pytest.mark.parametrize("labels", [[3, 1, 2], [1, -1], [-1, 1]], ids=str)
def test_what_libsvm_has_written_is_read(kind, kernel, labels, tmp_path):
    svmutil = pytest.importorskip("libsvm.svmutil", reason="libsvm-official is in no extra")
    some = len(labels) > Y
    y = np.array([*labels, 0])[np.minimum(Y, len(labels))][some] if kind < 2 else X[some, 0]
    options = f"-s {kind} -t {kernel} -g 0.2 -r 0.5 -d 2 -n 0.3 -q -b {int(kind < 2)}"
    theirs = svmutil.svm_train(y.astype(float).tolist(), X[some].tolist(), options)
    path = str(tmp_path / "model")
    svmutil.svm_save_model(path, theirs)
    model = read_libsvm(path)
    theirs = svmutil.svm_load_model(path)  # of cells with eight digits, as they are written
    asked = [0.0] * len(X)
    # its Python function has room for one decision value of a ν-classifier, and writes three
    if kind != 1 or len(labels) == 2:
        predicted, _, raw = svmutil.svm_predict(asked, X.tolist(), theirs, "-q")
        np.testing.assert_allclose(model.predict(X), predicted, rtol=1e-9, atol=1e-9)
        if kind >= 2:
            np.testing.assert_allclose(values(model, X), np.ravel(raw), rtol=1e-9, atol=1e-9)
            return
    _, _, chances = svmutil.svm_predict(asked, X.tolist(), theirs, "-q -b 1")
    order = np.argsort(theirs.get_labels())
    tight = 1e-9 if len(labels) == 2 else 2e-3  # its coupling of pairs stops at 0.005/k
    np.testing.assert_allclose(model.predict_proba(X), np.array(chances)[:, order], atol=tight)


def test_libsvm_uses_what_is_written(tmp_path):
    svmutil = pytest.importorskip("libsvm.svmutil", reason="libsvm-official is in no extra")
    model = SVC(RBF(gamma=0.2), probability=True).fit(X, Y)
    theirs = svmutil.svm_load_model(str(write_libsvm(model, tmp_path / "model")))
    predicted, _, _ = svmutil.svm_predict([0.0] * len(X), X.tolist(), theirs, "-q")
    np.testing.assert_array_equal(predicted, model.predict(X))


# ---------------------------------------------------------------- what cannot be
@pytest.mark.parametrize(
    ("model", "told"),
    [
        (SVC(Laplacian()), "LIBSVM knows linear"),
        (SVC(Linear(bias=1.0)), "LIBSVM knows linear"),
        (SVC(multiclass="ovr"), "by pairs"),
    ],
)
def test_what_libsvm_has_not_is_told(model, told, tmp_path):
    with pytest.raises(ValueError, match=told):
        write_libsvm(model.fit(X, Y), tmp_path / "model")
    assert not list(tmp_path.iterdir())


def test_labels_are_integers(tmp_path):
    model = SVC().fit(X, np.array(["a", "b", "c"])[Y])
    with pytest.raises(ValueError, match="labels are integers"):
        write_libsvm(model, tmp_path / "model")
    in_cells = SVC(route="cells", cell_size=20).fit(np.arange(60.0)[:, None], np.arange(60) % 2)
    with pytest.raises(ValueError, match="many machines"):
        write_libsvm(in_cells, tmp_path / "model")
    with pytest.raises(TypeError, match="must be one of SVC"):
        write_libsvm(mercer.KernelRidge().fit(X, Y), tmp_path / "model")


GOOD = """svm_type c_svc
kernel_type rbf
gamma 0.5
nr_class 2
total_sv 2
rho 0.25
label 1 -1
nr_sv 1 1
SV
1 1:0.5 3:2
-1 2:1
"""


@pytest.mark.parametrize(
    ("changed", "by"),
    [
        ("SV\n", "\n"),
        ("total_sv 2", "total_sv 3"),
        ("nr_class 2", "nr_class 3"),
        ("c_svc", "d_svc"),
        ("rbf", "gaussian"),
        ("gamma 0.5", "gamma -1"),
        ("gamma 0.5", "gamma"),
        ("rho 0.25", "rho a"),
        ("nr_sv 1 1", "nr_sv 2 1"),
        ("3:2", "0:2"),
        ("3:2", "99999999999:2"),
        ("3:2", "three"),
        ("label 1 -1", "label 1"),
        ("rho 0.25", "rho nan"),
        ("1 1:0.5", "inf 1:0.5"),
        ("1:0.5", "1:nan"),
        ("nr_sv", "probA 1 2\nprobB 1\nnr_sv"),
        ("nr_sv", "probA 1\nnr_sv"),
    ],
)
def test_a_damaged_file_is_told(changed, by, tmp_path):
    path = tmp_path / "model"
    path.write_text(GOOD)
    assert read_libsvm(path).predict([[0.5, 0.0, 2.0]]) == [1]
    path.write_text(GOOD.replace(changed, by))
    with pytest.raises(ModelFileError, match="no model file of LIBSVM"):
        read_libsvm(path)


@pytest.mark.parametrize("number", ["0", "-3", "1.5", "1e18"])
def test_rows_of_a_given_matrix_have_whole_numbers(number, tmp_path):
    path = tmp_path / "model"
    text = GOOD.replace("rbf\ngamma 0.5", "precomputed").replace("2:1", "0:2")
    path.write_text(text.replace("1:0.5 3:2", "0:1"))
    assert read_libsvm(path).predict([[5.0, 0.0]]) == [1]
    path.write_text(text.replace("1:0.5 3:2", f"0:{number}"))
    with pytest.raises(ModelFileError, match="numbered 1, 2"):
        read_libsvm(path)


def test_columns_that_no_support_vector_has(tmp_path):
    path = tmp_path / "model"
    path.write_text(GOOD)
    assert read_libsvm(path, n_features=7).predict([[0.5, 0.0, 2.0, 0, 0, 0, 0]]) == [1]
    with pytest.raises(ModelFileError, match="n_features is 2"):
        read_libsvm(path, n_features=2)
