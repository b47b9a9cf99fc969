"""Git repositories, read from their files: no program is started, so nothing that a repository configures is run."""
