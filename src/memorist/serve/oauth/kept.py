"""What the sign-in keeps between two requests: in the store, so that any process of a server can go on with it."""

import json
import secrets
from collections.abc import Mapping
from typing import Any

from memorist.memory import Memory
from memorist.records.record import Kind
from memorist.records.scope import SERVER_TENANT
from memorist.serve.auth import digest_of

_KEY = "oauth/"


class Kept:
    """Values under secrets, of which only the hash is stored.

    Args:
        memory: any memory of the store that is bound to no tenant or user.
    """

    def __init__(self, memory: Memory) -> None:
        self._memory = memory.scoped(tenant=SERVER_TENANT)

    async def put(
        self, what: str, value: Mapping[str, Any], seconds: float, *, secret: str | None = None, **owner: str | None
    ) -> str:
        """Keep a value, and return the secret that it can be read by.

        Args:
            what: what kind of value it is.
            value: plain JSON.
            seconds: how long to keep it.
            secret: the secret; by default a new one.
            owner: the tenant and the user whose purge removes it.
        """
        secret = secret or secrets.token_urlsafe(32)
        key, text = _key(what, secret), json.dumps(value)
        await self._memory.remember(text, kind=Kind.TOPIC, key=key, id=key, metadata=owner, expires_at=seconds)
        return secret

    async def read(self, what: str, secret: str) -> dict[str, Any] | None:
        """Return a value; None where there is none, or no longer."""
        record = await self._memory.lookup(_key(what, secret), kind=Kind.TOPIC)
        return None if record is None else dict(json.loads(record.content))

    async def take(self, what: str, secret: str) -> bool:
        """Remove a value; return whether it was there. Of two callers at once, one gets True."""
        return await self._memory.forget(_key(what, secret)) > 0

    async def keep(self, what: str, secret: str, seconds: float) -> None:
        """Keep a value for so long from now on."""
        await self._memory.revise(_key(what, secret), expires_at=seconds)

    async def count(self, what: str) -> int:
        """Return how many values of a kind there are."""
        records = self._memory.iterate(kind=Kind.TOPIC, key_prefix=f"{_KEY}{what}/")
        return len([record async for record in records])


def _key(what: str, secret: str) -> str:
    return f"{_KEY}{what}/{digest_of(secret)}"
