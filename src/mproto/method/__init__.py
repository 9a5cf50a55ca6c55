"""The mathematics of the paper and nothing else: optimal transport, assignment, prototypes, losses. Needs torch only."""
