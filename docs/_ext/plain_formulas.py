"""Docstrings write |x| and coef_ as on paper; in reStructuredText these would be references."""

import re

BARS = re.compile(r"(?<![\\`|])\|(?=\S)([^|`]*)\|(?!\|)")

FITTED = re.compile(r"(?<![`*\w.])(\w+)_(?=[\sᵀ)⁻.,;:/|]|$)")  # a fitted value in a sentence


def escape(app, what, name, obj, options, lines):
    lines[:] = [BARS.sub(r"\\|\1\\|", _without_references(line)) for line in lines]


def _without_references(line):
    is_sentence = " " in line.strip() and "::" not in line
    return FITTED.sub(r"\1\\_", line) if is_sentence else line


def setup(app):
    app.connect("autodoc-process-docstring", escape, priority=900)  # after numpydoc
    return {"parallel_read_safe": True, "parallel_write_safe": True}
