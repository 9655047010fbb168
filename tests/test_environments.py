"""Odd places to run in: nothing compiled, one thread, no home, an installation that is closed."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import mercer
from mercer.solvers import _smo_loops

FITS = """
import numpy as np
from mercer import ICA, KNN, SVC, SVR, AdaBoost, Isomap, KernelRidge, Lasso
from mercer.kernels import RBF, Laplacian

rng = np.random.default_rng(0)
X = rng.normal(size=(60, 3))
y = np.sin(X[:, 0]) + X[:, 1]
c = np.digitize(y, [-0.5, 0.5])
models = [
    SVC(C=3.0).fit(X, c), SVC(Laplacian(gamma=0.3)).fit(X.astype(np.float32), c > 0),
    SVR(C=3.0).fit(X, y), KernelRidge(RBF(gamma=0.2)).fit(X, y), KNN().fit(X, c),
    Lasso(0.01).fit(X, y), AdaBoost(n_estimators=5).fit(X, c > 0),
]
ICA(random_state=0).fit(X)
Isomap(n_neighbors=8).fit(X)
RBF(gamma=0.5)(X.astype(np.float32), X.astype(np.float32))
values = [np.ravel(m.decision_function(X) if hasattr(m, "decision_function") else m.predict(X))
          for m in models]
np.save({path!r}, np.concatenate(values))
"""


def run(code, folder=None, **environment):
    """Run Python code in a process with other environment variables; None removes one."""
    merged = {**os.environ, **environment}
    merged = {name: value for name, value in merged.items() if value is not None}
    command = [sys.executable, "-c", code]
    done = subprocess.run(
        command, env=merged, cwd=folder, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def values(tmp_path_factory):
    """Return a function from environment variables to the values of a few models."""
    folder = tmp_path_factory.mktemp("values")

    def get(name, before="", **environment):
        path = str(folder / f"{name}.npy")
        run(before + FITS.replace("{path!r}", repr(path)), **environment)
        return np.load(path)

    return get


@pytest.fixture(scope="module")
def usual(tmp_path_factory):
    path = str(tmp_path_factory.mktemp("usual") / "usual.npy")
    exec(FITS.replace("{path!r}", repr(path)), {})
    return np.load(path)


@pytest.mark.parametrize(
    "environment",
    [
        {"NUMBA_DISABLE_JIT": "1"},
        pytest.param({"NUMBA_NUM_THREADS": "1"}, marks=pytest.mark.long),
    ],
    ids=lambda environment: next(iter(environment)),
)
def test_the_models_are_the_same(usual, values, environment):
    """Sums in another order differ by rounding, and what follows from them by a little more."""
    np.testing.assert_allclose(values("other", **environment), usual, atol=1e-6)


ONE_CORE = "import os; os.sched_setaffinity(0, [min(os.sched_getaffinity(0))])"


@pytest.mark.long
@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="cores cannot be chosen here")
def test_the_models_are_the_same_on_one_core(usual, values):
    np.testing.assert_allclose(values("one core", ONE_CORE), usual, atol=1e-6)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_twins_of_instructions_do_what_these_do(dtype):
    """Integers that order as floats do, and back."""
    floats = np.array([-np.inf, -3.5, -1e-40, -0.0, 0.0, 1e-40, 2.0, 1e30, np.inf], dtype)
    keys = [_smo_loops._ordered(x) for x in floats]
    assert keys == sorted(keys)
    assert [_smo_loops._as_float(k) for k in keys[4:]] == floats[4:].tolist()


# ---------------------------------------------------------------- folders for compiled code
LOOP = """
import numpy as np
import mercer
from mercer.kernels import _loops

X = np.arange(6.0).reshape(3, 2)
K = mercer.kernels.RBF(gamma=0.5)(X, X + 1e-3)
assert np.allclose(K, np.exp(-0.5 * ((X[:, None] - X - 1e-3) ** 2).sum(axis=2)))
print(_loops.distances_from_inner.stats.cache_path)
"""


@pytest.fixture(scope="module")
def installation(tmp_path_factory):
    """A copy of the package in which nothing can be kept beside the sources."""
    folder = tmp_path_factory.mktemp("installation")
    source = Path(mercer.__file__).parent
    shutil.copytree(source, folder / "mercer", ignore=shutil.ignore_patterns("__pycache__"))
    for home in (folder / "mercer").rglob("*"):
        if home.is_dir():
            (home / "__pycache__").write_text("a file is in the way, for the administrator too")
    (folder / "mercer" / "__pycache__").write_text("")
    return folder


def where_it_is_kept(installation, temporary):
    return run(
        LOOP,
        installation,
        PYTHONPATH=str(installation),
        PYTHONDONTWRITEBYTECODE="1",
        HOME="/dev/null",
        XDG_CACHE_HOME="/dev/null/cache",
        NUMBA_CACHE_DIR=None,
        TMPDIR=str(temporary),
    ).strip()


needs_owners = pytest.mark.skipif(not hasattr(os, "getuid"), reason="folders have no owner here")


@needs_owners
def test_without_a_home_compiled_code_lies_among_temporary_files(installation, tmp_path):
    kept = Path(where_it_is_kept(installation, tmp_path))
    own = tmp_path / f"mercer-compiled-{os.getuid()}"
    assert kept.is_relative_to(own)
    assert own.stat().st_mode & 0o077 == 0
    assert list(kept.glob("*.nbi"))


@needs_owners
@pytest.mark.parametrize("planted", ["link", pytest.param("open", marks=pytest.mark.long)])
def test_a_folder_that_others_can_write_to_is_not_trusted(installation, tmp_path, planted):
    """Who can write there could have their code run."""
    own, other = tmp_path / f"mercer-compiled-{os.getuid()}", tmp_path / "other"
    other.mkdir(mode=0o700)
    if planted == "link":
        own.symlink_to(other)
    else:
        own.mkdir()
        own.chmod(0o777)
    assert where_it_is_kept(installation, tmp_path) == "None"
    assert not list(own.iterdir())


@pytest.mark.skipif(sys.platform != "linux", reason="asks Linux for its addresses")
@pytest.mark.parametrize("left", [10, 40])
def test_no_room_for_blas_is_an_error_and_not_the_end_of_the_process(left):
    code = f"""
import resource, numpy as np, mercer
from mercer._machine import _address_space
X, model = np.ones((40, 3)), mercer.PCA()
resource.setrlimit(resource.RLIMIT_AS, (_address_space() + {left} * 10**6,) * 2)
try:
    model.fit(X)
except MemoryError as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "ulimit -v leaves" in done.stdout
