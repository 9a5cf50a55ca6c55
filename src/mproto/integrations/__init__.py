"""Other people's tools: each needs an extra of its own, and nothing here is imported by the rest."""
