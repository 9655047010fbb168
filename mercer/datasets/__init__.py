"""Data: made up for a picture, shipped with the library, or read from a file."""

from mercer.datasets.files.data import Data, DataError
from mercer.datasets.files.tables import FORMATS, load_file, read_batches, write_table
from mercer.datasets.shipped import (
    load_breast_cancer,
    load_diabetes,
    load_digits,
    load_iris,
    load_penguins,
    load_wine,
)
from mercer.datasets.signals import make_cocktail_party
from mercer.datasets.toys import (
    make_arc,
    make_banana,
    make_circles,
    make_clusters,
    make_moons,
    make_swiss_roll,
    make_xor,
)

__all__ = [
    "FORMATS",
    "Data",
    "DataError",
    "load_breast_cancer",
    "load_diabetes",
    "load_digits",
    "load_file",
    "load_iris",
    "load_penguins",
    "load_wine",
    "make_arc",
    "make_banana",
    "make_circles",
    "make_clusters",
    "make_cocktail_party",
    "make_moons",
    "make_swiss_roll",
    "make_xor",
    "read_batches",
    "write_table",
]
