"""Memorist over HTTP: every verb, with the same words and the same errors."""

from memorist.serve.limits import Limits
from memorist.serve.rest.app import create_app

__all__ = ["Limits", "create_app"]
