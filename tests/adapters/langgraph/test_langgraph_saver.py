"""The checkpointer: LangGraph's own conformance suite, and real graphs on it."""

import operator
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Annotated, Any, TypedDict

import pytest

pytest.importorskip("langgraph.graph")

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.base.id import uuid6
from langgraph.graph import END, START, StateGraph
from langgraph.store.base import BaseStore
from langgraph.types import Command, interrupt

from memorist import Memory, sync
from memorist.adapters.langgraph import MemoristSaver, MemoristStore
from memorist.agents import after_turn
from memorist.records.record import Kind
from memorist.testing import HashEmbedder

pytestmark = pytest.mark.anyio

MONDAY: RunnableConfig = {"configurable": {"thread_id": "monday"}}


async def test_all_of_the_published_conformance_suite_passes(everyone: Memory) -> None:
    conformance = pytest.importorskip("langgraph.checkpoint.conformance")
    users = iter(range(100))

    @conformance.checkpointer_test(name="MemoristSaver")  # type: ignore[untyped-decorator]
    async def saver() -> AsyncIterator[MemoristSaver]:
        yield MemoristSaver(everyone.scoped(user=f"u{next(users)}"))

    report = await conformance.validate(saver)
    assert [failure for result in report.results.values() for failure in result.failures] == []
    assert report.passed_all()
    assert report.conformance_level() == "FULL"
    assert sum(result.tests_passed for result in report.results.values()) == 81


class State(TypedDict):
    words: Annotated[list[str], operator.add]


def _graph(saver: MemoristSaver) -> Any:
    def first(state: State) -> dict[str, list[str]]:
        return {"words": ["first"]}

    def ask(state: State) -> dict[str, list[str]]:
        return {"words": [interrupt("and then?")]}

    graph = StateGraph(State).add_node("first", first).add_node("ask", ask)
    return graph.add_edge(START, "first").add_edge("first", "ask").add_edge("ask", END).compile(checkpointer=saver)


def test_an_interrupted_graph_goes_on_after_a_restart(tmp_path: Path) -> None:
    config: Any = {"configurable": {"thread_id": "monday"}}
    with sync.Memory.open(tmp_path / "memory.db", embedder=HashEmbedder()) as memory:
        halted = _graph(MemoristSaver(memory)).invoke({"words": ["start"]}, config)
        assert halted["__interrupt__"][0].value == "and then?"
    with sync.Memory.open(tmp_path / "memory.db", embedder=HashEmbedder()) as memory:
        graph = _graph(MemoristSaver(memory))
        assert graph.invoke(Command(resume="last"), config)["words"] == ["start", "first", "last"]
        steps = [each.values.get("words") for each in graph.get_state_history(config)]
        assert steps == [["start", "first", "last"], ["start", "first"], ["start"], []]
        assert memory.recall("start first last") == []
        graph.checkpointer.delete_thread("monday")
        assert memory.count(kind=tuple(Kind)) == 0


async def test_one_user_does_not_see_the_threads_of_another(alice: Memory, bob: Memory) -> None:
    config: Any = {"configurable": {"thread_id": "monday"}}
    await _graph(MemoristSaver(alice)).ainvoke({"words": ["start"]}, config)
    assert (await _graph(MemoristSaver(bob)).aget_state(config)).values == {}
    assert (await _graph(MemoristSaver(alice)).aget_state(config)).values == {"words": ["start", "first"]}
    assert await alice.count(kind=tuple(Kind), session="monday") == await alice.count(kind=tuple(Kind)) > 0


async def test_threads_are_in_no_list_that_a_person_reads(alice: Memory) -> None:
    for thread in range(3):
        await _graph(MemoristSaver(alice)).ainvoke({"words": ["start"]}, {"configurable": {"thread_id": str(thread)}})
    await alice.topics.set("language", "Elixir")
    assert await alice.topics.list() == {"language": "Elixir"}
    assert [record.key for record in await alice.recent()] == ["language"]
    assert await alice.count() == 1
    assert await alice.count(kind="state") > 3
    assert await alice.forget(session="0") > 0
    assert await alice.count(kind="state", session="0") == 0


async def test_pruning_keeps_what_delta_channels_are_rebuilt_from(alice: Memory) -> None:
    delta = pytest.importorskip("langgraph.channels.delta")

    def joined(words: list[str], writes: list[list[str]]) -> list[str]:
        return [*words, *(word for write in writes for word in write)]

    channel = delta.DeltaChannel(joined, list, snapshot_frequency=4)
    schema: Any = TypedDict("schema", {"words": Annotated[list[str], channel]})  # type: ignore[operator, unused-ignore]
    saver = MemoristSaver(alice)
    graph: Any = StateGraph(schema).add_node("echo", lambda state: {"words": ["echo"]})
    graph = graph.add_edge(START, "echo").add_edge("echo", END).compile(checkpointer=saver)
    config: Any = {"configurable": {"thread_id": "monday"}}
    for turn in range(5):
        await graph.ainvoke({"words": [str(turn)]}, config)
    before = (await graph.aget_state(config)).values
    stored = len([each async for each in saver.alist(config)])
    await saver.aprune(["monday"])
    assert len([each async for each in saver.alist(config)]) < stored
    assert (await graph.aget_state(config)).values == before
    assert len(before["words"]) == 10


async def test_an_unknown_strategy_is_refused(alice: Memory) -> None:
    with pytest.raises(ValueError, match="keep_latest"):
        await MemoristSaver(alice).aprune(["monday"], strategy="keep_some")


def _messages_graph(memory: Memory, saver: MemoristSaver, store: MemoristStore) -> Any:
    async def talk(state: State, *, store: BaseStore) -> dict[str, list[str]]:
        await after_turn(memory, [*state["words"], ("assistant", "Noted.")], session="monday")
        await store.aput(("facts",), "lodging", {"text": "She prefers homestays"})
        return {"words": ["Noted."]}

    graph = StateGraph(State).add_node("talk", talk)
    return graph.add_edge(START, "talk").add_edge("talk", END).compile(checkpointer=saver, store=store)


@pytest.mark.parametrize("whole", [False, True])
async def test_a_thread_is_forgotten_everywhere_where_that_is_wanted(alice: Memory, whole: bool) -> None:
    saver, store = MemoristSaver(alice, forget_threads=whole), MemoristStore(alice)
    await store.aput(("facts",), "diet", {"text": "She eats no meat"})
    await _messages_graph(alice, saver, store).ainvoke({"words": ["I like homestays"]}, MONDAY)
    await after_turn(alice, "And trains", session="tuesday")
    assert await store.aget(("facts",), "lodging") is not None
    await saver.adelete_thread("monday")
    assert await saver.aget_tuple(MONDAY) is None
    left = {record.content async for record in alice.iterate(kind=tuple(Kind))}
    assert {"She eats no meat", "And trains"} <= left
    assert ({"I like homestays", "Noted.", "She prefers homestays"} & left == set()) == whole


async def test_a_delta_channel_is_rebuilt_along_its_own_branch(alice: Memory) -> None:
    saver = MemoristSaver(alice)
    configs: list[RunnableConfig] = [{"configurable": {"thread_id": "monday", "checkpoint_ns": ""}}]
    for step, parent in enumerate((0, 1, 2, 2, 4)):  # two branches after the second step
        held = {"talk": ["begun"]} if step == 0 else {}
        checkpoint: Any = {"v": 1, "id": str(uuid6(clock_seq=step)), "channel_values": held, "channel_versions": {}}
        configs.append(await saver.aput(configs[parent], checkpoint, {"step": step}, {}))
        await saver.aput_writes(configs[-1], [("talk", step), ("other", -step)], f"task{step}")
    history = await saver.aget_delta_channel_history(config=configs[-1], channels=["talk", "other"])
    assert history["talk"]["seed"] == ["begun"]
    assert [value for _, _, value in history["talk"]["writes"]] == [0, 1, 3]
    assert "seed" not in history["other"]
    assert [value for _, _, value in history["other"]["writes"]] == [0, -1, -3]
    assert await saver.aget_delta_channel_history(config=configs[1], channels=["talk"]) == {"talk": {"writes": []}}
    assert await BaseCheckpointSaver.aget_delta_channel_history(
        saver, config=configs[-1], channels=["talk", "other"]
    ) == dict(history)


async def _pieces(memory: Memory) -> dict[str, str]:
    """Return what is stored of a state apart from its checkpoints, by id."""
    records = memory.iterate(kind="state", key_prefix="langgraph.thread:")
    return {each.id: each.content async for each in records if ":p:" in each.id}


async def test_a_step_stores_what_it_changed_of_a_long_state(alice: Memory) -> None:
    config: Any = {"configurable": {"thread_id": "monday"}}
    graph: Any = StateGraph(State).add_node("echo", lambda state: {"words": ["echo"]})
    graph = graph.add_edge(START, "echo").add_edge("echo", END).compile(checkpointer=MemoristSaver(alice))
    words = [f"word number {number}" for number in range(1000)]
    await graph.ainvoke({"words": words}, config)
    before = await _pieces(alice)
    for saver in (MemoristSaver(alice), graph.checkpointer):  # also one that has not seen the thread
        graph.checkpointer = saver
        assert (await graph.ainvoke({"words": ["again"]}, config))["words"][:1000] == words
    after = await _pieces(alice)
    new = sum(len(text) for id, text in after.items() if id not in before)
    assert 0 < new < sum(map(len, before.values()))
    assert (await graph.aget_state(config)).values["words"] == [*words, "echo", "again", "echo", "again", "echo"]
    assert await alice.recall("word number 7", kind=tuple(Kind)) == []
    assert await alice.vectors(list(after)) == {}


async def test_pruning_and_deleting_leave_no_piece_that_nothing_names(alice: Memory) -> None:
    saver, config = MemoristSaver(alice), dict[str, Any](configurable={"thread_id": "monday"})
    graph = _graph(saver)
    for turn in range(3):
        await graph.ainvoke({"words": [f"turn {turn} word {number}" for number in range(200)]}, config)
    before, values = await _pieces(alice), (await graph.aget_state(config)).values
    await saver.acopy_thread("monday", "tuesday")
    await saver.aprune(["monday"])
    assert (await graph.aget_state(config)).values == values
    assert (await graph.aget_state({"configurable": {"thread_id": "tuesday"}})).values == values
    await saver.adelete_thread("tuesday")
    assert 0 < len(await _pieces(alice)) < len(before)
    await saver.aprune(["monday"], strategy="delete")
    assert await alice.count(kind="state") == 0


async def test_a_thread_goes_on_from_an_earlier_step_beside_what_came_after(alice: Memory) -> None:
    config: Any = {"configurable": {"thread_id": "monday"}}
    graph = _graph(MemoristSaver(alice))
    words = [f"word number {number}" for number in range(300)]
    await graph.ainvoke({"words": words}, config)
    steps = [each async for each in graph.aget_state_history(config)]
    early = next(each for each in steps if each.next == ("first",))
    await graph.aupdate_state(early.config, {"words": ["aside"]}, as_node="first")
    assert (await graph.aget_state(config)).values["words"] == [*words, "aside"]
    assert (await graph.aget_state(steps[0].config)).values["words"] == [*words, "first"]


async def test_a_step_whose_thread_another_process_deleted_meanwhile_is_stored_whole(alice: Memory) -> None:
    saver = MemoristSaver(alice)
    graph = _graph(saver)
    words = [f"word number {number}" for number in range(300)]
    config: Any = {"configurable": {"thread_id": "monday"}}
    await graph.ainvoke({"words": words}, config)
    held = await saver.aget_tuple(config)
    assert held is not None
    await MemoristSaver(alice).adelete_thread("monday")
    later = {**held.checkpoint, "id": "1ffffff0-0000-6000-8000-000000000000"}
    await saver.aput(held.config, later, held.metadata, {})  # type: ignore[arg-type]
    kept = await MemoristSaver(alice).aget_tuple(config)
    assert kept is not None
    assert kept.checkpoint["channel_values"]["words"] == [*words, "first"]
