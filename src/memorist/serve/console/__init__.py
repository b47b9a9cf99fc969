"""The web console: a memory in a browser, rendered at the server, with one small script and no external resources."""

from memorist.serve.console.app import add_console

__all__ = ["add_console"]
