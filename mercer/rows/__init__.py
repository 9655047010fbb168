"""Rows that are read in blocks, again and again: arrays, files and folders of any size."""

from mercer.rows.base import Block, Rows
from mercer.rows.opening import as_rows, open
from mercer.rows.passes import map_reduce
from mercer.rows.stored import Chunk, RowsError

__all__ = ["Block", "Chunk", "Rows", "RowsError", "as_rows", "map_reduce", "open"]
