"""Self-contained HTML pages: the report of a run, the health of a gazetteer, and what they share."""
