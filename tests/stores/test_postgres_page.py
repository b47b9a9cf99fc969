"""What docs/postgres.md shows works, and its limits are where it says."""

import ast
import inspect
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from inside import core_of
from memorist.errors import InvalidInputError
from memorist.memory import Memory
from memorist.stores.postgres import PostgresOptions, parse_url
from memorist.stores.postgres.options import _OPTIONS

if TYPE_CHECKING:
    from postgres_server import Server

pytestmark = [pytest.mark.anyio, pytest.mark.postgres]

PAGE = (Path(__file__).parents[2] / "docs" / "postgres.md").read_text(encoding="utf-8")
BLOCKS: list[str] = re.findall(r"^```text\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)


def block(words: str) -> str:
    [found] = [each for each in BLOCKS if words in each]
    return found


async def test_the_setup_the_rights_and_the_second_wall(server: "Server") -> None:
    import psycopg

    def statements(words: str) -> list[str]:
        lines = [line.partition(" --")[0] for line in block(words).splitlines() if not line.startswith(("--", "\\"))]
        return [each for each in " ".join(lines).replace("app", "page_app").split(";") if each.strip()]

    with server.connect(database="postgres") as connection:
        for each in statements("CREATE DATABASE memory")[:2]:
            connection.execute(
                each.replace("choose one", "s3cret word").replace("DATABASE memory", "DATABASE page").encode()
            )
    with server.connect(database="page") as connection:
        connection.execute("CREATE EXTENSION IF NOT EXISTS vector")
    url = server.url(user="page_app", database="page")
    async with Memory.open(url, embedder="hash") as memory:
        await memory.scoped(user="alice").remember(["Tea", "Milk"])
        await memory.scoped(user="bob").remember("Coffee")
    with server.connect(database="page") as connection:
        for each in statements("CREATE ROLE worker"):
            connection.execute(each.replace("worker", "worker_of_page").replace("choose one", "s3cret word").encode())
    with server.connect("page_app", "page") as connection:
        seen = []
        for each in statements("SELECT count(*) FROM memorist.records"):
            cursor = connection.execute(each.encode())
            if "count" in each:
                seen += cursor.fetchall()
    assert seen == [(0,), (2,), (3,)]
    async with Memory.open(server.url(user="worker_of_page", database="page"), embedder="hash", user="alice") as alice:
        await alice.remember("Honey")
        assert await alice.count() == 3
    with pytest.raises(psycopg.errors.InsufficientPrivilege), server.connect("worker_of_page", "page") as connection:
        connection.execute("DROP TABLE memorist.records")


async def test_the_program(server: "Server", capsys: pytest.CaptureFixture[str]) -> None:
    source = block("async with Memory.open").replace("postgresql://app:PASSWORD@HOST:5432/memory", server.new_url())
    outcome: Any = eval(compile(source, "page", "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT), {})
    assert inspect.iscoroutine(outcome)
    await outcome
    assert capsys.readouterr().out == "['Prefers homestays when she travels']\n"


def test_every_parameter_is_on_the_page_with_its_default(server: "Server") -> None:
    told = dict(re.findall(r"^\| `(\w+)` \| `?(\w+)`? \|", PAGE, re.MULTILINE))
    assert told.keys() == _OPTIONS.keys()
    given = parse_url(server.url() + "?" + "&".join(f"{name}={value}" for name, value in told.items()))
    assert given == PostgresOptions(conninfo=given.conninfo)


async def test_names_that_are_too_long_together(server: "Server") -> None:
    import random

    chance = random.Random(3)
    long = ["".join(chr(chance.randrange(0x4E00, 0x9F00)) for _ in range(400)) for _ in range(3)]
    async with Memory.open(server.new_url(), tenant=long[0], embedder="hash") as memory:
        user = memory.scoped(user=long[1])
        with pytest.raises(InvalidInputError, match="too long together"):
            await user.remember("Tea", id=long[2])
        await user.remember("Tea", id="short")
        assert await user.count() == 1


async def test_a_text_of_more_words_than_the_index_takes(server: "Server") -> None:
    async with Memory.open(server.new_url(), user="alice", embedder="hash") as alice:
        record = await alice.remember(" ".join(f"word{number}" for number in range(150_000)))
        store = core_of(alice).store
        wall = record.scope.wall
        assert len(await store.search_words(wall, ["word7"], 9)) == 1
        assert await store.search_words(wall, ["word149999"], 9) == []
        again = await alice.get(record.id)
        assert again is not None
        assert again.content == record.content
