"""Mixed fits for so many seconds: memory must not grow.

``python -m tests.fuzz.soak --seconds 600`` prints the resident memory as it goes, and fails if the
last third of the run holds more than a little over what the first third did.
"""

from __future__ import annotations

import argparse
import gc
import sys
import time
import warnings
from pathlib import Path

import numpy as np

from tests.fuzz import fuzz_interrupts
from tests.fuzz.fuzz_interrupts import CALLS

ALLOWED = 30e6  # bytes: what an allocator keeps here and there
SLOW = ("report",)


def resident() -> float:
    """Return the bytes that this process holds."""
    text = Path("/proc/self/status").read_text()
    return next(float(line.split()[1]) * 1024 for line in text.splitlines() if "VmRSS" in line)


def soak(seconds: float, seed: int = 0) -> list[float]:
    """Return the resident memory after each round of all calls."""
    warnings.simplefilter("ignore")
    rng, end, sizes = np.random.default_rng(seed), time.monotonic() + seconds, []
    fuzz_interrupts.MODEL = CALLS["SVC"]()
    names = [name for name in CALLS if name not in SLOW]
    while time.monotonic() < end:
        for name in rng.permutation(names):
            CALLS[str(name)]()
            if time.monotonic() > end:
                break
        gc.collect()
        sizes.append(resident())
        print(f"{len(sizes)}: {sizes[-1] / 1e6:.0f} MB", flush=True)
    return sizes


def main() -> None:
    """Run, and say whether memory has grown."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=3600.0)
    sizes = soak(parser.parse_args().seconds)
    third = max(1, len(sizes) // 3)
    growth = float(np.median(sizes[-third:]) - np.median(sizes[third - 1 : 2 * third]))
    print(f"{len(sizes)} rounds of {len(CALLS) - len(SLOW)} calls: {growth / 1e6:+.1f} MB")
    sys.exit(growth > ALLOWED)


if __name__ == "__main__":
    main()
