"""The formats that are written, a module each."""
