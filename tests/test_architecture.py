"""The import law, read from the source: a file imports from a lower level or its own folder.

Levels make the library readable from below: whoever reads `gram` needs to know `kernels`, and
never the other way round. A new module gets its level in `LEVELS`, or this test fails.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from graphlib import CycleError, TopologicalSorter
from importlib import import_module
from pathlib import Path

import pytest

from mercer import _sklearn

PACKAGE = Path(__file__).parents[1] / "mercer"

LEVELS = {
    "_clock": -1,
    "_crew": -1,
    "_compiled": -1,
    "_display": -1,
    "_docstrings": -1,
    "_floats": -1,
    "_replacing": -1,
    "_numbers": -1,
    "_machine": -1,
    "_random": -1,
    "_scratch": -1,
    "_sklearn": -1,
    "_state": -1,
    "_threads": -1,
    "_array": 0,
    "_trial": 0,
    "_labels": 0,
    "_parameters": 0,
    "_words": 0,
    "result": 0,
    "_limits": 1,
    "_named_parts": 1,
    "kernels": 1,
    "losses": 1,
    "margin": 1,
    "norms": 1,
    "rows": 1,
    "penalties": 2,
    "gram": 2,
    "schoenberg": 2,
    "certify": 3,
    "distances": 3,
    "feature_space": 3,
    "_estimator": 4,
    "cv_results": 4,
    "optimize": 4,
    "solvers": 4,
    "testing": 4,
    "_in_span": 4.5,
    "bayes": 5,
    "boosting": 5,
    "linear": 5,
    "machines": 5,
    "maps": 5,
    "meta": 5,
    "nets": 5,
    "plot": 5,
    "spectral": 5,
    "tables": 5,
    "assess": 6,
    "checks": 6,
    "datasets": 6,
    "io": 6,
    "select": 6,
    "_warm": 7,
    "report": 7,
    "cli": 8,
    "__init__": 9,
    "__main__": 9,
}

OPTIONAL = {
    "typer",
    "rich",
    "polars",
    "fastexcel",
    "dask",
    "distributed",
    "matplotlib",
    "pandas",
    "onnx",
} | {"skops"}
"""What only the extras install: these may be imported where they are needed."""

LONGEST_FILE = 400


# ---------------------------------------------------------------- reading
@cache
def parsed(text: str) -> ast.Module:
    return ast.parse(text)


class Tree:
    """The modules of a package folder and the imports between them."""

    def __init__(self, folder: Path):
        self.folder, self.name = folder, folder.name
        self.files = {self._module(path): path for path in sorted(folder.rglob("*.py"))}

    def _module(self, path: Path) -> str:
        parts = [self.name, *path.relative_to(self.folder).with_suffix("").parts]
        return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)

    def source(self, module: str) -> ast.Module:
        return parsed(self.files[module].read_text(encoding="utf-8"))

    def imports(self, module: str) -> set[str]:
        """Return the modules of this package that a module imports."""
        names = (
            name for node in ast.walk(self.source(module)) for name in self._names(module, node)
        )
        return {found for name in names if (found := self._known(name))} - {module}

    def _names(self, module: str, node: ast.AST) -> Iterator[str]:
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        if isinstance(node, ast.ImportFrom):
            start = self._start(module, node)
            yield from (f"{start}.{alias.name}" for alias in node.names)

    def _start(self, module: str, node: ast.ImportFrom) -> str:
        if not node.level:
            return node.module or ""
        is_folder = self.files[module].name == "__init__.py"
        base = module.split(".")[: len(module.split(".")) - node.level + is_folder]
        return ".".join([*base, *([node.module] if node.module else [])])

    def _known(self, name: str) -> str | None:
        """Return the module that a dotted name lies in: the longest beginning that is a module."""
        parts = name.split(".")
        beginnings = (".".join(parts[:i]) for i in range(len(parts), 0, -1))
        return next((b for b in beginnings if b in self.files), None)

    def unit(self, module: str) -> str:
        """Return the file or folder directly in the package that a module belongs to."""
        return module.split(".")[1] if "." in module else "__init__"


def level(unit: str) -> int:
    assert unit in LEVELS, f"give {unit!r} a level in LEVELS of tests/test_architecture.py"
    return LEVELS[unit]


# ---------------------------------------------------------------- the law
def broken_imports(tree: Tree, module: str) -> list[str]:
    """Return what a module imports against the law."""
    own = tree.unit(module)
    return [
        f"{module} (level {level(own)}) imports {other} (level {level(tree.unit(other))})"
        for other in sorted(tree.imports(module))
        if tree.unit(other) != own and level(tree.unit(other)) >= level(own)
    ]


def hidden_imports(tree: Tree, module: str) -> list[str]:
    """Return the imports inside functions that are not of an optional extra."""
    functions = [
        node
        for node in ast.walk(tree.source(module))
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda))
    ]
    names = (
        (node.lineno, name)
        for function in functions
        for node in ast.walk(function)
        for name in tree._names(module, node)
    )
    return [f"{module}:{line} {name}" for line, name in names if name.split(".")[0] not in OPTIONAL]


def cycle(tree: Tree) -> list[str]:
    """Return the modules of an import cycle, or nothing."""
    try:
        list(TopologicalSorter({m: tree.imports(m) for m in tree.files}).static_order())
    except CycleError as error:
        return list(error.args[1])
    return []


MERCER = Tree(PACKAGE)
every_module = pytest.mark.parametrize("module", MERCER.files)


@every_module
def test_a_module_imports_from_below_or_from_its_own_folder(module):
    assert broken_imports(MERCER, module) == []


@every_module
def test_imports_stand_at_the_top_of_the_file(module):
    assert hidden_imports(MERCER, module) == []


def test_imports_make_no_cycle():
    assert cycle(MERCER) == []


@every_module
def test_files_are_short_enough_to_read(module):
    lines = len(MERCER.files[module].read_text(encoding="utf-8").splitlines())
    assert lines <= LONGEST_FILE, f"{module} has {lines} lines: split it"


@every_module
def test_files_say_what_they_are(module):
    assert ast.get_docstring(MERCER.source(module)), f"{module} has no docstring"


# public: a loss and the penalty of the same residual; kernels and transforms of distances
PUBLIC_TWINS = {"Absolute", "Exponential", "Huber", "Power", "Squared"}


def test_a_class_name_means_one_thing():
    names = [
        node.name
        for module in MERCER.files
        for node in MERCER.source(module).body
        if isinstance(node, ast.ClassDef)
    ]
    assert {name for name in names if names.count(name) > 1} == PUBLIC_TWINS


def private_names(tree: Tree, module: str) -> list[str]:
    """Return the private names of scikit-learn that a module imports."""
    names = (name for node in ast.walk(tree.source(module)) for name in tree._names(module, node))
    return [n for n in names if n.startswith("sklearn") and "._" in n]


@every_module
def test_private_names_of_scikit_learn_stand_in_one_file(module):
    assert private_names(MERCER, module) == []


def test_the_private_names_of_scikit_learn_are_where_they_are_said_to_be():
    for home, names in _sklearn.HOMES.items():
        if home != "sklearn.callback._callback_support":  # of newer releases
            for name in names:
                found, theirs = getattr(_sklearn, name), getattr(import_module(home), name)
                assert issubclass(found, theirs) if name == "Interval" else found is theirs
    with pytest.raises(ImportError, match="no_such_name"):
        from mercer._sklearn import no_such_name  # noqa: F401


# tables and places that a test may replace, and the tile of the fixture `small_tiles`
REPLACEABLE = {"GROUPS", "PROCESS", "ROOT", "ROUTES", "TASKS"} | {"SERIAL", "TILE"}


def patched_constants(tree: ast.Module) -> set[str]:
    """Return the constants that the calls of ``monkeypatch.setattr`` in a file replace."""
    calls = (
        node.args[:2]
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "monkeypatch.setattr"
    )
    texts = (a.value for args in calls for a in args if isinstance(a, ast.Constant))
    names = (text.split(".")[-1] for text in texts if isinstance(text, str))
    return {name for name in names if name.isupper()}


def test_thresholds_are_arguments_and_not_patched():
    files = Path(__file__).parent.rglob("*.py")
    patched = {n for f in files for n in patched_constants(ast.parse(f.read_text("utf-8")))}
    assert patched == REPLACEABLE


# ---------------------------------------------------------------- the law can be broken
def package(folder: Path, **files: str) -> Tree:
    """Write a package: the name of a file (__ for /) and its source."""
    for name, source in files.items():
        path = folder / "mercer" / (name.replace("__", "/") + ".py")
        path.parent.mkdir(parents=True, exist_ok=True)
        (path.parent / "__init__.py").touch()
        path.write_text(source)
    (folder / "mercer" / "__init__.py").touch()
    return Tree(folder / "mercer")


UPWARD = {
    "a name": "from mercer.solvers import solve",
    "a module": "import mercer.solvers.smo",
    "a module as a name": "from mercer import solvers",
    "relative": "from ..solvers import smo",
    "the top": "import mercer",
    "in a function": "def f():\n    from mercer.solvers.smo import solve",
    "a neighbour of the same height": "from mercer.losses import Hinge",
}


@pytest.mark.parametrize("source", UPWARD.values(), ids=UPWARD.keys())
def test_an_import_from_above_is_found(source, tmp_path):
    tree = package(tmp_path, kernels__base=source, solvers__smo="solve = 1", losses="Hinge = 1")
    assert len(broken_imports(tree, "mercer.kernels.base")) == 1


ALLOWED = {
    "from below": "from mercer._array import allocate",
    "from its own folder": "from mercer.kernels.sample import Sample",
    "from its own folder, relative": "from .sample import Sample",
    "other libraries": "import numpy as np\nfrom sklearn.base import clone",
}


@pytest.mark.parametrize("source", ALLOWED.values(), ids=ALLOWED.keys())
def test_a_lawful_import_is_allowed(source, tmp_path):
    tree = package(tmp_path, kernels__base=source, kernels__sample="Sample = 1", _array="")
    assert broken_imports(tree, "mercer.kernels.base") == []


def test_a_module_without_a_level_is_asked_for_one(tmp_path):
    tree = package(tmp_path, novelty="from mercer.kernels import x", kernels__base="x = 1")
    with pytest.raises(AssertionError, match="give 'novelty' a level in LEVELS"):
        broken_imports(tree, "mercer.novelty")


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ("from sklearn.utils._param_validation import Interval", 1),
        ("from sklearn.utils import _safe_indexing, resample", 1),
        ("import sklearn.metrics._scorer", 1),
        ("from sklearn.utils.validation import check_is_fitted", 0),
        ("from mercer._sklearn import _num_samples", 0),
    ],
)
def test_a_private_name_of_scikit_learn_is_found(source, found, tmp_path):
    tree = package(tmp_path, report__page=source)
    assert len(private_names(tree, "mercer.report.page")) == found


def test_a_cycle_is_found(tmp_path):
    tree = package(
        tmp_path, kernels__a="from .b import x", kernels__b="from mercer.kernels import a"
    )
    assert set(cycle(tree)) == {"mercer.kernels.a", "mercer.kernels.b"}


def test_an_import_in_a_function_is_found_unless_it_is_an_extra(tmp_path):
    source = "def f():\n    import {}\nclass A:\n    def g(self):\n        return 1\n"
    for name, hidden in {"json": 1, "polars": 0, "matplotlib.pyplot": 0}.items():
        tree = package(tmp_path, report__page=source.format(name))
        assert len(hidden_imports(tree, "mercer.report.page")) == hidden


def test_a_patched_constant_is_found():
    source = 'monkeypatch.setattr(smo, "MOST", 3)\nmonkeypatch.setattr("mercer.select.FEW", 1)'
    lawful = 'monkeypatch.setattr(smo, "sweep", f)\nmonkeypatch.setattr("mercer.select.fit", f)'
    assert patched_constants(ast.parse(source)) == {"MOST", "FEW"}
    assert patched_constants(ast.parse(lawful)) == set()
