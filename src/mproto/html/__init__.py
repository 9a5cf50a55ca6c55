"""Self-contained HTML pages: training report, gazetteer report, and shared building blocks."""
