"""Presets: small TOML files with what they change."""
