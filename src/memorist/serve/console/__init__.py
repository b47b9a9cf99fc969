"""The web console: a memory in a browser, rendered at the server, with small scripts and no external resources."""

from memorist.serve.console.app import LARGE, STREAMING, add_console

__all__ = ["LARGE", "STREAMING", "add_console"]
