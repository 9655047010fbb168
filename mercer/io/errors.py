"""The one error of model files."""

from __future__ import annotations


class ModelFileError(ValueError):
    """A model that cannot be saved, or a file that is not a model, is broken or not trusted."""
