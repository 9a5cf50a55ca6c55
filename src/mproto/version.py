"""The version, in a place that imports nothing."""

__version__ = "0.2.0"
