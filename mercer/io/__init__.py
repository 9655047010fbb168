"""Models in files that hold numbers and names, never code."""

from mercer.io.allowed import ModelFileError
from mercer.io.files import inspect, load, save

__all__ = ["ModelFileError", "inspect", "load", "save"]
