"""Interfaces that other systems document, each on this engine; one module or package for each."""
