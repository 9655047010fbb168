"""Ctrl-C at random moments of long-running calls; all of them: tests/fuzz/fuzz_interrupts.py."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="there are no timers here")
@pytest.mark.parametrize(
    "call",
    ["SVC", *(pytest.param(c, marks=pytest.mark.long) for c in ("GMM", "KernelSearchCV"))],
)
def test_ctrl_c_leaves_the_process_sound(call):
    command = [sys.executable, "-m", "tests.fuzz.fuzz_interrupts", "--check", call]
    done = subprocess.run(
        [*command, "--count", "6"], cwd=ROOT, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "KeyboardInterrupt" in done.stdout or "answer" in done.stdout
