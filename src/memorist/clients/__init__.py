"""Clients of other services: a chat or embedding endpoint, and Chroma."""
