"""With Promptise itself: its agent on our providers, ours on its caller, its except clauses on our errors."""

from typing import Any

import pytest

from memorist.adapters.promptise import CallerContext, InMemoryProvider, MemoryAgent, MemoryScope, _caller_ctx_var

pytest.importorskip("promptise")

pytestmark = pytest.mark.anyio


class Graph:
    """An agent that notes what it is asked."""

    def __init__(self) -> None:
        self.asked: list[Any] = []

    async def ainvoke(self, input: Any, config: Any = None, **kwargs: Any) -> Any:
        self.asked = [each if isinstance(each, dict) else each.content for each in input["messages"]]
        return {"messages": [{"role": "assistant", "content": "In a homestay."}]}


def asked() -> dict[str, Any]:
    return {"messages": [{"role": "user", "content": "homestay"}]}


async def per_user() -> InMemoryProvider:
    provider = InMemoryProvider(scope=MemoryScope.PER_USER)
    for owner in ("alice", "acme::alice"):
        await provider.add(f"homestay of {owner}", user_id=owner)
    return provider


@pytest.mark.parametrize("agent", ["ours", "theirs"])
@pytest.mark.parametrize(("tenant", "told"), [(None, "homestay of alice"), ("acme", "homestay of acme::alice")])
async def test_the_caller_of_promptise_says_whose_memory_it_is(agent: str, tenant: str | None, told: str) -> None:
    from promptise.agent import CallerContext as TheirCaller
    from promptise.agent import _caller_ctx_var as their_caller
    from promptise.memory import MemoryAgent as Theirs

    graph = Graph()
    wrapped: Any = (MemoryAgent if agent == "ours" else Theirs)(graph, await per_user())
    token = their_caller.set(TheirCaller(user_id="alice", tenant_id=tenant))
    try:
        await wrapped.ainvoke(asked())
    finally:
        their_caller.reset(token)
    assert f"- {told}\n" in graph.asked[0]
    assert graph.asked[0].count("\n- ") == 1


async def test_our_own_caller_has_a_tenant_too() -> None:
    graph = Graph()
    token = _caller_ctx_var.set(CallerContext(user_id="alice", tenant_id="acme"))
    try:
        await MemoryAgent(graph, await per_user()).ainvoke(asked())
    finally:
        _caller_ctx_var.reset(token)
    assert "- homestay of acme::alice\n" in graph.asked[0]
    wrongs: list[dict[str, Any]] = [{"user_id": "a::b"}, {"user_id": "a", "tenant_id": "b:"}, {"tenant_id": " "}]
    for wrong in wrongs:
        with pytest.raises(ValueError, match="must"):
            CallerContext(**wrong)


async def test_their_except_clause_catches_our_error() -> None:
    from promptise.memory import MemoryIsolationError as Theirs

    with pytest.raises(Theirs, match=r"InMemoryProvider\.search requires a user_id when scope=PER_USER"):
        await (await per_user()).search("homestay")


async def test_their_providers_serve_our_agent() -> None:
    from promptise.memory import InMemoryProvider as Theirs
    from promptise.memory import MemoryScope as TheirScope

    provider = Theirs(scope=TheirScope.PER_USER)
    await provider.add("homestay", user_id="acme::alice")
    graph = Graph()
    token = _caller_ctx_var.set(CallerContext(user_id="alice", tenant_id="acme"))
    try:
        await MemoryAgent(graph, provider, auto_store=True).ainvoke(asked())
    finally:
        _caller_ctx_var.reset(token)
    assert "- homestay\n" in graph.asked[0]
    assert len(await provider.list_entries(user_id="acme::alice")) == 2


@pytest.mark.parametrize(
    "metadata", [{"_promptise_adaptive_scope": "shared"}, {"type": "failure_log", "confidence": 0.2}]
)
async def test_what_the_adaptive_strategy_keeps_is_no_memory(metadata: dict[str, Any]) -> None:
    from promptise.memory import is_adaptive_entry

    provider = InMemoryProvider()
    await provider.add("homestay", metadata={"type": "strategy"})
    await provider.add("homestay failed: Traceback", metadata=metadata)
    assert [is_adaptive_entry(each.metadata) for each in await provider.list_entries()] == [False, True]
    graph = Graph()
    await MemoryAgent(graph, provider).ainvoke(asked())
    assert "- homestay\n" in graph.asked[0] and "Traceback" not in graph.asked[0]


@pytest.mark.parametrize(
    ("scope", "warned"), [(None, True), (MemoryScope.SHARED, False), (MemoryScope.PER_USER, False)]
)
async def test_their_agent_warns_of_a_shared_memory_that_nobody_chose(
    scope: MemoryScope | None, warned: bool, caplog: pytest.LogCaptureFixture
) -> None:
    from promptise.memory import _SharedScopeMonitor

    monitor, provider = _SharedScopeMonitor(), InMemoryProvider(scope=scope)
    for user in ("alice", "bob"):
        monitor.note(provider, user, auto_store=True)
    assert ("uses the default scope=SHARED" in caplog.text) is warned


async def test_the_scopes_are_theirs() -> None:
    from promptise.memory import MemoryScope as Theirs

    assert MemoryScope is Theirs
    assert InMemoryProvider().scope is Theirs.SHARED


@pytest.mark.parametrize(
    "query", ["what is the user's favourite tea?", "homestay", "is it the", "Oslo OSLO 7", "tea in Oslo", "z"]
)
async def test_words_of_a_sentence_find_what_theirs_finds(query: str) -> None:
    from promptise.memory import InMemoryProvider as Theirs

    ours, theirs = InMemoryProvider(), Theirs()
    for text in ("The user likes tea", "Homestay in Oslo", "Room 7 is booked", "Likes a homestay", "tea in Oslo, 7"):
        await ours.add(text)
        await theirs.add(text)
    found = [(each.content, each.score) for each in await ours.search(query)]
    expected = [(each.content, each.score) for each in await theirs.search(query)]
    assert [text for text, _ in found] == [text for text, _ in expected]
    if all(score < 0.5 for _, score in expected):
        assert found == expected


async def test_our_agent_warns_of_a_shared_memory_that_nobody_chose(caplog: pytest.LogCaptureFixture) -> None:
    for scope, warned in ((None, True), (MemoryScope.SHARED, False), (MemoryScope.PER_USER, False)):
        caplog.clear()
        agent = MemoryAgent(Graph(), InMemoryProvider(scope=scope))
        for user in ("alice", "alice", "bob", "carl"):
            token = _caller_ctx_var.set(CallerContext(user_id=user))
            await agent.ainvoke(asked())
            _caller_ctx_var.reset(token)
        assert caplog.text.count("has the default scope SHARED") == int(warned)
