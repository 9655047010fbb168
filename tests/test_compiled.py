"""Compiled loops: what Python must not call, it does not call."""

from __future__ import annotations

import ast
import importlib.util
import os
import random
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).parents[1]
DECORATORS = ("compiled", "compiled_part")


class Source:
    """A file, its compiled functions by decorator, and the names that it imports."""

    def __init__(self, path: Path):
        self.tree = ast.parse(path.read_text(encoding="utf-8"))
        self.module = ".".join(path.relative_to(ROOT).with_suffix("").parts)
        self.imported = {
            alias.asname or alias.name: f"{node.module}.{alias.name}"
            for node in ast.walk(self.tree)
            if isinstance(node, ast.ImportFrom)
            for alias in node.names
        }
        short = {name: self._decorator(value) for name, value in self._assigned()}
        self.compiled = {
            node: how
            for node in ast.walk(self.tree)
            if isinstance(node, ast.FunctionDef)
            for decorator in node.decorator_list
            if (how := self._decorator(decorator) or short.get(getattr(decorator, "id", "")))
        }

    def _assigned(self):
        for node in self.tree.body:
            if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
                yield node.targets[0].id, node.value

    @staticmethod
    def _decorator(node: ast.expr) -> str | None:
        name = getattr(node.func, "id", "") if isinstance(node, ast.Call) else ""
        return name if name in DECORATORS else None

    def parts(self) -> set[str]:
        """Return the full names of what only compiled loops may call."""
        how = self.compiled.items()
        return {f"{self.module}.{node.name}" for node, name in how if name == "compiled_part"}

    def used_by_python(self) -> set[str]:
        """Return the full names that are used outside compiled functions."""
        return set(self._used(self.tree))

    def _used(self, node: ast.AST):
        if node in self.compiled:
            return
        if isinstance(node, ast.Name):
            yield self.imported.get(node.id, f"{self.module}.{node.id}")
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            yield f"{self.imported.get(node.value.id, '')}.{node.attr}"
        for child in ast.iter_child_nodes(node):
            yield from self._used(child)


@pytest.fixture(scope="module")
def sources():
    folders = ("mercer", "tests", "benchmarks")
    return [Source(path) for folder in folders for path in sorted((ROOT / folder).rglob("*.py"))]


def test_parts_of_compiled_loops_are_called_by_compiled_loops_only(sources):
    parts = set().union(*(source.parts() for source in sources))
    assert "mercer.solvers._newton_loops.subtract" in parts
    for source in sources:
        assert parts & source.used_by_python() == set()


def test_a_call_from_python_is_found(tmp_path, monkeypatch):
    monkeypatch.setattr("tests.test_compiled.ROOT", tmp_path)
    (tmp_path / "loops.py").write_text(
        "fast = compiled_part()\n@fast\ndef part(x): ...\n@compiled()\ndef whole(x): part(x)\n"
    )
    (tmp_path / "user.py").write_text("from loops import part\ndef f(): part(1)\n")
    loops, user = Source(tmp_path / "loops.py"), Source(tmp_path / "user.py")
    assert loops.parts() == {"loops.part"}
    assert loops.parts() & loops.used_by_python() == set()
    assert loops.parts() & user.used_by_python() == {"loops.part"}


PARTS = """
from mercer._compiled import compiled_part
STEP = {step}

@compiled_part()
def inner(x):
    return {change} + x
"""
LOOP = """
from mercer._compiled import compiled
{imports}

@compiled()
def outer(x):
    return {parts}STEP * {parts}inner(x)
"""


@pytest.mark.parametrize(
    ("imports", "parts"), [("from parts import STEP, inner", ""), ("import parts", "parts.")]
)
def test_what_is_kept_is_out_of_date_when_a_part_of_another_file_changes(tmp_path, imports, parts):
    """Numba's own stamp is of the file of the loop: it would go on with the old part."""
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path / "kept")}
    (tmp_path / "loop.py").write_text(LOOP.format(imports=imports, parts=parts))

    def answer(step: int, change: int) -> int:
        (tmp_path / "parts.py").write_text(PARTS.format(step=step, change=change))
        command = [sys.executable, "-B", "-c", "import loop; print(loop.outer(1))"]
        done = subprocess.run(
            command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=True
        )
        return int(done.stdout)

    assert answer(1, 1) == 2
    assert answer(1, 5) == 6
    assert answer(3, 5) == 18


# ---------------------------------------------------------------- Ctrl-C while something compiles
SLOW = """
import math
from mercer._compiled import compiled, compiled_part

@compiled_part()
def inner(x):
    return math.exp(-x * x) + math.sin(x)

@compiled()
def outer(A):
    total = 0.0
    for i in range(len(A)):
        total += inner(A[i]) * i
    return total
"""


def fresh(folder, number):
    """Return the loop of a module that nobody has imported yet."""
    path = folder / f"slow_{number}.py"
    path.write_text(SLOW)
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    spec.loader.exec_module(module)
    return module.outer


def test_ctrl_c_while_a_loop_compiles_is_a_ctrl_c(tmp_path):
    """LLVM calls back into Python, where an exception is lost or becomes another one."""
    A, rng = np.arange(5.0), random.Random(0)
    begin = time.perf_counter()
    wanted = fresh(tmp_path, "first")(A)
    length = time.perf_counter() - begin
    for number in range(12):
        outer, wait = fresh(tmp_path, number), rng.uniform(0.0, length)
        pressed = threading.Timer(wait, os.kill, (os.getpid(), signal.SIGINT))

        def called(outer=outer, pressed=pressed):
            pressed.start()
            outer(A)
            pressed.join()

        with pytest.raises(KeyboardInterrupt):
            called()
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
        assert outer(A) == wanted
