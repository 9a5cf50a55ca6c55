"""The work of the commands, from input files to output files; one function for each command."""
