"""What this process asks of the machine: files, paths, variables, threads."""
