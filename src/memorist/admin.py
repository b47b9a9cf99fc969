"""Admin: what a user or an operator does with a whole memory, beside the verbs of `memorist.verbs`."""

from collections.abc import AsyncIterator, Mapping
from os import PathLike
from pathlib import Path
from typing import Any, TypeVar

from memorist.audit.log import AuditEntry, verify
from memorist.operations import requests
from memorist.operations.requests import Request
from memorist.system.backups import placed, prune
from memorist.verbs import Verbs
from memorist.verbs.declared import AdminVerbs

__all__ = ["Admin"]

T = TypeVar("T")


class Admin(AdminVerbs):
    """What a user or an operator does: the inbox, users, traces, audit, retention, checks, copies; see `Memory.admin`.

    Args:
        memory: the memory in whose scope this works.
    """

    def __init__(self, memory: Verbs) -> None:
        self._memory = memory

    async def _ask(self, request: Request[T]) -> T:
        return await self._memory.ask(request)

    async def backup(self, target: str | PathLike[str], *, keep: int | None = None) -> Path:
        """Copy the whole store, consistently and while in use, and open the copy to verify it.

        Args:
            target: a new file, or a folder: the copy is then named after the time in UTC, as in
                ``memorist-20260131T020000Z.db``.
            keep: with a folder: how many copies with such names to keep in it, the new one included. Older ones are
                removed after the new one is verified. By default all are kept.

        Returns:
            The path of the copy.

        Raises:
            InvalidInputError: the target exists, or `keep` is below 1 or given without a folder.
            ScopeError: behind a user's wall: a backup holds everyone's records.
            StoreUnavailableError: the copy cannot be written, or an older one cannot be removed.
        """
        copy = await self._memory.ask(requests.Backup(target=placed(target, keep, self._memory.clock())))
        if keep is not None:
            prune(copy, keep)
        return copy

    async def audit_entries(self) -> AsyncIterator[AuditEntry]:
        """Yield the entries of `audit`, all of them."""
        after: int | None = None
        while page := await self.audit(after=after):
            for entry in page:
                yield entry
            after = page[-1].number

    async def verify_audit(self, *checkpoints: Mapping[str, Any]) -> list[str]:
        """Read the whole audit log and return what is wrong with it, in sentences; [] where its chain is unbroken.

        Args:
            *checkpoints: what `checkpoint` returned earlier. Their signatures are for `memorist.audit.signing.check`.

        Raises:
            ScopeError: behind a user's wall.
            InvalidInputError: the store keeps no log.
        """
        self._memory.scope.check_everyone()
        return (await verify(self.audit_entries(), checkpoints))[1]
