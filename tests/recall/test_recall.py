"""Recall as its user sees it."""

from datetime import UTC, datetime, timedelta

import numpy as np
import pytest

from memorist import Draft, Hit, Kind, Memory
from memorist.errors import InvalidInputError
from memorist.testing import HashEmbedder

pytestmark = pytest.mark.anyio


def contents(hits: list[Hit]) -> list[str]:
    return [hit.record.content for hit in hits]


def talk(*lines: tuple[str, str], session: str = "one", day: int = 1) -> list[Draft]:
    """Return messages, each a speaker and what is said, a minute apart on a day of May 2023."""
    start = datetime(2023, 5, day, 12, tzinfo=UTC)
    return [
        Draft(
            content=text,
            kind=Kind.MESSAGE,
            session=session,
            payload={"speaker": speaker},
            happened_at=start + timedelta(minutes=minute),
        )
        for minute, (speaker, text) in enumerate(lines)
    ]


async def test_a_message_is_understood_by_its_neighbours(alice: Memory) -> None:
    await alice.remember(talk(("Ann", "Which instrument do you play?"), ("Bo", "The cello, since I was six.")))
    await alice.remember(talk(("Ann", "What a day."), ("Bo", "The cello case broke."), session="two"))
    hits = await alice.recall("instrument", limit=2, mode="lexical")
    assert contents(hits)[0] == "Which instrument do you play?"
    first, *_ = await alice.recall("which instrument does Bo play", limit=2, explain=True)
    assert first.record.scope.session == "one"
    assert first.signals["words_around"] > 0


async def test_who_is_asked_about_by_name_speaks_first(alice: Memory) -> None:
    await alice.remember(talk(("Ann", "I bought a red bicycle"), ("Bo", "I bought a red bicycle")))
    for name in ("Ann", "Bo"):
        [first, _] = await alice.recall(f"What did {name} buy, a bicycle?", limit=2)
        assert first.record.payload["speaker"] == name


async def test_an_instruction_that_holds_from_now_on_is_lifted_unless_somebody_is_asked_about(alice: Memory) -> None:
    await alice.remember(talk(("user", "Always show the weather in Celsius"), ("assistant", "Will do.")))
    await alice.remember(talk(("user", "The weather is nice"), ("assistant", "It is.")))
    first, *_ = await alice.recall("Show me the weather", limit=4, explain=True)
    assert first.record.content.startswith("Always")
    assert first.signals["standing"] == 1
    await alice.remember(talk(("Ann", "The weather is nice")))
    first, *_ = await alice.recall("What did Ann say of the weather?", limit=4, explain=True)
    assert "standing" not in first.signals


async def test_words_count_less_where_an_assistant_says_them(alice: Memory) -> None:
    await alice.remember(talk(("assistant", "The red bicycle costs ninety"), ("user", "The red bicycle costs ninety")))
    first, second = await alice.recall("red bicycle", limit=2, explain=True)
    assert [hit.record.payload["speaker"] for hit in (first, second)] == ["user", "assistant"]
    assert first.signals["echo"] == 0 and second.signals["echo"] == pytest.approx(second.signals["words"])


async def test_what_happened_then_is_lifted_and_the_rest_is_not_dropped(alice: Memory) -> None:
    for day in (3, 10, 17):
        await alice.remember(talk(("Ann", "we went swimming"), session=f"s{day}", day=day))
    found = await alice.recall("when did we go swimming last week?", now="2023-05-24", limit=5)
    assert len(found) == 3
    assert found[0].record.at.day == 17
    found = await alice.recall("swimming on 3 May", limit=5)
    assert found[0].record.at.day == 3


async def test_a_message_that_tells_goes_before_one_that_only_asks(alice: Memory) -> None:
    await alice.remember(
        [Draft(content=text, kind=Kind.MESSAGE) for text in ("I bought new skis.", "Have you bought new skis?")]
    )
    [first, second] = await alice.recall("new skis bought", explain=True)
    assert first.record.content == "I bought new skis."
    assert (first.signals["impersonal"], first.signals["asks"]) == (0, 0)
    assert (second.signals["impersonal"], second.signals["asks"]) == (1, 1)


async def test_a_day_that_a_message_points_at_counts(alice: Memory) -> None:
    await alice.remember(talk(("Ann", "Swimming was fun"), ("Bo", "Swimming a month ago was fun"), day=20))
    [first, _] = await alice.recall("who liked swimming on 20 April 2023", explain=True)
    assert first.record.content == "Swimming a month ago was fun"
    assert first.signals["told_time"] > 0.9


async def test_a_question_for_a_time_lifts_what_says_when(alice: Memory) -> None:
    await alice.remember([Draft(content=text, kind=Kind.MESSAGE) for text in ("Ines swam", "Ines swam on Monday")])
    [first, _] = await alice.recall("when did Ines swim or when she swam", explain=True)
    assert first.record.content == "Ines swam on Monday"
    assert first.signals["says_when"] == 1
    [first, _] = await alice.recall("who swam", explain=True)
    assert "says_when" not in first.signals


async def test_when_it_happened_is_corrected_and_so_are_the_days_it_points_at(alice: Memory) -> None:
    [record] = await alice.remember(talk(("Ann", "We swam yesterday"), day=10))
    await alice.revise(record.id, happened_at="2021-06-02")
    [hit] = await alice.recall("swimming on 1 June 2021", explain=True)
    assert hit.signals["told_time"] == 1


async def test_signals_are_given_only_when_asked_for(alice: Memory) -> None:
    await alice.remember("the cat sleeps")
    [hit] = await alice.recall("cat")
    assert not hit.signals
    assert hit.matched == ("cat",)
    [hit] = await alice.recall("cat", explain=True)
    assert set(hit.signals) >= {"words", "meaning"}


async def test_a_good_rating_decides_among_like_records_and_leaves_similarity_alone(alice: Memory) -> None:
    one = await alice.remember("the answer is forty-two", id="one")
    await alice.remember("the answer is forty-two", id="two")
    before = {hit.record.id: hit.similarity for hit in await alice.recall("the answer")}
    for better, worse in (("one", "two"), ("two", "one")):
        await alice.rate(better, 1.0)
        await alice.rate(worse, -1.0)
        for mode in ("hybrid", "dense"):
            hits = await alice.recall("the answer", mode=mode)
            assert [hit.record.id for hit in hits] == [better, worse]
            assert {hit.record.id: hit.similarity for hit in hits} == before
    await alice.remember("completely unrelated words", rating=1.0)
    assert (await alice.recall("the answer is forty-two"))[0].record.content == one.content


async def test_shared_records_are_added_only_when_asked_for(everyone: Memory, alice: Memory) -> None:
    await everyone.remember("the office opens at nine")
    await alice.remember("alice opens her shop at ten")
    assert contents(await alice.recall("opens")) == ["alice opens her shop at ten"]
    assert len(await alice.recall("opens", shared=True)) == 2
    assert contents(await everyone.recall("opens")) == ["the office opens at nine"]


async def test_topics_and_guidelines_are_never_found_by_meaning(alice: Memory) -> None:
    await alice.remember("Elixir", kind=Kind.TOPIC, key="user.language")
    await alice.remember("use it sparingly", kind=Kind.TOOL_GUIDELINE, key="hammer")
    assert await alice.recall("Elixir use sparingly") == []


async def test_a_cue_is_matched_instead_of_the_content(alice: Memory) -> None:
    await alice.remember("Add an index.", kind=Kind.EXPERIENCE, cue="a query on a large table is slow")
    assert contents(await alice.recall("slow query", mode="lexical")) == ["Add an index."]
    assert await alice.recall("index", mode="lexical") == []


async def test_lexical_recall_finds_only_what_holds_a_word(alice: Memory) -> None:
    await alice.remember(["the red house", "a blue car"])
    assert contents(await alice.recall("houses", mode="lexical")) == ["the red house"]
    assert await alice.recall("zebra", mode="lexical") == []


async def test_dense_recall_is_in_the_order_of_the_cosine(alice: Memory) -> None:
    texts = ["red house", "red house on the hill", "blue car", "the red barn", "house music"]
    await alice.remember(texts)
    vectors = await HashEmbedder().embed(texts)
    [query] = await HashEmbedder().embed(["red house"])
    expected = sorted(zip(np.clip(vectors @ query, 0, 1), texts, strict=True), reverse=True)
    hits = await alice.recall("red house", mode="dense", limit=5)
    assert contents(hits)[:3] == [text for _, text in expected][:3]
    assert [hit.similarity for hit in hits] == pytest.approx([value for value, _ in expected], abs=1e-5)


async def test_dense_recall_takes_the_question_as_it_is(alice: Memory) -> None:
    for name in ("Ben", "Ann"):  # in other modes a speaker's name is read as "I"
        await alice.conversation("c").append({"role": "user", "name": name, "content": "Hello"})
    await alice.remember("What did Ben order?")
    [hit] = await alice.recall("What did Ben order?", mode="dense", limit=1)
    assert hit.similarity == pytest.approx(1, abs=1e-5)


async def test_thresholds_are_inclusive(alice: Memory) -> None:
    await alice.remember(["red house", "blue car"])
    [first, *_] = await alice.recall("red house")
    assert contents(await alice.recall("red house", min_score=first.score)) == ["red house"]
    assert contents(await alice.recall("red house", min_similarity=first.similarity)) == ["red house"]
    assert await alice.recall("red house", min_score=1.01) == []


@pytest.mark.parametrize(
    "query",
    ["", "   \n", "the of and", "🙂🙂🙂", "東京タワーはどこ", "ПРИВЕТ", "\x00", "\ud800", "?!" * 50, "word " * 20_000],
)
async def test_no_query_is_too_odd(alice: Memory, query: str) -> None:
    await alice.remember(["the tower of Tokyo", "東京タワーに行った", "hello"])
    for mode in ("hybrid", "dense", "lexical"):
        hits = await alice.recall(query, mode=mode)
        assert len(hits) <= 3
        assert all(0 <= hit.score <= 1 and 0 <= hit.similarity <= 1 for hit in hits)
    if not query.strip():
        assert await alice.recall(query) == []


async def test_chinese_and_japanese_words_are_found(alice: Memory) -> None:
    await alice.remember(["我喜欢住民宿，不喜欢酒店", "東京タワーに行った", "unrelated"])
    assert contents(await alice.recall("民宿", mode="lexical")) == ["我喜欢住民宿，不喜欢酒店"]
    assert contents(await alice.recall("東京", mode="lexical")) == ["東京タワーに行った"]


@pytest.mark.parametrize(
    ("arguments", "names"),
    [
        ({"query": 3}, "query"),
        ({"mode": "magic"}, "hybrid"),
        ({"limit": 1.5}, "limit"),
        ({"limit": 10_001}, "10,000"),
        ({"min_score": "high"}, "min_score"),
        ({"min_similarity": float("nan")}, "min_similarity"),
        ({"kind": "dream"}, "message"),
        ({"where": {"$near": 1}}, "near"),
        ({"now": "someday"}, "someday"),
        ({"vector": [1.0, 2.0]}, "vector"),
        ({"vector": [0.0] * 64}, "vector"),
        ({"vector": "text"}, "vector"),
    ],
)
async def test_a_wrong_argument_is_named(alice: Memory, arguments: dict[str, object], names: str) -> None:
    await alice.remember("something")
    with pytest.raises(InvalidInputError, match=names):
        await alice.recall(**({"query": "some"} | arguments))  # type: ignore[arg-type]


@pytest.mark.parametrize("limit", [0, -3])
async def test_no_hits_wanted_gives_none(alice: Memory, limit: int) -> None:
    await alice.remember("something")
    assert await alice.recall("something", limit=limit) == []
