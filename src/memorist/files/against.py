"""Another memory, asked the same cases with the same records: a Python file as bench/arena describes it."""

import asyncio
import importlib.util
from collections import defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from types import ModuleType
from typing import Any

from memorist.embedders import Embedder, Role
from memorist.errors import InvalidInputError, MissingExtraError
from memorist.files.cases import DEEPEST, Case, Outcome, Report, is_right
from memorist.memory import Memory
from memorist.records.content import folded
from memorist.records.record import Record

FOLDERS = (Path(__file__).parent / "systems", Path(__file__).parents[3] / "bench" / "arena" / "systems")
"""Where the files of well-known memories are: in an installation, and in a checkout."""
_CHARACTERS = 4
"""Of a token, about."""


def load_system(name: str) -> ModuleType:
    """Return the module of a memory: `mem0` or another that comes along, or the path of a file that ends in `.py`.

    Raises:
        InvalidInputError: there is no such memory, or the file has no class `Memory`.
        MissingExtraError: what it imports is not installed.
    """
    given = [Path(name)] if name.endswith(".py") else [folder / f"{name}.py" for folder in FOLDERS]
    path = next((each for each in given if each.is_file()), None)
    if path is None:
        known = ", ".join(sorted({file.stem for folder in FOLDERS for file in folder.glob("*.py")}))
        raise InvalidInputError(
            f"there is no memory {name!r} to compare with; give the path of a FILE.py, or one of: {known}"
        )
    spec = importlib.util.spec_from_file_location(f"memorist_against_{path.stem}", path)
    assert spec is not None and spec.loader is not None, "a path that ends in .py has a loader"
    module = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
        if module.Memory.__module__ != spec.name:
            raise AttributeError
    except ModuleNotFoundError as error:
        packages = " ".join(getattr(module, "PACKAGES", ())) or error.name
        told = f"{path.stem} needs {error.name}, which is not installed: pip install {packages}"
        raise MissingExtraError(told) from error
    except AttributeError as error:
        raise InvalidInputError(f"{path} has no class Memory; bench/arena/example.py shows one") from error
    return module


async def evaluate_against(
    memory: Memory, cases: Iterable[Case], system: ModuleType, embedder: Embedder, *, tokens: int = 600
) -> Report:
    """Store what a memory holds in another one, ask that the cases, and return what came of it.

    What the other finds stands in its context as lines, as many as the budget takes. The memory is only read, and the
    other's files are in a folder that is removed.

    Args:
        memory: whose records; a case that names a user is about that user's.
        cases: the questions.
        system: the other memory, of `load_system`.
        embedder: what the other embeds with, if it takes an embedder.
        tokens: the budget of a context, at four characters a token.
    """
    cases = list(cases)
    asked = defaultdict(list)
    for number, case in enumerate(cases):
        asked[case.user or memory.scope.user, case.shared].append(number)
    outcomes: dict[int, Outcome] = {}
    for (user, shared), numbers in asked.items():
        scoped = memory if user == memory.scope.user else memory.scoped(user=user)
        records = [record async for record in scoped.iterate(shared=shared)]
        some = [cases[number] for number in numbers]
        told = await asyncio.to_thread(_outcomes, records, some, user, system, embedder, tokens)
        outcomes |= zip(numbers, told, strict=True)
    return Report([outcomes[number] for number in range(len(cases))])


def _outcomes(
    records: Sequence[Record],
    cases: Sequence[Case],
    user: str | None,
    system: ModuleType,
    embedder: Embedder,
    tokens: int,
) -> list[Outcome]:
    found = {record.id: record for record in records}
    lines = {record.id: f"- {_row(record)['text']}\n" for record in records}
    outcomes = []
    with TemporaryDirectory(prefix="memorist-against-", ignore_cleanup_errors=True) as folder:
        other = system.Memory(folder, _Embeds(embedder) if getattr(system, "EMBEDS", True) else None)
        if records:
            other.add([_row(record) for record in records])
        for case in cases:
            hits = other.search(case.question, max(tokens // 10, DEEPEST), None) if records else []
            ids = [id for id in dict.fromkeys(id for id, _ in hits) if id in found]
            places = (place for place, id in enumerate(ids[:DEEPEST], 1) if is_right(found[id], case))
            text = "".join(lines[id] for id in ids)[: tokens * _CHARACTERS]
            told = any(folded(each) in folded(text) for each in case.find) or any(
                id in case.find and lines[id] in text for id in ids
            )
            outcomes.append(Outcome(case.question, user, next(places, None), told, -(-len(text) // _CHARACTERS), 0.0))
        other.close()
    return outcomes


def _row(record: Record) -> dict[str, Any]:
    """Return a record as the other memory takes it; a person's name stands before what the person says."""
    speaker = str(record.payload.get("speaker") or "user")
    text = record.content if speaker in ("user", "assistant") else f"{speaker}: {record.content}"
    return {
        "id": record.id,
        "text": text,
        "said": record.content,
        "speaker": speaker,
        "session": record.scope.session or "",
        "timestamp": record.at.isoformat(),
    }


class _Embeds:
    """An embedder as the file of a memory calls it: blocking, texts to lists of numbers."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder
        asyncio.run(embedder.ready())
        self.dimensions = embedder.dimensions

    def __call__(self, texts: Sequence[str], query: bool = False) -> list[list[float]]:
        role = Role.QUERY if query else Role.DOCUMENT
        rows: list[list[float]] = asyncio.run(self._embedder.embed(list(texts), role)).tolist()
        return rows
