"""From file to file: one function per command."""
