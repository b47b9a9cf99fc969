"""One file for each format: what recognises it, and what reads it."""
