"""The memory files of Pydantic AI's harness: versioned, written with compare-and-set, searched by meaning."""

import re
from collections.abc import Mapping
from datetime import timedelta
from hashlib import sha256

from pydantic_ai_harness.memory import (
    MemoryConflictError,
    MemoryFile,
    MemoryMutation,
    MemoryOperation,
    MemoryOperationConflictError,
    MemorySearchMatch,
    MemorySearchResult,
)

from memorist.adapters.opening import AnyMemory, behind
from memorist.errors import ConflictError, InvalidInputError, NotFoundError
from memorist.memory import Memory
from memorist.records.origins import Author
from memorist.records.record import Draft, Hit, Kind, Record, make_id

FIELD = "pydantic_ai"
"""Where the parts are in a record's payload."""
_FILE, _OPERATION = "pydantic_ai.file:", "pydantic_ai.operation:"
_SEGMENT = re.compile(r"(?!\.$)(?!.*\.\.)[A-Za-z0-9_.-]{1,200}")
_RECEIPTS_LAST = timedelta(days=30).total_seconds()
_LEAST_SCORE = 0.5
"""The least score at which a file without any of the query's words is found."""


class MemoristMemoryStore:
    """A store for the harness's `Memory`: files as notes of one memory.

    ```python
    agent = Agent(model, capabilities=[Memory(store=MemoristMemoryStore(memory.scoped(user="alice")))])
    ```

    A new version supersedes the one before, which stays as a superseded record until the file is deleted. `search`
    goes by meaning and by words. All files are behind the wall of the memory's
    scope: with `Memory(store_resolver=lambda ctx: MemoristMemoryStore(memory.scoped(user=ctx.deps.user)))`
    each user has their own. The receipt of an operation is kept for 30 days.

    Args:
        memory: an open memory, asynchronous or blocking, or a path or URL.
    """

    def __init__(self, memory: AnyMemory) -> None:
        self._memory: Memory = behind(memory, "pydantic_ai").unlabelled()

    async def read(self, path: str, *, max_chars: int) -> MemoryFile | None:
        """Return the file, or None where there is none.

        Raises:
            ValueError: it is not a path, or `max_chars` is not positive.
        """
        _check_path(path)
        _check_positive("max_chars", max_chars)
        record = await self._current(path)
        if record is None:
            return None
        text = _text_of(record)
        return MemoryFile(
            content=text[:max_chars],
            version=record.id,
            operation_id=record.payload[FIELD]["operation"],
            truncated=len(text) > max_chars,
            metadata=dict(record.metadata) or None,
        )

    async def list_paths(self, prefix: str = "", *, limit: int) -> list[str]:
        """Return the paths with this prefix, sorted."""
        _check_prefix(prefix)
        _check_positive("limit", limit)
        page = await self._memory.browse(kind=Kind.NOTE, key_prefix=_FILE + prefix, order="key", limit=limit)
        return [record.payload[FIELD]["path"] for record in page.records]

    async def search(
        self, prefix: str, query: str, *, limit: int, max_files: int, max_chars: int, max_file_chars: int
    ) -> MemorySearchResult:
        """Return the files directly below a prefix that are relevant to a query, best first.

        Args:
            prefix: the beginning of their paths; files in folders below it are not found.
            query: a question or words.
            limit: the most matches.
            max_files: the most files that are ranked.
            max_chars: the most characters of all paths and snippets together.
            max_file_chars: the number of characters of each file from which snippets are taken.
        """
        _check_prefix(prefix)
        if not query.strip() or min(limit, max_files, max_chars, max_file_chars) <= 0:
            return MemorySearchResult(matches=[], scanned=0, truncated=False)
        folder = prefix[: prefix.rfind("/") + 1]
        here = {f"{FIELD}.folder": folder}
        hits = await self._memory.recall(query, limit=min(max_files, 10_000), kind=Kind.NOTE, payload=here)
        found = [
            hit
            for hit in hits
            if hit.record.payload[FIELD]["path"].startswith(prefix) and (hit.matched or hit.score >= _LEAST_SCORE)
        ]
        matches, left = [], max_chars
        for hit in found[:limit]:
            path = hit.record.payload[FIELD]["path"]
            left -= len(path) - len(prefix)
            if left <= 0:
                break
            snippet = _snippet(hit, max_file_chars, left)
            left -= len(snippet)
            matches.append(MemorySearchMatch(path=path, snippet=snippet, score=hit.score))
        scanned = await self._memory.count(kind=Kind.NOTE, payload=here)
        return MemorySearchResult(matches=matches, scanned=scanned, truncated=len(found) > len(matches))

    # --- writing ---------------------------------------------------------------------------------------

    async def write(
        self, path: str, content: str, *, expected_version: str | None, operation: MemoryOperation | None = None
    ) -> MemoryMutation:
        """Write a file if its version is the expected one, None for a new file; see `write_with_metadata`."""
        return await self.write_with_metadata(
            path, content, expected_version=expected_version, metadata=None, operation=operation
        )

    async def write_with_metadata(
        self,
        path: str,
        content: str,
        *,
        expected_version: str | None,
        metadata: Mapping[str, str] | None,
        operation: MemoryOperation | None = None,
    ) -> MemoryMutation:
        """Write a file with metadata if its version is the expected one.

        Raises:
            MemoryConflictError: the file has another version.
            MemoryOperationConflictError: the operation's id was used with other arguments.
            ValueError: it is not a path, or a text cannot be stored.
            TypeError: the metadata are not texts.
        """
        _check_path(path)
        if not all(isinstance(each, str) for pair in (metadata or {}).items() for each in pair):
            raise TypeError("memory metadata keys and values must be strings")
        version = make_id()
        parts = {"path": path, "folder": path[: path.rfind("/") + 1], "operation": operation and operation.id}
        blank = not content.strip()
        draft = Draft(
            content=path if blank else content,
            kind=Kind.NOTE,
            id=version,
            key=_FILE + path,
            metadata=metadata,
            payload={FIELD: {**parts, "text": content} if blank else parts},
            supersedes=expected_version,
            author=Author.ASSISTANT,
        )
        return await self._mutate(path, draft, expected_version, operation, version)

    async def delete(
        self, path: str, *, expected_version: str | None, operation: MemoryOperation | None = None
    ) -> MemoryMutation:
        """Delete a file with all earlier versions if its version is the expected one.

        Raises:
            MemoryConflictError: the file has another version.
            MemoryOperationConflictError: the operation's id was used with other arguments.
            ValueError: it is not a path.
        """
        _check_path(path)
        # It supersedes the last version until all versions are forgotten.
        grave = Draft(content=path, kind=Kind.STATE, id=make_id(), supersedes=expected_version)
        mutation = await self._mutate(path, grave, expected_version, operation, None)
        if not mutation.replayed:
            page = await self._memory.browse(kind=Kind.NOTE, key=_FILE + path, superseded=True, limit=10_000)
            old = [each.id for each in page.records if not each.current]
            await self._memory.forget(str(grave.id), *old)
        return mutation

    async def _mutate(
        self, path: str, draft: Draft, expected: str | None, operation: MemoryOperation | None, version: str | None
    ) -> MemoryMutation:
        """Store a draft and the operation's receipt in one step if the file has the expected version."""
        if operation is not None and (receipt := await self.get_operation(operation)) is not None:
            return receipt
        mutation = MemoryMutation(version=version, replayed=False, existed=expected is not None)
        drafts = [draft] if operation is None else [draft, _receipt(operation, mutation)]
        try:
            await self._check_version(path, expected)
            await self._memory.remember(drafts)
        except (MemoryConflictError, ConflictError, NotFoundError, InvalidInputError):
            if operation is not None and (receipt := await self.get_operation(operation)) is not None:
                return receipt
            await self._check_version(path, expected)
            raise
        return mutation

    async def _check_version(self, path: str, expected: str | None) -> None:
        current = await self._current(path)
        if (None if current is None else current.id) != expected:
            raise MemoryConflictError(f"the memory file {path!r} was changed by another writer; read it and try again")

    async def _current(self, path: str) -> Record | None:
        return await self._memory.lookup(_FILE + path, kind=Kind.NOTE)

    async def get_operation(self, operation: MemoryOperation) -> MemoryMutation | None:
        """Return the stored result of an operation, or None.

        Raises:
            MemoryOperationConflictError: its id was used with other arguments.
        """
        record = await self._memory.lookup(_operation_key(operation), kind=Kind.STATE)
        if record is None:
            return None
        held = record.payload[FIELD]
        if held["fingerprint"] != operation.fingerprint:
            raise MemoryOperationConflictError(f"the operation {operation.id!r} was used with other arguments")
        return MemoryMutation(version=held["version"], replayed=True, existed=held["existed"])


def _operation_key(operation: MemoryOperation) -> str:
    return _OPERATION + sha256(operation.id.encode()).hexdigest()


def _receipt(operation: MemoryOperation, mutation: MemoryMutation) -> Draft:
    parts = {"fingerprint": operation.fingerprint, "version": mutation.version, "existed": mutation.existed}
    key = _operation_key(operation)
    return Draft(content=key, kind=Kind.STATE, key=key, payload={FIELD: parts}, expires_at=_RECEIPTS_LAST)


def _text_of(record: Record) -> str:
    return str(record.payload[FIELD].get("text", record.content))


def _snippet(hit: Hit, most_of_file: int, most: int) -> str:
    """Return the text around the first of the query's words in a file; … marks a cut."""
    text = _text_of(hit.record)[:most_of_file]
    if len(text) <= most:
        return text
    folded = text.casefold()
    positions = [position for word in hit.matched if (position := folded.find(word.casefold())) >= 0]
    start = max(0, min(min(positions, default=0) - most // 3, len(text) - most))
    cut = text[start : start + most]
    return ("…" + cut[1:] if start else cut)[: most - 1] + ("…" if start + most < len(text) else cut[-1:])


def _check_path(path: str) -> None:
    if not all(_SEGMENT.fullmatch(segment) for segment in path.split("/")):
        raise ValueError(f"{path!r} is not a path of a memory file")


def _check_prefix(prefix: str) -> None:
    if prefix:
        _check_path(prefix.removesuffix("/"))


def _check_positive(name: str, number: int) -> None:
    if number <= 0:
        raise ValueError(f"{name} must be positive")
