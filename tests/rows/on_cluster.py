"""A fit on a cluster of processes, run as a process of its own: what it prints is compared.

``python -m tests.rows.on_cluster WORKERS ENDING FOLDER``, where the ending is "well", "worker" (one
is killed in the middle of a pass) or "scheduler" (the whole cluster goes).
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import dask.array as da
import numpy as np
from distributed import Client, LocalCluster

from mercer import KernelRidge
from mercer.rows import RowsError

N, COLUMNS, CHUNKS = 3_000, 3, (700, 0, 1, 1_299, 500, 500)
START = 180  # seconds for workers to import the library, on a busy machine
FATAL = 3  # the look at the fourth partition that is in a pass: its size and landmarks come before


def problem():
    random = np.random.default_rng(0)
    X = random.normal(size=(N, COLUMNS))
    return X, np.sin(2 * X[:, 0]) + X[:, 1]


def model():
    return KernelRidge(lam=[1e-3, 1e-1], landmarks=60, random_state=0)


def seen(block, looks: str, kill: bool):
    """Return the block; the worker that looks at it during a pass may die of it."""
    if len(block) == CHUNKS[3]:
        with open(looks, "ab") as file:
            file.write(b".")
            number = file.tell()
        if number == FATAL and kill:
            os.kill(os.getpid(), signal.SIGKILL)
        if number == FATAL:
            time.sleep(0.2)
    return block


def fitted(looks: Path, kill: bool) -> dict:
    X, y = problem()
    lazy = da.from_array(X, chunks=(CHUNKS, COLUMNS)).map_blocks(
        seen, looks=str(looks), kill=kill, dtype=X.dtype, meta=X[:0]
    )
    found = model().fit(lazy, y)
    return {
        "coef": found.dual_coef_.tolist(),
        "passes": found.certificate_.passes,
        "looks": looks.stat().st_size,
    }


def with_workers(number: int, ending: str, folder: Path) -> dict:
    options = {"threads_per_worker": 1, "processes": True, "dashboard_address": None}
    with LocalCluster(n_workers=number, **options) as cluster, Client(cluster) as client:
        client.wait_for_workers(number, timeout=START)
        return fitted(folder / "looks", kill=ending == "worker")


def without_scheduler(folder: Path) -> dict:
    """Fit on a cluster whose scheduler is killed when the first pass has begun."""
    place = folder / "scheduler.json"
    scheduler = subprocess.Popen(
        [sys.executable, "-m", "distributed.cli.dask_scheduler", "--no-dashboard", "--port", "0",
         "--host", "127.0.0.1", "--scheduler-file", str(place)]
    )  # fmt: skip
    worker = subprocess.Popen(
        [sys.executable, "-m", "distributed.cli.dask_worker", "--no-nanny", "--nthreads", "1",
         "--no-dashboard", "--scheduler-file", str(place)]
    )  # fmt: skip

    def kill_later() -> None:
        looks = folder / "looks"
        while not (looks.exists() and looks.stat().st_size >= FATAL):
            time.sleep(0.01)
        scheduler.kill()

    try:
        with Client(scheduler_file=str(place), timeout=START) as client:
            client.wait_for_workers(1, timeout=START)
            threading.Thread(target=kill_later, daemon=True).start()
            return fitted(folder / "looks", kill=False)
    except RowsError as error:
        return {"said": str(error)}
    finally:
        for process in (scheduler, worker):
            process.kill()
            process.wait()


if __name__ == "__main__":
    workers, ending, folder = int(sys.argv[1]), sys.argv[2], Path(sys.argv[3])
    end = (
        without_scheduler(folder)
        if ending == "scheduler"
        else with_workers(workers, ending, folder)
    )
    print(json.dumps(end), flush=True)
    os._exit(0)  # what a cluster leaves behind is not worth waiting for
