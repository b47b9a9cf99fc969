"""The web console: a memory in a browser, rendered here, with one small script and nothing from elsewhere."""

from memorist.serve.console.app import console_routes

__all__ = ["console_routes"]
