"""The settings of a training run, and the functions that read them."""

from mproto.config.loading import PRESETS, Config, load_config

__all__ = ["PRESETS", "Config", "load_config"]
