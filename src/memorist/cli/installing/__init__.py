"""Registers memorist with coding agents, in their own files of settings, and takes it out again."""
