"""Real data that comes with the library or with scikit-learn, all as `Data`."""

from __future__ import annotations

import csv
from collections.abc import Callable
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from sklearn import datasets

from mercer.datasets.files.data import Data

PENGUINS = Path(__file__).parent / "data" / "penguins.csv"


def load_penguins(*, as_frame: bool = True, return_X_y: bool = False) -> Any:
    """Load the Palmer penguins: three species of birds, mixed columns, missing values.

    344 birds measured on three islands of the Palmer Archipelago, Antarctica: island, bill length
    and depth, flipper length, body mass, sex, year; 19 values are missing. The target is the
    species. Collected by K. Gorman and the Palmer Station LTER (Gorman, Williams and Fraser 2014,
    PLoS ONE 9(3): e90081); table by Horst, Hill and Gorman (2020), palmerpenguins. Licence: CC0.

    Parameters
    ----------
    as_frame : bool, default=True
        Rows as a frame (polars if it is installed, else pandas) or as an array of objects with
        None for missing values.
    return_X_y : bool, default=False
        Return ``(X, y)`` in place of `Data`.

    Returns
    -------
    Data
        Rows, species, names.

    Examples
    --------
    >>> from mercer.datasets import load_penguins
    >>> load_penguins()
    Data(344 rows, 7 columns, target 'species')
    """
    columns = {name: list(values) for name, values in _penguins().items()}
    y = np.array(columns.pop("species"))
    X = _frame(columns) if as_frame else _objects(columns)
    return _given(Data(X, y, "species", list(columns), "csv", PENGUINS), return_X_y)


@cache
def _penguins() -> dict[str, tuple[Any, ...]]:
    with PENGUINS.open(encoding="utf-8", newline="") as stream:
        header, *rows = csv.reader(stream)
    return {
        name: _values(words) for name, words in zip(header, zip(*rows, strict=True), strict=True)
    }


def _values(words: tuple[str, ...]) -> tuple[Any, ...]:
    """Return words as whole numbers, numbers or text; ``NA`` is missing."""
    for kind in (int, float, str):
        try:
            return tuple(None if word == "NA" else kind(word) for word in words)
        except ValueError:
            continue
    raise AssertionError("every word is a text")


def _objects(columns: dict[str, list[Any]]) -> np.ndarray:
    return np.array(list(zip(*columns.values(), strict=True)), dtype=object)


def _frame(columns: dict[str, Any]) -> Any:
    """Return columns as a frame of the library that is there."""
    if find_spec("polars"):
        import polars

        return polars.DataFrame(columns)
    if find_spec("pandas"):
        import pandas

        return pandas.DataFrame(columns)
    raise ImportError(
        "as_frame=True needs polars or pandas, and neither is installed: pip install 'mercer[app]'"
    )


# ---------------------------------------------------------------- from scikit-learn
def load_iris(*, as_frame: bool = False, return_X_y: bool = False) -> Any:
    """Load Fisher's irises: 150 flowers, 4 lengths and widths in cm, 3 species.

    Examples
    --------
    >>> from mercer.datasets import load_iris
    >>> load_iris().y[0].item()
    'setosa'
    """
    return _known(datasets.load_iris, "species", as_frame, return_X_y)


def load_wine(*, as_frame: bool = False, return_X_y: bool = False) -> Any:
    """Load the wines: 178 wines of one region, 13 chemical measurements, 3 cultivars."""
    return _known(datasets.load_wine, "cultivar", as_frame, return_X_y)


def load_breast_cancer(*, as_frame: bool = False, return_X_y: bool = False) -> Any:
    """Load the breast cancers of Wisconsin: 569 tumours, 30 measurements, malignant or benign."""
    return _known(datasets.load_breast_cancer, "diagnosis", as_frame, return_X_y)


def load_digits(*, as_frame: bool = False, return_X_y: bool = False) -> Any:
    """Load handwritten digits: 1797 pictures of 8 × 8 grey values from 0 to 16."""
    return _known(datasets.load_digits, "digit", as_frame, return_X_y)


def load_diabetes(*, as_frame: bool = False, return_X_y: bool = False) -> Any:
    """Load the diabetes patients: 442 patients, 10 scaled measurements, progress after a year."""
    return _known(datasets.load_diabetes, "progression", as_frame, return_X_y)


def _known(load: Callable[[], Any], target: str, as_frame: bool, return_X_y: bool) -> Any:
    bunch = load()
    names = [_plain_name(name) for name in bunch.feature_names]
    X = _frame(dict(zip(names, bunch.data.T, strict=True))) if as_frame else bunch.data
    return _given(Data(X, _named(bunch), target, names, "scikit-learn"), return_X_y)


def _plain_name(name: str) -> str:
    """Return a name that is a word: ``'petal_length_cm'`` of ``'petal length (cm)'``."""
    return str(name).replace("(", "").replace(")", "").replace(" ", "_")


def _named(bunch: Any) -> np.ndarray:
    """Return the names of classes in place of codes, where they have names."""
    classes = np.asarray(bunch.get("target_names", []))
    return classes[bunch.target] if classes.dtype.kind == "U" else bunch.target


def _given(data: Data, return_X_y: bool) -> Any:
    return (data.X, data.y) if return_X_y else data
