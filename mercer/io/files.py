"""Save a model, load it again, or look what a file holds."""

from __future__ import annotations

import json
import sys
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import sklearn
from sklearn.exceptions import InconsistentVersionWarning

from mercer.io.allowed import ModelFileError
from mercer.io.archive import Archive, write_archive
from mercer.io.tree import Writer, class_names, look_up, read_nodes

FORMAT = 1
KIND = "mercer model"


def save(model: Any, path: str | Path, about: Mapping[str, Any] | None = None) -> Path:
    """Write a model to a file that holds numbers and names, never code.

    The file is a plain zip: ``model.json`` and the arrays as ``.npy``. It is written beside its
    place and moved there at the end, so that an interrupted save leaves the old file as it was.

    Parameters
    ----------
    model : estimator, kernel, pipeline, search, certificate
        What to save, fitted or not. A kernel or a step made from a Python function can't be saved.
    path : str or Path
        Where to; the folder must exist.
    about : dict, default=None
        What else you want to know of the model later: anything that JSON can hold.

    Returns
    -------
    path : Path
        The file.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import mercer
    >>> model = mercer.KernelRidge("rbf", lam=0.1).fit([[0.0], [1.0], [2.0]], [0.0, 1.0, 4.0])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = mercer.save(model, Path(folder) / "squares.mercer", about={"target": "y"})
    ...     again = mercer.load(path)
    ...     print(mercer.io.inspect(path)["about"])
    {'target': 'y'}
    >>> bool((again.predict([[1.5]]) == model.predict([[1.5]])).all())
    True
    """
    path = Path(path)
    written = Writer(model)
    manifest = {
        "kind": KIND,
        "format": FORMAT,
        "versions": _versions(),
        "model": type(model).__name__,
        "parameters": _parameters(model, written),
        "classes": class_names(written.nodes, written.root),
        "about": _plain_json(dict(about or {})),
        "root": written.root,
        "nodes": written.nodes,
    }
    _check_place(path)
    try:
        write_archive(path, manifest, written.arrays)
    except OSError as error:
        raise ModelFileError(f"cannot write {path}: {error.strerror or error}") from error
    return path


def load(path: str | Path, *, trusted: Sequence[type] = ()) -> Any:
    """Return the model of a file.

    Only classes of mercer and a fixed list of scikit-learn are built, and no code of the file is
    run: a file may be altered or hostile, and the worst that follows is an error.

    Parameters
    ----------
    path : str or Path
        The file.
    trusted : list of classes, default=()
        Classes of your own (kernels, losses, estimators) that the model may hold.

    Returns
    -------
    model
        As it was saved: the same predictions to the last bit.

    Raises
    ------
    ModelFileError
        If the file is not a model, is damaged, is of a newer mercer or names unknown classes.
    """
    _check_trusted(trusted)
    with _opened(path) as (archive, manifest):
        nodes, root = _entry(manifest, "nodes", list), manifest.get("root")
        names = class_names(nodes, root)
        classes = look_up(names, trusted)
        arrays = archive.arrays(_entry(manifest, "arrays", list))
        model = read_nodes(nodes, root, arrays, classes)
        other = _other_version(manifest, names)
    if other:
        warnings.warn(other, stacklevel=2)
    return model


def inspect(path: str | Path) -> dict[str, Any]:
    """Return what a file says of its model, without loading it.

    Parameters
    ----------
    path : str or Path
        The file.

    Returns
    -------
    facts : dict
        ``format``, the versions of ``mercer``, ``scikit-learn`` and ``numpy`` that wrote it, the
        ``model``, its ``parameters``, all ``classes`` in it, the number of ``arrays`` and
        ``about``.
    """
    with _opened(path) as (_, manifest):
        return {
            "format": manifest["format"],
            **_entry(manifest, "versions", dict),
            "model": _entry(manifest, "model", str),
            "parameters": _entry(manifest, "parameters", dict),
            "classes": _entry(manifest, "classes", list),
            "arrays": len(_entry(manifest, "arrays", list)),
            "about": _entry(manifest, "about", dict),
        }


# ---------------------------------------------------------------- writing
def _versions() -> dict[str, str]:
    # the package stands above this file and is there whenever this file is
    mercer = sys.modules["mercer"].__version__
    return {"mercer": mercer, "scikit-learn": sklearn.__version__, "numpy": np.__version__}


def _parameters(model: Any, written: Writer) -> dict[str, Any]:
    """Return the parameters for people: numbers and texts, all else as Python would write it."""
    given = model.get_params(deep=False) if hasattr(model, "get_params") else {}
    return {name: _shown(value, written) for name, value in given.items()}


def _shown(value: Any, written: Writer) -> Any:
    if type(value) in (type(None), bool, int, float, str):
        return value
    if isinstance(value, np.number):
        return value.item()
    return (
        " ".join(repr(value).split()) if written.is_small(value) else f"{type(value).__name__}(…)"
    )


def _plain_json(about: dict[str, Any]) -> dict[str, Any]:
    try:
        return json.loads(json.dumps(about, default=_number))
    except (TypeError, ValueError, RecursionError) as error:
        raise ModelFileError(f"about must be a dict that JSON can hold: {error}") from error


def _number(value: Any) -> Any:
    if isinstance(value, (np.generic, np.ndarray)) and value.dtype.kind in "biufU":
        return value.tolist()
    raise TypeError(f"it holds a {type(value).__name__}")


def _check_place(path: Path) -> None:
    if not path.parent.is_dir():
        raise ModelFileError(
            f"cannot save to {path}: there is no folder {path.parent}; create it first"
        )
    if path.exists() and not (path.is_file() or path.is_dir()):
        raise ModelFileError(f"cannot save to {path}: it is a device or a pipe")
    if path.is_dir():
        raise ModelFileError(f"cannot save to {path}: it is a folder; give the name of a file")


# ---------------------------------------------------------------- reading
@contextmanager
def _opened(path: str | Path) -> Iterator[tuple[Archive, dict[str, Any]]]:
    """Yield a file and its manifest; whatever goes wrong with them is the file's fault."""
    try:
        with open(path, "rb") as file:
            archive = Archive(file)
            manifest = archive.manifest()
            _check_format(manifest)
            yield archive, manifest
    except FileNotFoundError as error:
        raise ModelFileError(f"there is no file {path}") from error
    except ModelFileError as error:
        raise ModelFileError(f"cannot load {path}: {error}") from error
    except OSError as error:
        raise ModelFileError(f"cannot read {path}: {error.strerror or error}") from error
    except ImportError as error:
        raise ModelFileError(f"cannot load {path}: it needs more than is here: {error}") from error
    except MemoryError:
        raise  # the file is not larger than it claims: the machine is too small
    except Exception as error:  # what zip, JSON and NumPy raise on damaged bytes is no fixed list
        detail = " ".join(str(error).split())[:120]
        raise ModelFileError(f"cannot load {path}: the file is damaged ({detail})") from error


def _check_format(manifest: dict[str, Any]) -> None:
    if manifest.get("kind") != KIND:
        raise ModelFileError("it is not a model of mercer")
    version, writer = manifest.get("format"), str(manifest.get("versions"))[:200]
    if type(version) is not int or version < 1:
        raise ModelFileError("it does not say in which format it is")
    if version > FORMAT:
        raise ModelFileError(
            f"it is in format {version}, written by a newer version ({writer}), and this one reads "
            f"up to {FORMAT}; upgrade mercer"
        )


def _entry(manifest: dict[str, Any], name: str, kind: type) -> Any:
    value = manifest.get(name)
    if not isinstance(value, kind):
        raise ModelFileError(f"its {name!r} must be a {kind.__name__}; got {type(value).__name__}")
    return value


def _check_trusted(trusted: Any) -> None:
    if isinstance(trusted, (str, type)) or not all(isinstance(cls, type) for cls in trusted):
        raise TypeError(f"trusted must be a list of classes, not of names; got {trusted!r}")


def _other_version(manifest: dict[str, Any], names: list[str]) -> Warning | None:
    """Return a warning if scikit-learn's own objects come from another version of it."""
    wrote = str(_entry(manifest, "versions", dict).get("scikit-learn"))
    theirs = [name for name in names if name.startswith("sklearn.")]
    if not theirs or wrote.split(".")[:2] == sklearn.__version__.split(".")[:2]:
        return None
    return InconsistentVersionWarning(
        estimator_name=theirs[0].rpartition(".")[2],
        current_sklearn_version=sklearn.__version__,
        original_sklearn_version=wrote,
    )
