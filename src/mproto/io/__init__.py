"""Files in and out: sources, whole-or-nothing outputs, temporary names, control characters."""
