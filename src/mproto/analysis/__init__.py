"""Analysis of a training run: curves, prototypes, gazetteer coverage, missing terms.

`report` collects it for a page.
"""
