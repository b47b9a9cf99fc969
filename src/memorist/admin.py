"""Admin: what a user or an operator does with a whole memory, beside the verbs of `memorist.verbs`."""

from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from os import PathLike
from pathlib import Path
from typing import Any

from memorist.audit.log import AuditEntry, verify
from memorist.operations import requests
from memorist.operations.answers import Exposed, Proposal, TracePage
from memorist.operations.requests import Id
from memorist.records.record import Record
from memorist.records.retention import RetentionReport, Rule, RuleLike
from memorist.records.times import TimeLike
from memorist.system.backups import placed, prune
from memorist.verbs import Verbs, made

__all__ = ["Admin"]


class Admin:
    """What a user or an operator does: the inbox, users, traces, audit, retention, checks, copies; see `Memory.admin`.

    Args:
        memory: the memory in whose scope this works.
    """

    def __init__(self, memory: Verbs) -> None:
        self._memory = memory

    async def users(self, *, waiting: bool = False) -> dict[str | None, int]:
        """Return how many current memories each user of the tenant has; None stands for the shared ones.

        State, which a framework keeps for itself, does not count; a user who has nothing else has 0.

        Args:
            waiting: count what waits in the inbox of each user instead, and leave out those with nothing.

        Raises:
            ScopeError: behind a user's wall.
        """
        return await self._memory.ask(requests.Users(waiting=waiting))

    async def traces(
        self,
        ids: Iterable[Id] | Id = (),
        *,
        since: TimeLike | None = None,
        until: TimeLike | None = None,
        door: str | None = None,
        empty: bool | None = None,
        limit: int = 50,
        cursor: str | None = None,
        everyone: bool = False,
    ) -> TracePage:
        """Return one page of the traces of calls of `recall` and `context`, newest first.

        Traces are kept where the memory was opened with `keep_traces`, and for so long. One that quotes a record goes
        with it: when the record is forgotten, expires or is purged.

        Args:
            ids: only those with these ids.
            since: only of calls at this time or later.
            until: only of calls earlier than this.
            door: only of calls through this door: "python", "rest", "mcp", "cli" or an adapter's name.
            empty: only of calls that gave nothing (True), or only of the others (False).
            limit: how many on a page.
            cursor: the `next` of the page before.
            everyone: of all users of the tenant; only where the scope has no user.

        Raises:
            ScopeError: `everyone` behind a user's wall.
        """
        return await self._memory.ask(made(requests.Traces, locals()))

    async def inbox(self) -> list[Proposal]:
        """Return what agents have asked for and the user has not decided yet, oldest first.

        Where the memory was opened with `confirm`, a proposal waits for 90 days. Until the user keeps it, no verb
        recalls, tells, lists, counts or exports it, and it changes no record. An inbox holds 100; more are refused.
        """
        return await self._memory.ask(requests.Inbox())

    async def keep(self, id: str, content: str | None = None) -> list[Record]:
        """Do what an agent asks for, and return the records that it stored or changed; [] if it forgot some.

        What is remembered so is `verified`, and has the agent as its author and the time at which it asked.

        Args:
            id: the proposal's.
            content: the user's words, in the place of the agent's; who changes them is an author, too.

        Raises:
            NotFoundError: nothing with this id waits.
            ScopeError: an agent calls this.
            InvalidInputError: there is not exactly one text to change, or what would be stored has expired.
            MemoristError: as the verb that was asked for; it still waits.
        """
        return await self._memory.ask(made(requests.Keep, locals()))

    async def drop(self, id: str, *, undo: bool = False) -> Proposal:
        """Refuse what an agent asks for, and return it: for 90 days, the same is refused without asking the user.

        Args:
            id: the proposal's.
            undo: let it wait again, within two minutes after it was dropped. Then its text is deleted.

        Raises:
            NotFoundError: nothing with this id waits, or was dropped.
            ScopeError: an agent calls this.
            ConflictError: it is being kept.
        """
        return await self._memory.ask(made(requests.Drop, locals()))

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

    async def audit(self, *, after: int | None = None, limit: int = 1000) -> list[AuditEntry]:
        """Return entries of the audit log, oldest first: those about this memory's user, or all of the store.

        The log holds no text, no id and no user's name. It is off until `Settings.audit` switches it on.

        Args:
            after: the number of the entry after which to begin; by default with the first.
            limit: at most so many entries.

        Raises:
            InvalidInputError: the store keeps no log.
        """
        return await self._memory.ask(made(requests.Audit, locals()))

    async def audit_entries(self) -> AsyncIterator[AuditEntry]:
        """Yield the entries of `audit`, all of them."""
        after: int | None = None
        while page := await self.audit(after=after):
            for entry in page:
                yield entry
            after = page[-1].number

    async def checkpoint(self) -> dict[str, Any]:
        """Return the number and the hash of the last entry of the audit log, signed with the installation's key.

        Kept elsewhere, it shows later whether the log was changed or cut; see `verify_audit`. Without the extra
        ``signed``, "signature" is None and "unsigned" says so.

        Raises:
            ScopeError: behind a user's wall.
            InvalidInputError: the store keeps no log.
            SignatureError: the key cannot be read or made.
        """
        return await self._memory.ask(requests.Checkpoint())

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

    async def retain(self, rules: Iterable[RuleLike]) -> list[Rule]:
        """Set how long the tenant's records are kept, in place of the rules before, and return the rules.

        The rules are kept in the store. Every process that writes deletes what is too old, when it opens the store and
        then once an hour. A rule with "forever" is not overridden by any other.

        Args:
            rules: each a `Rule`, or a mapping such as ``{"kind": "message", "keep": "90d"}``; none keep everything.

        Raises:
            InvalidInputError: a rule is wrong.
            ScopeError: behind a user's wall.
        """
        return await self._memory.ask(made(requests.Retain, locals()))

    async def retention(self, rules: Iterable[RuleLike] | None = None) -> RetentionReport:
        """Return the tenant's rules and how many records of each kind are too old by them now. Nothing is deleted.

        Args:
            rules: try these; by default those that are set.

        Raises:
            InvalidInputError: a rule is wrong.
            ScopeError: behind a user's wall.
        """
        return await self._memory.ask(made(requests.Retention, locals()))

    async def sweep(self) -> int:
        """Delete at once what of the tenant's has expired or is too old by its rules, and return how many records.

        If it raises, some may be gone already; the others go with the next sweep.

        Raises:
            ScopeError: behind a user's wall.
        """
        return await self._memory.ask(requests.Sweep())

    async def secrets(self, *, redact: bool = False) -> list[Exposed]:
        """Return what holds a secret of a known form, of every user of the tenant, without the secret itself.

        Args:
            redact: mask each secret: in the record and in every index. The record's earlier versions go, and so do
                traces with a secret and all that quotes the record; old pages of the store are removed. A framework's
                own state is listed only.

        Raises:
            ConflictError: others changed a record each time it was to be masked; the rest is masked.
            ScopeError: behind a user's wall.
        """
        return await self._memory.ask(made(requests.Secrets, locals()))

    async def check(self) -> list[str]:
        """Read the whole store and return what is damaged, in sentences; [] where all is sound.

        Raises:
            ScopeError: behind a user's wall.
        """
        return await self._memory.ask(requests.Check())

    async def reindex(self, progress: Callable[[int, int], None] | None = None, *, missing: bool = False) -> int:
        """Embed every record anew with the embedder this memory was opened with.

        Searches use the old vectors until the last new one is ready. A run that was killed is resumed.

        Args:
            progress: called with (done, total) after every batch.
            missing: embed only what was stored to be embedded later, which recall finds by its words until then.

        Returns:
            How many records were embedded by this call.
        """
        return await self._memory.ask(made(requests.Reindex, locals()))
