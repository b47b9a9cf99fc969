"""Spans, metrics and logs of a server; they never contain a text or a token."""

from memorist.serve.observability.logs import LogFormat, start_logging
from memorist.serve.observability.metrics import Observer
from memorist.serve.observability.requests import ObservedRequests

__all__ = ["LogFormat", "ObservedRequests", "Observer", "start_logging"]
