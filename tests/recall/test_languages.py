"""Memories in several languages, and memories that an earlier version stored with the English model alone."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import apsw
import pytest

from memorist import Memory
from memorist.config import Settings
from memorist.embedders import BundledEmbedder, OnnxEmbedder, Role, Vectors
from memorist.errors import EmbedderMismatchError
from memorist.languages import is_english
from memorist.stores.keys import new_key

pytestmark = [pytest.mark.anyio, pytest.mark.slow]

FAMILY = (
    "Oma kommt am Samstag mit dem Zug aus Kassel.",
    "Dad put the spare key under the blue flowerpot.",
    "Die Heizung wird nächste Woche abgelesen.",
    "Mia is allergic to walnuts.",
    "Papa hat den Wocheneinkauf schon bestellt.",
)
TOOLS = (
    '{"tool": "deploy", "status": "failed", "reason": "disk full on node-7"}',
    "昨日のデプロイはどうなった？",
    "ディスクがいっぱいで失敗しました。",
    "pytest: 412 passed, 3 skipped in 61.20s",
    "来週の月曜日にお客様と打ち合わせがあります。",
)


async def best(memory: Memory, question: str) -> str:
    hits = await memory.recall(question, limit=1)
    return hits[0].record.content


@pytest.mark.parametrize(
    ("question", "wanted"),
    [
        ("Wo liegt der Ersatzschlüssel?", FAMILY[1]),
        ("When does grandma arrive?", FAMILY[0]),
        ("Welche Nüsse verträgt Mia nicht?", FAMILY[3]),
        ("Has the grocery order been placed?", FAMILY[4]),
        ("Where is the spare key?", FAMILY[1]),
        ("Wann kommt jemand wegen der Heizung?", FAMILY[2]),
    ],
)
async def test_a_family_of_two_languages_asks_in_either(question: str, wanted: str) -> None:
    async with Memory.open(":memory:") as memory:
        for each in FAMILY:
            await memory.remember(each)
        assert await best(memory, question) == wanted


@pytest.mark.parametrize(
    ("question", "wanted"),
    [
        ("どのノードのディスクが足りなくなった？", (TOOLS[0], TOOLS[2])),
        ("When is the meeting with the customer?", (TOOLS[4],)),
    ],
)
async def test_english_output_of_tools_beside_a_chat_in_japanese(question: str, wanted: tuple[str, ...]) -> None:
    async with Memory.open(":memory:") as memory:
        for each in TOOLS:
            await memory.remember(each)
        assert await best(memory, question) in wanted


async def test_an_earlier_memory_opens_as_it_is_and_reindex_brings_it_over(tmp_path: Path) -> None:
    file = tmp_path / "old.db"
    async with Memory.open(file, embedder=OnnxEmbedder()) as earlier:
        for each in (*FAMILY, *TOOLS):
            await earlier.remember(each)
        before = [(hit.record.id, hit.score) for hit in await earlier.recall("Where is the spare key?")]
    async with Memory.open(file) as memory, Memory.open(file) as other:
        found = [(hit.record.id, hit.score) for hit in await memory.recall("Where is the spare key?")]
        assert found == before
        assert await best(other, "Where is the spare key?") == FAMILY[1]
        await memory.remember("The boiler was serviced in May.")
        async with Memory.open(file, embedder=OnnxEmbedder()) as earlier:
            assert await best(earlier, "When was the boiler serviced?") == "The boiler was serviced in May."
        assert await memory.admin.reindex() == 11
        assert await best(memory, "When does grandma arrive?") == FAMILY[0]
        # Another process that had the file open: it writes and asks as the store now is.
        await other.remember("Der Hund heißt Bruno.")
        assert await best(other, "What is the name of the dog?") == "Der Hund heißt Bruno."
        assert await best(memory, "What is the name of the dog?") == "Der Hund heißt Bruno."
        after = await memory.recall("Where is the spare key?", limit=1)
        assert after[0].record.content == FAMILY[1]
        assert after[0].similarity == pytest.approx(dict(await _similarities(memory))[FAMILY[1]], abs=1e-6)
        with pytest.raises(EmbedderMismatchError, match="bundled@"):
            async with Memory.open(file, embedder=OnnxEmbedder()):
                pass


@pytest.fixture(params=["file", "qdrant", "chroma", "encrypted", pytest.param("postgres", marks=pytest.mark.postgres)])
def settings(request: pytest.FixtureRequest, tmp_path: Path) -> Settings:
    """Where a bilingual memory is stored."""
    if request.param == "postgres":
        return Settings(url=request.getfixturevalue("server").new_url())
    if request.param == "encrypted":
        if not hasattr(apsw, "mc_version"):
            pytest.skip("needs apsw-sqlite3mc")
        (tmp_path / "key").write_text(new_key())
        return Settings(url=str(tmp_path / "memory.db"), key_from=f"file:{tmp_path / 'key'}")
    if request.param in (
        "qdrant",
        "chroma",
    ):  # which finds the candidates, since no more than two records are ranked whole
        pytest.importorskip({"qdrant": "qdrant_client", "chroma": "chromadb"}[request.param])
        index = f"{request.param}:{tmp_path / request.param}"
        return Settings(url=str(tmp_path / "memory.db"), index=index, largest_index=2)
    return Settings(url=str(tmp_path / "memory.db"))


class Counting(BundledEmbedder):
    """Notes the texts that it embeds as documents."""

    def __init__(self) -> None:
        super().__init__()
        self.embedded: list[str] = []

    def newest(self) -> BundledEmbedder:
        newest = Counting()
        newest.embedded = self.embedded
        return newest

    async def embed(self, texts: Sequence[str], role: Role = Role.DOCUMENT) -> Vectors:
        self.embedded += texts if role is Role.DOCUMENT else ()
        return await super().embed(texts, role)


async def test_every_store_brings_a_bilingual_memory_over_and_embeds_anew_what_is_not_english(
    settings: Settings,
) -> None:
    async with Memory.open(settings=replace(settings, embedder=OnnxEmbedder())) as earlier:
        await earlier.remember(list(FAMILY))
    counting = Counting()
    async with Memory.open(settings=replace(settings, embedder=counting)) as memory:
        before = dict(await _similarities(memory))
        assert await memory.admin.reindex() == len(FAMILY)
        assert sorted(counting.embedded) == sorted(each for each in FAMILY if not is_english(each))
        assert dict(await _similarities(memory))[FAMILY[1]] == pytest.approx(before[FAMILY[1]], abs=1e-5)
        assert await best(memory, "When does grandma arrive?") == FAMILY[0]
        assert await best(memory, "Wo liegt der Ersatzschlüssel?") == FAMILY[1]
        lines = [line async for line in memory.export()]
    async with Memory.open(":memory:") as copy:
        assert (await copy.load(lines)).added == len(FAMILY)
        assert await best(copy, "Wo liegt der Ersatzschlüssel?") == FAMILY[1]
        assert await best(copy, "When does grandma arrive?") == FAMILY[0]


async def _similarities(memory: Memory) -> list[tuple[str, float]]:
    hits = await memory.recall("Where is the spare key?", limit=20, mode="dense")
    return [(hit.record.content, hit.similarity) for hit in hits]


async def test_the_first_recall_tells_once_what_reindex_would_better(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    file = tmp_path / "old.db"
    async with Memory.open(file, embedder=OnnxEmbedder()) as earlier:
        for each in FAMILY:
            await earlier.remember(each)
    async with Memory.open(file) as memory:
        await memory.recall("Where is the spare key?")
        await memory.recall("Where is the spare key?")
        [said] = [each.message for each in caplog.records if each.name == "memorist.languages"]
        assert said.startswith("3 of 5 records are in other languages than English (German)")
        await memory.admin.reindex()
    caplog.clear()
    async with Memory.open(file) as memory:
        await memory.recall("Where is the spare key?")
    assert not [each for each in caplog.records if each.name == "memorist.languages"]


async def test_an_interrupted_reindex_is_resumed_and_found_as_before_meanwhile(tmp_path: Path) -> None:
    file = tmp_path / "old.db"
    async with Memory.open(file, embedder=OnnxEmbedder()) as earlier:
        for each in FAMILY:
            await earlier.remember(each)

    def stop(done: int, total: int) -> None:
        raise KeyboardInterrupt

    async with Memory.open(file) as memory:
        with pytest.raises(KeyboardInterrupt):
            await memory.admin.reindex(progress=stop)
        assert await best(memory, "Where is the spare key?") == FAMILY[1]
    async with Memory.open(file) as memory:
        await memory.admin.reindex()
        assert await best(memory, "When does grandma arrive?") == FAMILY[0]


async def test_what_is_purged_leaves_no_text_behind_in_any_language(tmp_path: Path) -> None:
    file = tmp_path / "memory.db"
    async with Memory.open(file) as memory:
        alice = memory.scoped(user="alice")
        await alice.remember("Die Schlüsselkarte liegt im Kühlschrank.")
        await alice.remember("鍵は冷蔵庫の中にある。")
        await alice.purge()
        assert await alice.recall("Where is the key?") == []
    for path in tmp_path.iterdir():
        raw = path.read_bytes()
        assert "Kühlschrank".encode() not in raw
        assert "冷蔵庫".encode() not in raw


@pytest.mark.parametrize(
    "question", ["花店在哪条街上？", "Wann fährt der Nachtzug an die Küste?", "Où se trouve la clé de la cave ?"]
)
async def test_an_unrelated_question_is_as_near_as_its_background_in_any_language(question: str) -> None:
    texts = {
        "花": ["我昨天买了一辆红色的自行车", "下周要交税了", "他喜欢在河边跑步"],
        "W": ["Der Drucker im dritten Stock ist leer", "Meine Oma kocht Suppe mit Dill", "Das Konzert fällt aus"],
        "O": ["Mon frère a vendu sa moto", "Le dentiste conseille une brosse souple", "Le trafic était terrible"],
    }[question[0]]
    async with Memory.open(":memory:") as memory:
        await memory.remember(texts)
        hits = await memory.recall(question, limit=3, explain=True)
        nearer = [hit.signals["meaning"] - hit.signals["background"] for hit in hits]
        assert abs(sum(nearer) / len(nearer)) < 0.08
