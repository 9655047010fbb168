"""Tables of people, with names, texts, dates and gaps, as matrices for a kernel machine."""

from mercer.tables.encoder import TableEncoder

__all__ = ["TableEncoder"]
