"""The command line: from a file to a ranked list without writing Python."""
