"""Tables of people, with names, texts, dates and gaps, as matrices for a kernel machine."""

from mercer.tables.encoder import TableEncoder
from mercer.tables.objects import ColumnsEncoder, object_kinds

__all__ = ["ColumnsEncoder", "TableEncoder", "object_kinds"]
