"""The verbs of a memory, asked of a server.

It answers as `Memory` does and raises the same errors. Reads are repeated where the connection fails, and so is
`remember`, which cannot store twice; where it is not known whether another call was done, the error says so.
"""

import json
import os
import tempfile
import uuid
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from os import PathLike
from pathlib import Path
from types import TracebackType
from typing import Any, cast

from memorist.errors import InvalidInputError, NotFoundError, StoreUnavailableError
from memorist.memory import Memory
from memorist.records import Change, Draft, Hit, Kind, Page, Record
from memorist.remote.connection import Connection, error_of, result_of
from memorist.remote.values import arguments_of, change_of, draft_to, encoded, hit_of, params_of, part_of
from memorist.scope import DEFAULT_TENANT, Scope
from memorist.transfer import BadLine, LoadReport
from memorist.writing import draft_of

__all__ = ["RemoteMemory"]

_LABELS = ("agent", "session")


class RemoteMemory(Memory):
    """A `Memory` whose store is at a server; made by `Memory.connect`."""

    def __init__(self, connection: Connection, scope: Scope) -> None:
        self._connection = connection
        self._scope = scope
        self._views = {}

    async def __aenter__(self) -> "RemoteMemory":
        """Reach the server; the scope becomes what the token is bound to."""
        granted = await self._connection.open()
        try:
            scope = Scope(granted["tenant"] or DEFAULT_TENANT) if granted["tenant"] else Scope()
            if granted["user"] is not None:
                scope = scope.narrowed(user=granted["user"])
            asked = self._scope
            tenant = None if asked.tenant == DEFAULT_TENANT else asked.tenant
            self._scope = scope.narrowed(tenant=tenant, user=asked.user, agent=asked.agent, session=asked.session)
        except BaseException:
            await self._connection.close()
            raise
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Let the server go, for every scope of this memory. A second call does nothing."""
        await self._connection.close()

    def scoped(self, **names: Any) -> "RemoteMemory":
        """Return the same memory seen from a narrower scope; see `Memory.scoped`."""
        return RemoteMemory(self._connection, self._scope.narrowed(**names))

    def unlabelled(self) -> "RemoteMemory":
        """Return the same memory without the labels `agent` and `session`; the walls stay."""
        return RemoteMemory(self._connection, Scope(self._scope.tenant, self._scope.user))

    # --- writing -----------------------------------------------------------------------------------

    async def remember(  # type: ignore[override]  # one signature stands for both of the overloads
        self,
        content: str | Draft | Iterable[str | Draft],
        *,
        if_exists: str = "error",
        forgetting: Iterable[str] = (),
        **fields: Any,
    ) -> Record | list[Record]:
        """Store one record, or many at once: all of them or none; see `Memory.remember`."""
        single = isinstance(content, str | Draft)
        if not single and (isinstance(content, Mapping) or not isinstance(content, Iterable)):
            raise InvalidInputError(
                f"remember takes a text, a Draft, or several of these, not a {type(content).__name__}"
            )
        given = [content] if single else list(cast(Iterable[str | Draft], content))
        drafts = [draft_to(draft_of(cast(str | Draft, each), cast(Any, fields))) for each in given]
        gone = list(forgetting)
        if not drafts and not gone:
            return []
        # A replacement is found by its key or id, and is not kept from being made again.
        key = uuid.uuid4().hex if drafts and if_exists != "replace" else None
        body = {"records": drafts, "if_exists": if_exists, "forgetting": gone}
        found = await self._call("POST", "/v1/records", body=body, key=key, repeat=key is not None)
        stored = [Record.from_dict(each) for each in found["records"]]
        return stored[0] if single else stored

    async def revise(self, id: str, **changes: Any) -> Record:
        """Change the fields given; see `Memory.revise`."""
        body = arguments_of("revise", id, **changes)
        return Record.from_dict(await self._call("PATCH", f"/v1/records/{part_of(body.pop('id'))}", body=body))

    async def rate(self, id: str, rating: float | None, *, source: str | None = None) -> Record:
        """Give a record feedback from -1 to 1, or take it back (None)."""
        body = {"rating": rating, "source": source}
        return Record.from_dict(await self._call("PUT", f"/v1/records/{part_of(id)}/rating", body=body, repeat=True))

    async def forget(self, *ids: str, **chosen: Any) -> int:
        """Delete the records named, or all that pass the filter; see `Memory.forget`."""
        for each in ids:
            part_of(each)
        body, labels = self._asked("forget", *ids, **chosen)
        body["ids"] = list(body.pop("ids", ()))
        if not ids and not (body.keys() - {"ids", "source"}) and not any(name in chosen for name in _LABELS):
            raise InvalidInputError("name ids or a filter; to delete everything of a scope there is purge")
        if not ids and not (body.keys() - {"ids", "source"}):
            body["kind"] = list(map(str, Kind))
        return cast(int, (await self._call("POST", "/v1/forget", params=labels, body=body))["forgotten"])

    async def purge(self, *, user: str | None = None) -> int:
        """Delete everything of a user, and leave no byte of it in the store; see `Memory.purge`."""
        scope = self._scope.narrowed(user=user)
        return cast(int, (await self._call("POST", "/v1/purge", params=params_of(scope)))["purged"])

    # --- reading -----------------------------------------------------------------------------------

    async def recall(self, query: str, **options: Any) -> list[Hit]:
        """Find the records that matter to a query; see `Memory.recall`."""
        body, labels = self._asked("recall", query, **options)
        found = await self._call("POST", "/v1/recall", params=labels, body=body, repeat=True)
        return [hit_of(each) for each in found["hits"]]

    async def recent(self, limit: int = 10, **options: Any) -> list[Record]:
        """Return the newest records, newest first; see `Memory.recent`."""
        body, labels = self._asked("recent", limit, **options)
        found = await self._call("POST", "/v1/recent", params=labels, body=body, repeat=True)
        return [Record.from_dict(each) for each in found["records"]]

    async def lookup(self, key: str, *, kind: Kind | str = Kind.TOPIC, shared: bool = False) -> Record | None:
        """Return the current record with exactly this key, or None."""
        part_of(key)
        params = {**params_of(self._scope), "key": key, "kind": str(kind), "shared": shared}
        return await self._one("/v1/lookup", params)

    async def get(self, id: str) -> Record | None:
        """Return the record with this id in this scope, superseded or not, or None."""
        return await self._one(f"/v1/records/{part_of(id)}", params_of(self._scope)) if id != "" else None

    async def browse(self, **options: Any) -> Page:
        """Return one page of the records that pass the filter; see `Memory.browse`."""
        body, labels = self._asked("browse", **options)
        found = await self._call("POST", "/v1/browse", params=labels, body=body, repeat=True)
        return Page([Record.from_dict(each) for each in found["records"]], found["next"])

    async def count(self, **options: Any) -> int:
        """Return how many records pass the filter; see `Memory.count`."""
        body, labels = self._asked("count", **options)
        return cast(int, (await self._call("POST", "/v1/count", params=labels, body=body, repeat=True))["count"])

    async def users(self) -> dict[str | None, int]:
        """Return how many records each user of the tenant has; None stands for the shared ones."""
        self._scope.reach(everyone=True)
        found = await self._call("GET", "/v1/users", repeat=True)
        return {each["user"]: each["count"] for each in found["users"]}

    async def history(self, id: str) -> list[Change]:
        """Return every change of a record, oldest first; see `Memory.history`."""
        part = part_of(id)
        found = await self._call("GET", f"/v1/records/{part}/history", repeat=True) if part else {"changes": []}
        return [change_of(each) for each in found["changes"]]

    # --- the whole -----------------------------------------------------------------------------------

    async def export(self, *, everyone: bool = False) -> AsyncIterator[str]:
        """Yield every record of the scope as lines of JSON, as they come; see `Memory.export`."""
        params = {**params_of(self._scope), "everyone": everyone}
        async for line in self._lines("GET", "/v1/export", params):
            yield line

    async def load(self, lines: Iterable[str | bytes] | AsyncIterator[str | bytes]) -> LoadReport:
        """Store what `export` wrote; see `Memory.load`."""
        if isinstance(lines, str | bytes):
            raise InvalidInputError("give the lines one by one, not as one text")
        headers = {"Content-Type": "application/x-ndjson"}
        request = self._connection.sent(
            "POST", "/v1/load", params=params_of(self._scope), content=encoded(lines), headers=headers
        )
        async with request as answer:
            await answer.aread()
        found = result_of(answer)
        return LoadReport(found["added"], found["existing"], [BadLine(**each) for each in found["bad"]])

    async def backup(self, target: str | PathLike[str]) -> Path:
        """Copy the whole store to a file here; needs an operator's token. See `Memory.backup`."""
        self._scope.reach(everyone=True)
        path = Path(target).expanduser().absolute()
        if path.exists():
            raise InvalidInputError(f"{path} exists; choose another path for the backup")
        async with self._connection.sent("GET", "/v1/backup", params=params_of(self._scope)) as answer:
            if answer.status != 200:
                await answer.aread()
                result_of(answer)
            handle, part = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}-")
            try:
                with os.fdopen(handle, "wb") as file:
                    async for chunk in answer.aiter_stream():
                        file.write(chunk)
                    file.flush()
                    os.fsync(file.fileno())
                Path(part).replace(path)
            finally:
                Path(part).unlink(missing_ok=True)
        return path

    async def check(self) -> list[str]:
        """Look whether the store is whole; needs an operator's token. See `Memory.check`."""
        self._scope.reach(everyone=True)
        return cast(list[str], (await self._call("GET", "/v1/check", repeat=True))["faults"])

    async def reindex(self, progress: Callable[[int, int], None] | None = None) -> int:
        """Embed every record anew, at the server; needs an operator's token. See `Memory.reindex`."""
        self._scope.reach(everyone=True)
        async for line in self._lines("POST", "/v1/reindex", params_of(self._scope)):
            step = json.loads(line)
            if "embedded" in step:
                return cast(int, step["embedded"])
            if "error" in step:
                raise error_of(step)
            if progress is not None:
                progress(step["done"], step["total"])
        raise StoreUnavailableError("the server ended before the reindexing did; call again, and it goes on")

    # --- calls ---------------------------------------------------------------------------------------

    async def _call(self, method: str, path: str, *, params: Any = None, **more: Any) -> Any:
        return await self._connection.call(method, path, params=params or params_of(self._scope), **more)

    async def _one(self, path: str, params: Mapping[str, Any]) -> Record | None:
        try:
            return Record.from_dict(await self._connection.call("GET", path, params=params, repeat=True))
        except NotFoundError:
            return None

    async def _lines(self, method: str, path: str, params: Mapping[str, Any]) -> AsyncIterator[str]:
        async with self._connection.sent(method, path, params=params) as answer:
            if answer.status != 200:
                await answer.aread()
                result_of(answer)
            rest = b""
            async for chunk in answer.aiter_stream():
                *lines, rest = (rest + chunk).split(b"\n")
                for line in lines:
                    yield line.decode()

    def _asked(self, verb: str, *args: Any, **options: Any) -> tuple[dict[str, Any], dict[str, str]]:
        """Return a verb's arguments as a body, and the scope and labels as a query."""
        body = arguments_of(verb, *args, **options)
        scope = self._scope.narrowed(**{name: body.pop(name, None) for name in _LABELS})
        return body, params_of(scope)
