"""File formats: one module for each, and a registry of all."""

from mproto.text.formats.base import Format, Keeps, Options
from mproto.text.formats.registry import (
    detect,
    find_format,
    format_for_labels,
    format_for_output,
    formats,
    get_format,
    read_documents,
    write_documents,
)

__all__ = [
    "Format",
    "Keeps",
    "Options",
    "detect",
    "find_format",
    "format_for_labels",
    "format_for_output",
    "formats",
    "get_format",
    "read_documents",
    "write_documents",
]
