import random
from pathlib import Path
from typing import Any

import apsw
import pytest

from memorist import Draft, Memory
from memorist.errors import InvalidInputError, NotFoundError
from memorist.origins import Author, Origin, TrustRules, parse_authors
from memorist.records import Record

pytestmark = pytest.mark.anyio
RULES = TrustRules()


async def test_a_file_without_origins_opens_and_gets_those_that_its_records_suggest(tmp_path: Path) -> None:
    path = tmp_path / "old.db"
    async with Memory.open(path, embedder="hash") as memory:
        alice = memory.scoped(user="alice")
        await alice.remember("Tea", id="note")
        await alice.remember("Coffee", id="note2", source="import:mem0")
        await alice.revise("note", content="Green tea")
        talk = alice.conversation("monday")
        for role in ("user", "assistant", "tool", "system", "Bob"):
            await talk.append("Hello", role=role)
        await alice.tools.record("What is the time?", "clock", {}, "noon")
        await memory.remember("For all", id="all")
    with apsw.Connection(str(path)) as connection:
        connection.execute("DROP INDEX records_derived")
        for column in ("authors", "door", "derived_from"):
            connection.execute(f"ALTER TABLE records DROP COLUMN {column}")
        connection.execute("UPDATE changes SET before = json_remove(before, '$[21]', '$[20]', '$[19]')")
        connection.execute("PRAGMA user_version = 4")
    async with Memory.open(path, embedder="hash") as memory:
        alice = memory.scoped(user="alice")
        found = {(record.kind, record.id if "note" in record.id else str(record.payload.get("role"))): record.origin
                 async for record in alice.iterate()}  # fmt: skip
        authors = {name: origin.authors.names for (_, name), origin in found.items()}
        assert authors == {
            "note": ["user"], "note2": ["import"], "user": ["user"], "assistant": ["assistant"], "tool": ["tool"],
            "system": ["operator"], "Bob": ["agent"], "None": ["tool"],
        }  # fmt: skip
        assert {origin.door for origin in found.values()} == {None}
        before = (await alice.history("note"))[0].record
        assert before is not None and before.content == "Tea" and before.origin == Origin(authors=Author.USER)
        shared = await memory.get("all")
        assert shared is not None and shared.origin.authors == Author.USER | Author.PEER


async def test_what_is_derived_has_the_authors_of_all_that_it_is_derived_from(everyone: Memory) -> None:
    alice = everyone.scoped(user="alice")
    said = await alice.remember("I moved to Oslo", id="said")
    page = await alice.remember("Oslo is in Sweden", author="web")
    fact = await alice.remember("Lives in Oslo, Sweden", kind="fact", derived_from=[said, page.id])
    topic = await alice.topics.set("home", "Oslo", derived_from=[fact.id], author="assistant")

    assert fact.origin == Origin(authors=Author.USER | Author.WEB, door="python", derived_from=("said", page.id))
    assert topic.origin.authors == Author.USER | Author.WEB | Author.ASSISTANT
    drafts = [Draft(content="Likes tea", id="one", author="tool"), Draft(content="Tea", derived_from=["one"])]
    assert (await alice.remember(drafts))[1].origin.authors == Author.TOOL
    with pytest.raises(NotFoundError, match="to derive from"):
        await everyone.scoped(user="bob").remember("Lives in Oslo", derived_from=["said"])


async def test_no_sequence_of_writes_raises_trust(alice: Memory) -> None:
    chance = random.Random(1)
    trust: dict[str, list[str]] = {}
    for turn in range(300):
        old = [record async for record in alice.iterate(superseded=True)]
        author = chance.choice(Author(255).names[:-1])
        written: Record | None = None
        match chance.randrange(6):
            case 0:
                written = await alice.remember(f"Text {turn}", author=author)
            case 1 if old:
                sources = chance.sample(old, min(len(old), 3))
                who = chance.choice([None, author])
                written = await alice.remember(f"Drawn {turn}", derived_from=sources, author=who)
                assert all(each.origin.authors in written.origin.authors for each in sources)
            case 2 if old:
                written = await alice.revise(chance.choice(old), content=f"Text {turn}", author=author)
            case 3 if old:
                same = chance.choice(old)
                written = await alice.remember(f"New {turn}", id=same.id, author=author, if_exists="replace")
            case 4 if old:
                await alice.rate(chance.choice(old), 1.0)
            case 5:
                lines = [line async for line in alice.export()]
                await alice.load(lines)
        if written is not None:
            trust.setdefault(written.id, []).append(RULES.of(written.origin.authors, "alice"))
    for levels in trust.values():
        ranks = [("low", "medium", "high").index(level) for level in levels]
        assert ranks == sorted(ranks, reverse=True)


def test_the_rules_of_an_operator_order_authors() -> None:
    rules = TrustRules({"assistant": "low", "import": "high"})

    levels = [rules.of(parse_authors(name), "alice") for name in ("user", "assistant", "import")]
    assert levels == ["high", "low", "high"]
    assert RULES.of(Author.USER | Author.ASSISTANT, "alice") == "medium"
    assert RULES.of(Author.USER | Author.PEER, "alice") == "low"
    assert RULES.of(Author.USER | Author.PEER, None) == "high"
    assert RULES.below("high", "alice") == ~(Author.USER | Author.OPERATOR)
    assert RULES.below("low", "alice") == Author(0)
    for given in ({"bob": "low"}, {"user": "none"}):
        with pytest.raises(InvalidInputError, match="there are the authors"):
            TrustRules(given)  # type: ignore[arg-type]  # a level that there is not
    name: Any
    for name in ("bob", [], 5):
        with pytest.raises(InvalidInputError, match="author"):
            parse_authors(name)
