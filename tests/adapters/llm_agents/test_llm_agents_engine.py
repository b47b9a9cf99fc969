"""The store on the engine: both modes, what is embedded, and the rest of a store's promises."""

from collections.abc import AsyncIterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from episodes import NOON, episode, instructions
from memorist import Memory as Engine
from memorist.adapters.llm_agents import (
    Episode,
    EpisodeNotFoundError,
    MemoristMemoryStore,
    RecallMode,
    reflective_memory,
    similarity_memory,
)
from memorist.errors import InvalidInputError, StoreUnavailableError, UnknownArgumentError
from memorist.sync import Memory as Blocking
from memorist.testing import HashEmbedder

pytestmark = pytest.mark.anyio


@pytest.fixture
async def engine(tmp_path: Path) -> AsyncIterator[Engine]:
    async with Engine.open(tmp_path / "memory.db", embedder=HashEmbedder()) as engine:
        yield engine


@pytest.fixture
def store(engine: Engine) -> MemoristMemoryStore:
    return MemoristMemoryStore(engine)


async def test_search_finds_what_matters_to_the_task(store: MemoristMemoryStore) -> None:
    for text in ("Book a flight to Oslo", "Sort the invoices of May", "Bake bread"):
        await store.write(episode(text))
    assert store.recall_mode is RecallMode.SEARCH
    assert instructions(await store.recall("a flight to Bergen"))[0] == "Book a flight to Oslo"


async def test_recent_gives_the_newest(engine: Engine) -> None:
    store = MemoristMemoryStore(engine, max_results=2, recall_mode=RecallMode.RECENT)
    for name, minutes in (("b", 2), ("a", 1), ("c", 3)):
        await store.write(episode(name, minutes=minutes))
    assert instructions(await store.recall("no matter", filter={"no": "matter"})) == ["c", "b"]


@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"result": None, "error": "ValueError: no seats"},
        {"result": None},
        {"metadata": {"reflection": "Book early.", "ünï": ""}},
        {"completed_at": NOON.astimezone(UTC)},
        {"rollout": ""},
    ],
)
async def test_an_episode_comes_back_as_it_was(store: MemoristMemoryStore, fields: dict[str, object]) -> None:
    told = episode("Book a flight", **fields)  # type: ignore[arg-type]
    await store.write(told)
    assert await store.recall("flight") == [told]


async def test_an_error_comes_back_as_its_type_and_message(store: MemoristMemoryStore) -> None:
    await store.write(episode("Book a flight", None, error=KeyError("seat")))
    assert (await store.recall("flight"))[0].error == "KeyError: 'seat'"


async def test_what_is_embedded_is_all_but_id_rollout_and_time(engine: Engine) -> None:
    told = episode("Book a flight", "Booked", metadata={"agent": "travel"}, rollout="secret steps")
    await MemoristMemoryStore(engine).write(told)
    record = await engine.get(told.id_)
    assert record is not None and record.text == "task: Book a flight\nresult: Booked\nagent: travel"


async def test_what_is_embedded_can_be_chosen(engine: Engine) -> None:
    store = MemoristMemoryStore(engine, key_fn=lambda each: each.metadata["about"])
    told = episode("Book a flight", metadata={"about": "aviation"})
    await store.write(told)
    record = await engine.get(told.id_)
    assert record is not None and record.text == "aviation"
    assert await store.recall("aviation", score_threshold=0.99) == [told]


async def test_a_threshold_keeps_out_what_is_less_similar(store: MemoristMemoryStore) -> None:
    await store.write(episode("Book a flight to Oslo"))
    await store.write(episode("Bake bread"))
    found = await store.recall("task: Book a flight to Oslo result: done", score_threshold=0.9)
    assert instructions(found) == ["Book a flight to Oslo"]
    assert await store.recall("quantum chromodynamics", score_threshold=0.9) == []


async def test_no_threshold_keeps_nothing_out(store: MemoristMemoryStore) -> None:
    await store.write(episode("Bake bread"))
    assert instructions(await store.recall("Bake bread", score_threshold=None)) == ["Bake bread"]


async def test_a_result_may_hold_anything_and_a_time_be_any(store: MemoristMemoryStore) -> None:
    await store.write(episode("Bake bread", "burnt\0black", completed_at=datetime.min))
    [found] = await store.recall("Bake bread")
    assert found.result is not None and found.result.content == "burnt\0black"
    assert found.completed_at == datetime.min


async def test_a_filter_keeps_to_metadata(store: MemoristMemoryStore) -> None:
    for team in ("red", "blue"):
        await store.write(episode(f"Plan for {team}", metadata={"team": team}))
    assert instructions(await store.recall("Plan", filter={"team": "blue"})) == ["Plan for blue"]
    assert len(await store.recall("Plan", filter={"team": {"$in": ["red", "blue"]}})) == 2
    with pytest.raises(InvalidInputError):
        await store.recall("Plan", filter={"team": {"$no": 1}})
    with pytest.raises(TypeError):
        await store.recall("Plan", threshold=1)


@pytest.mark.parametrize(
    ("argument", "instead"), [("limit", "max_results"), ("where", "filter"), ("min_similarity", "score_threshold")]
)
async def test_an_argument_that_the_store_sets_is_refused_by_name(
    store: MemoristMemoryStore, argument: str, instead: str
) -> None:
    with pytest.raises(UnknownArgumentError, match=f"recall takes no '{argument}': .*{instead}"):
        await store.recall("trip", **{argument: 2})
    with pytest.raises(UnknownArgumentError, match="recall takes no argument 'k'"):
        await store.recall("trip", k=2)


async def test_never_more_than_asked_for(engine: Engine) -> None:
    store = MemoristMemoryStore(engine, max_results=3)
    for n in range(6):
        await store.write(episode(f"Book flight {n}"))
    assert len(await store.recall("Book flight")) == 3


async def test_the_same_id_replaces(store: MemoristMemoryStore) -> None:
    await store.write(episode("Bake bread", id_="e-1"))
    await store.write(episode("Book a flight", id_="e-1"))
    assert await store.count() == 1
    assert instructions(await store.recall("flight")) == ["Book a flight"]


async def test_an_episode_can_be_updated_and_deleted(store: MemoristMemoryStore) -> None:
    told = episode("Bake bread", id_="e-1")
    await store.write(told)
    told.metadata["reflection"] = "Preheat."
    await store.update(told)
    assert (await store.recall("bread"))[0].metadata == {"reflection": "Preheat."}
    await store.delete("e-1")
    assert await store.count() == 0 and await store.recall("bread") == []


async def test_an_update_never_brings_back_what_is_deleted_meanwhile(tmp_path: Path) -> None:
    meanwhile = False

    def key(told: Episode) -> str:  # called once the episode has been seen to be there
        if meanwhile:
            with Blocking.open(tmp_path / "m.db", embedder=HashEmbedder()) as other:
                assert other.forget(told.id_) == 1
        return told.task.instruction

    async with Engine.open(tmp_path / "m.db", embedder=HashEmbedder()) as engine:
        store = MemoristMemoryStore(engine, key_fn=key)
        await store.write(episode("Bake bread", id_="a"))
        meanwhile = True
        with pytest.raises(EpisodeNotFoundError, match=r"^Episode 'a' not found in MemoristMemoryStore\.$"):
            await store.update(episode("Bake cake", id_="a"))
        assert await store.count() == 0


async def test_what_is_not_there_cannot_be_deleted_or_updated(store: MemoristMemoryStore) -> None:
    for work in (store.delete("gone"), store.update(episode("a", id_="gone"))):
        with pytest.raises(EpisodeNotFoundError, match=r"^Episode 'gone' not found in MemoristMemoryStore\.$"):
            await work


async def test_the_summary_names_the_newest_and_the_oldest(tmp_path: Path) -> None:
    store = MemoristMemoryStore(tmp_path / "m.db", embedder="hash")
    assert await store.summary() == f"MemoristMemoryStore: 0 episodes | path={tmp_path}/m.db"
    await store.write(episode("n" * 100))
    await store.write(episode("old", minutes=-60))
    assert (await store.summary()).splitlines()[1:] == [
        f"  newest: 2026-05-30 12:00:00 | {'n' * 60}",
        "  oldest: 2026-05-30 11:00:00 | old",
    ]
    await store.close()


def test_a_summary_never_shows_a_password() -> None:
    assert MemoristMemoryStore("sqlite://me:secret@host/db").path == "sqlite://host/db"


async def test_names_keep_stores_in_one_memory_apart(engine: Engine) -> None:
    red, blue = MemoristMemoryStore(engine, "red"), MemoristMemoryStore(engine, "blue")
    await red.write(episode("Plan for red", id_="r"))
    assert (await red.count(), await blue.count()) == (1, 0)
    assert await blue.recall("Plan") == []
    with pytest.raises(EpisodeNotFoundError):
        await blue.delete("r")


async def test_one_episode_in_stores_of_several_names_stays_in_each(engine: Engine) -> None:
    stores = [MemoristMemoryStore(engine, name) for name in ("red", "blue", None)]
    for store, lesson in zip(stores, ("early", "late", "never"), strict=True):
        await store.write(episode("Book a flight", id_="e-1", metadata={"lesson": lesson}))
    for store, lesson in zip(stores[:2], ("early", "late"), strict=True):
        [found] = await store.recall("flight")
        assert (found.id_, found.metadata) == ("e-1", {"lesson": lesson})
    await stores[0].update(episode("Book a train", id_="e-1"))
    await stores[1].delete("e-1")
    assert instructions(await stores[0].recall("train")) == ["Book a train"]
    assert [await store.count() for store in stores[:2]] == [1, 0]


async def test_the_recipes_share_one_database_by_default(tmp_path: Path) -> None:
    plain, noted = (
        similarity_memory(memory=tmp_path / "m.db", embedder="hash"),
        reflective_memory(lambda messages: "Book early.", memory=tmp_path / "m.db", embedder="hash"),
    )
    told = episode("Book a flight")
    await noted.record(told)
    await plain.record(told)
    assert (await noted.store.recall("flight"))[0].metadata == {"reflection": "Book early."}
    assert (await plain.store.recall("flight"))[0].metadata == {}
    await plain.close()
    await noted.close()


async def test_an_episode_that_others_stored_can_be_deleted(engine: Engine) -> None:
    store = MemoristMemoryStore(engine, "red")
    id = (await engine.scoped(agent="red").episodes.add(question="Capital of France?", answer="Paris.")).id
    await store.delete(id)
    assert await store.count() == 0


async def test_users_are_walls(engine: Engine) -> None:
    alices = MemoristMemoryStore(engine.scoped(user="alice"))
    bobs = MemoristMemoryStore(engine.scoped(user="bob"))
    await alices.write(episode("Plan a surprise"))
    assert await bobs.recall("Plan") == [] and await bobs.count() == 0


async def test_a_file_is_opened_at_the_first_call_and_there_after_a_restart(tmp_path: Path) -> None:
    memory = similarity_memory("trips", memory=tmp_path / "m.db", embedder="hash")
    assert not (tmp_path / "m.db").exists()
    told = episode("Book a flight")
    await memory.record(told)
    await memory.close()
    memory = similarity_memory("trips", memory=tmp_path / "m.db", embedder="hash")
    assert await memory.recall(told.task) == str(told)
    await memory.close()


async def test_a_store_that_cannot_be_opened_raises(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("no folder")
    store = MemoristMemoryStore(tmp_path / "file" / "m.db", embedder="hash")
    for _ in range(2):
        with pytest.raises(StoreUnavailableError):
            await store.recall("anything")


async def test_episodes_that_others_stored_are_found_too(engine: Engine, store: MemoristMemoryStore) -> None:
    await engine.episodes.add(question="Capital of France?", answer="Paris.", metadata={"stars": 5})
    [found] = await store.recall("Capital of France?")
    assert (found.task.instruction, str(found.result)) == ("Capital of France?", "Paris.")
    assert found.metadata == {"stars": "5"}
