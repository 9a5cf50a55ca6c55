"""Looking into a training run: what was learnt, from what, and what is left to do. `report` puts it on a page."""
