"""Read and write files: sources, atomic outputs, locks and temporary files, logs to resume from."""
