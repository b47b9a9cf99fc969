"""The web console: a memory in a browser, rendered at the server, with small scripts and no external resources."""

from memorist.serve.console.app import IMPORT, add_console

__all__ = ["IMPORT", "add_console"]
