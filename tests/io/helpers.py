"""Save and load, compare what came back, and forge files."""

from __future__ import annotations

import hashlib
import io
import json
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

import mercer


def round_trip(model: Any, folder: Path, **options: Any) -> Any:
    return mercer.load(mercer.save(model, folder / "model.mercer"), **options)


def same(a: Any, b: Any) -> bool:
    """Return whether two values are equal, of the same types all the way down, NaN included."""
    if type(a) is not type(b):
        return False
    if sp.issparse(a):
        return a.shape == b.shape and same(a.toarray(), b.toarray())
    if isinstance(a, (np.ndarray, np.generic)):
        return same_array(a, b)
    if isinstance(a, Mapping):
        return same(list(a), list(b)) and same(list(a.values()), list(b.values()))
    if isinstance(a, (list, tuple)):
        return len(a) == len(b) and all(map(same, a, b))
    if hasattr(a, "__dict__") and not callable(a) and not isinstance(a, type):
        return same(vars(a), vars(b))
    return a == b or (a != a and b != b)


def same_array(a: Any, b: Any) -> bool:
    if a.dtype != b.dtype or a.shape != b.shape:
        return False
    if a.dtype == object:
        return same(a.ravel().tolist(), b.ravel().tolist())
    return a.tobytes() == b.tobytes()


# ---------------------------------------------------------------- forging
def manifest_of(path: Path) -> dict[str, Any]:
    with zipfile.ZipFile(path) as archive:
        return json.loads(archive.read("model.json"))


def members_of(path: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(path) as archive:
        return {info.filename: archive.read(info) for info in archive.infolist()}


def forge(path: Path, manifest: Any, members: Mapping[str, bytes] = {}, compress: int = 0) -> Path:
    """Write a file as one would who knows the format: a manifest, text or JSON, and members."""
    text = manifest if isinstance(manifest, (str, bytes)) else json.dumps(manifest)
    with zipfile.ZipFile(path, "w", compression=compress) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
        archive.writestr("model.json", text)
    return path


def forge_nodes(path: Path, nodes: list[Any], root: Any = None, arrays: Any = ()) -> Path:
    """Write a file with these nodes and these contents of arrays, digests and all."""
    members = {f"arrays/{i:03d}.npy": content for i, content in enumerate(arrays)}
    manifest = {
        "kind": "mercer model",
        "format": 1,
        "versions": {},
        "nodes": nodes,
        "root": {"ref": len(nodes) - 1} if root is None else root,
        "arrays": [hashlib.sha256(content).hexdigest() for content in members.values()],
    }
    return forge(path, manifest, members)


def npy(array: np.ndarray, allow_pickle: bool = False) -> bytes:
    out = io.BytesIO()
    np.save(out, array, allow_pickle=allow_pickle)
    return out.getvalue()
