"""The paper's tables and figures, and what was tried on the way; every run is in LOG.md."""
