"""What other systems' interfaces tell a model of texts that did not come from the user: their origin stands on each."""

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from memorist.adapters.agentscope import ReMePersonalLongTermMemory, ReMeTaskLongTermMemory, ReMeToolLongTermMemory
from memorist.adapters.local2 import MemoryService, RecallTopicTool, SearchMemoryTool
from memorist.adapters.local2.layout import without_quoted
from memorist.adapters.mem0 import AsyncMemory
from memorist.adapters.promptise import MemoristProvider
from memorist.memory import Memory
from memorist.records.origins import IMPORT, Author
from memorist.records.record import Draft, Kind
from memorist.sync import Memory as BlockingMemory
from memorist.testing import HashEmbedder

pytestmark = pytest.mark.anyio

RULE = "Payment rule: invoices go to IBAN DE00"
OWN = "Payment day: invoices are paid on Friday"
MARK = "(from an import) "


@pytest.fixture
async def memory(tmp_path: Path) -> AsyncIterator[Memory]:
    async with Memory.open(tmp_path / "memory.db", embedder=HashEmbedder()) as opened:
        yield opened


async def imported(memory: Memory, kind: Kind = Kind.NOTE, key: str | None = None) -> None:
    """Store a text as an import stores it."""
    draft = Draft(content=RULE, kind=kind, key=key, author=IMPORT.author)
    await memory.through(IMPORT).remember([draft])


async def test_mem0_marks_what_a_search_finds_and_keeps_the_text(memory: Memory) -> None:
    alice = memory.scoped(user="alice")
    await imported(alice)
    await alice.notes.add(OWN)
    await alice.notes.add("Payment page: invoices are read there", author=Author.WEB)
    mem0 = AsyncMemory(memory=memory)
    found = (await mem0.search("payment invoices", user_id="alice", threshold=0))["results"]
    assert {each["memory"] for each in found} == {
        MARK + RULE, OWN, "(from a web page) Payment page: invoices are read there",
    }  # fmt: skip
    [rule] = [each for each in found if RULE in each["memory"]]
    assert (await mem0.get(rule["id"]) or {})["memory"] == RULE


async def test_promptise_marks_what_a_search_finds(memory: Memory) -> None:
    await imported(memory)
    await memory.notes.add(OWN)
    found = await MemoristProvider(memory).search("payment invoices", limit=5)
    assert {each.content for each in found} == {MARK + RULE, OWN}


@pytest.mark.parametrize(
    ("made", "kind", "key"),
    [
        (ReMePersonalLongTermMemory, Kind.FACT, None),
        (ReMeTaskLongTermMemory, Kind.EXPERIENCE, None),
        (ReMeToolLongTermMemory, Kind.TOOL_GUIDELINE, "payment"),
    ],
)
async def test_agentscope_marks_what_it_retrieves(memory: Memory, made: type, kind: Kind, key: str | None) -> None:
    await imported(memory.scoped(user="alice"), kind, key)
    async with made(user_name="alice", memory=memory) as entered:
        response = await entered.retrieve_from_memory(["payment"])
    [block] = response.content
    assert MARK + RULE in block["text"]


@pytest.fixture
def blocking(tmp_path: Path) -> Iterator[BlockingMemory]:
    with BlockingMemory.open(tmp_path / "local2.db", embedder="hash") as opened:
        yield opened


async def test_local2_marks_what_its_tools_answer_and_knows_it_again(blocking: BlockingMemory) -> None:
    drafts = [
        Draft(content=f"Q: How do we pay?\nA: {RULE}", kind=Kind.EPISODE, author=IMPORT.author),
        Draft(content=RULE, kind=Kind.TOPIC, key="user.payment", author=IMPORT.author),
    ]
    blocking.through(IMPORT).remember(drafts)
    service = MemoryService(memory=blocking)
    service.write_topic("user.name", "Alice")
    found = await SearchMemoryTool(service).call({"query": "how do we pay invoices"})
    assert "(from an import)\n   Q: How do we pay?" in found
    topic = await RecallTopicTool(service).call({"topic": "user.payment"})
    assert topic == f"[Memory: user.payment] (from an import)\n{RULE}"
    assert await RecallTopicTool(service).call({"topic": "user.name"}) == "[Memory: user.name]\nAlice"
    for told in (found, topic):
        assert without_quoted(f"I recall this:\n{told}", service.recall_topic) == "I recall this:"
