"""Every setting of a run, and how settings are read."""

from mproto.config.loading import PRESETS, Config, load_config

__all__ = ["PRESETS", "Config", "load_config"]
