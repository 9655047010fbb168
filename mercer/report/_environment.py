"""Where a report was made: versions, the machine, the date."""

from __future__ import annotations

import os
import platform
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from threadpoolctl import threadpool_info

from mercer._array import n_threads
from mercer._words import count

LIBRARIES = {"NumPy": "numpy", "SciPy": "scipy", "scikit-learn": "scikit-learn", "Numba": "numba"}


def environment(seconds: float) -> dict[str, str]:
    """Return versions, the machine, the date and how long the report took."""
    return {
        "mercer": version_of("mercer"),
        "Python": platform.python_version(),
        **{name: version_of(package) for name, package in LIBRARIES.items()},
        "system": f"{platform.system()} {platform.release()}",
        "processor": f"{_processor()}, {n_threads()} of {os.cpu_count() or 1} cores",
        "BLAS": _blas(),
        "date": datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
        "computed in": f"{seconds:.2g} s",
    }


def version_of(package: str) -> str:
    """Return the version of an installed package."""
    try:
        return version(package)
    except PackageNotFoundError:  # run from a source folder that was not installed
        return "not installed"


def _processor() -> str:
    path = Path("/proc/cpuinfo")
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    names = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(names, platform.processor() or platform.machine())


def _blas() -> str:
    libraries = [info for info in threadpool_info() if info["user_api"] == "blas"]
    texts = {
        f"{info['internal_api']} {info['version'] or ''}".strip()
        + f", {count(info['num_threads'], 'thread')}"
        for info in libraries
    }
    return "; ".join(sorted(texts)) or "unknown"  # they are found in no fixed order
