"""Analysis of a training run: curves, prototypes, gazetteer coverage, missing terms.

`report` collects the results for a page.
"""
