"""The paper's mathematics: optimal transport, assignment, prototypes, losses. PyTorch and nothing else."""
