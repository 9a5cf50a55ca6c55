"""What each command does, from files to files; one function for each command."""
