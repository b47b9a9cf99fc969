"""The web console: a memory in a browser, rendered at the server, with one small script and no external resources."""

from memorist.serve.console.app import console_routes

__all__ = ["console_routes"]
