"""Hermes Agent: its memory provider."""

from memorist.adapters.lazy import needing

with needing({"agent": "hermes"}):
    from memorist.adapters.hermes.provider import MemoristProvider

__all__ = ["MemoristProvider"]
