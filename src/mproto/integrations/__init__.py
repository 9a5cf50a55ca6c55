"""Integrations with other libraries.

Each needs its own extra; no other package imports them at start-up.
"""
