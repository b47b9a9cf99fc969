"""What replaces what, and which state a question asks for: small lives with traps, with the bundled embedder."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memorist import Draft, Hit, Kind
from memorist.embedders import OnnxEmbedder
from memorist.recall.question import read_question
from memorist.recall.replaced import score_of
from memorist.records.origins import Author
from memorist.sync import Memory
from memorist.testing import HashEmbedder

_HARDLY = 0.1
"""What a signal is at most that counts for next to nothing."""

LIFE = [
    ("2025-01-05", "I live in a small flat in Headingley"),
    ("2025-01-06", "My sister Kate lives in Leeds"),
    ("2025-01-08", "I play the violin in the city orchestra"),
    ("2025-02-01", "I take 40 mg of propranolol for my migraines"),
    ("2025-06-02", "I moved out of Headingley, I live in Horsforth now"),
    ("2025-07-01", "I also play the cello in a quartet"),
    ("2025-08-01", "The doctor doubled my propranolol, I take 80 mg now"),
    ("2025-08-03", "Kate moved to York"),
]
FLAT, SISTER, VIOLIN, FORTY, MOVED, CELLO, EIGHTY, YORK = (text for _, text in LIFE)


@pytest.fixture(scope="module")
def alice() -> Iterator[Memory]:
    with Memory.open(":memory:", embedder=OnnxEmbedder()) as memory:
        scoped = memory.scoped(user="alice")
        scoped.remember([Draft(content=text, happened_at=day) for day, text in LIFE])
        yield scoped


def texts(hits: list[Hit]) -> list[str]:
    return [hit.record.content for hit in hits]


@contextmanager
def holding(said: list[tuple[str, str]]) -> Iterator[Memory]:
    """Open a memory of notes, each with its day."""
    with Memory.open(":memory:", embedder=OnnxEmbedder()) as memory:
        memory.remember([Draft(content=text, happened_at=day) for day, text in said])
        yield memory


@pytest.mark.parametrize(
    ("question", "first", "sunk"),
    [
        ("Where do I live now?", MOVED, FLAT),
        ("Where do I live?", MOVED, FLAT),
        ("How much propranolol do I take at the moment?", EIGHTY, FORTY),
    ],
)
def test_the_state_that_holds_stands_first_and_the_former_says_what_replaced_it(
    alice: Memory, question: str, first: str, sunk: str
) -> None:
    hits = alice.recall(question, limit=8)
    assert hits[0].record.content == first and hits[0].replaced is None
    [former] = [hit for hit in hits if hit.record.content == sunk]
    assert former.replaced is not None and former.replaced.by == hits[0].record.id
    assert former.replaced.at == hits[0].record.at and former.replaced.score > 0.7


def test_who_asks_for_what_was_before_gets_the_former_state_first(alice: Memory) -> None:
    assert texts(alice.recall("Where did I live before?"))[0] == FLAT


def test_what_comes_after_the_time_asked_about_replaces_nothing(alice: Memory) -> None:
    hits = alice.recall("How much propranolol was I taking in March 2025?", explain=True)
    assert hits[0].record.content == FORTY and hits[0].replaced is None


def test_an_addition_and_what_somebody_else_did_replace_nothing(alice: Memory) -> None:
    for question in ("Which instruments do I play?", "Do I play the violin?", "Where do I live?"):
        for hit in alice.recall(question, limit=8):
            assert hit.replaced is None or hit.record.content in (FLAT, FORTY, SISTER)
    assert {VIOLIN, CELLO} == set(texts(alice.recall("Which instruments do I play?", limit=2)))


NOTES = [
    ("2025-01-10", "The user's commute takes 25 minutes by bike"),
    ("2025-02-01", "My neighbour Jo waters my plants when I'm away"),
    ("2025-02-01", "The user is allergic to penicillin"),
    ("2025-03-01", "User's boss is called Renate, she wants reports on Fridays"),
    ("2025-05-01", "User moved to a new flat in Lyon"),
    ("2025-08-01", "User started a new job at Airbus"),
]


@pytest.mark.parametrize(
    ("question", "place"),
    [
        *((text, 4) for text in ("Where do I live?", "Where does the user live?", "What is my address?")),
        *((text, 4) for text in ("Which city do I live in?", "Where is the user's home?")),
        ("Where do I work?", 5),
    ],
)
def test_notes_that_share_only_words_of_the_user_and_of_any_change_replace_nothing(question: str, place: int) -> None:
    with Memory.open(":memory:", user="alice", embedder=OnnxEmbedder()) as memory:
        memory.remember([Draft(content=text, happened_at=day) for day, text in NOTES])
        [first, *rest] = memory.recall(question)
        assert first.record.content == NOTES[place][1]
        assert all(hit.replaced is None for hit in (first, *rest) if hit.record.content != NOTES[3][1])


LIVED = [
    ("I live in Linden Street in Cologne", "We moved to Leipzig last week", "Where do I live?"),
    ("I work at Siemens as an engineer", "I quit my job and started at Bosch on Monday", "Where do I work?"),
    ("I drive a Golf", "We sold the car and bought a Zoe", "What car do I drive?"),
    ("My girlfriend is Anna", "Anna and I broke up", "Who is my girlfriend?"),
    ("I have a dog called Rex", "Our dog died last night", "Do I have a dog?"),
    ("Ich wohne in der Lindenstraße in Köln", "Wir sind letzte Woche nach Leipzig gezogen", "Wo wohne ich?"),
    ("Trabajo en Telefónica como ingeniera", "Renuncié la semana pasada y empecé en Indra", "¿Dónde trabajo?"),
]


@pytest.mark.parametrize(("held", "changed", "question"), LIVED)
def test_the_change_of_a_life_stands_above_the_state_that_it_ended(held: str, changed: str, question: str) -> None:
    with Memory.open(":memory:", embedder=OnnxEmbedder()) as memory:
        said = [("2025-01-01", "Tom plays the cello"), ("2025-01-02", held), ("2025-02-01", "The garage needs a lamp")]
        memory.remember([Draft(content=text, happened_at=day) for day, text in said])
        assert texts(memory.recall(question, limit=1)) == [held]
        memory.remember(changed, happened_at="2025-03-01")
        assert texts(memory.recall(question, limit=1)) == [changed]
        assert texts(memory.recall(question, limit=1, as_of="2025-02-15")) == [held]


def test_what_is_told_in_the_weeks_of_a_change_is_not_ended_by_it_and_a_time_before_it_is_asked_as_ever() -> None:
    said = [
        ("2025-01-02", "My address is 4 Linden Street, Cologne"),
        ("2025-06-01", "We moved to Leipzig yesterday"),
        ("2025-06-03", "My address is 9 Harbour Road, Leipzig"),
        ("2025-06-20", "First week in the new flat, boxes everywhere"),
    ]
    with holding(said) as memory:
        assert texts(memory.recall("What is my address?", limit=1)) == [said[2][1]]
        assert texts(memory.recall("What was my address in March 2025?", limit=1)) == [said[0][1]]
        assert texts(memory.recall("What was my address before?", limit=1)) == [said[0][1]]


def test_neither_an_import_nor_somebody_else_ends_a_state_of_the_user_by_a_change_of_a_life() -> None:
    held, changed, question = LIVED[0]
    for speaker, author in (("Bo", None), ("assistant", None), ("Ann", Author.WEB)):
        with Memory.open(":memory:", embedder=OnnxEmbedder()) as memory:
            for day, who, text, by in (("2025-01-01", "Ann", held, None), ("2025-03-01", speaker, changed, author)):
                said = Draft(content=text, kind=Kind.MESSAGE, session=day, happened_at=day, payload={"speaker": who})
                memory.remember(said if by is None else replace(said, author=by))
            first, other = memory.recall(question, explain=True)
            assert first.record.content == held and first.signals["replaced"] == other.signals["replaced"] == 0
            assert author is None or other.signals["replaces"] == 0


@pytest.mark.parametrize("question", ["door code", "Where do I live?", "What is the door code?", "What happened?"])
def test_more_records_may_tie_than_are_looked_at(question: str) -> None:
    with Memory.open(":memory:", embedder=HashEmbedder()) as memory:
        memory.remember(["ping"] * 2100)
        assert len(memory.recall(question, limit=5)) == 5


def test_a_question_for_an_event_is_ranked_without_it(alice: Memory) -> None:
    for hit in alice.recall("What did the doctor do?", limit=8, explain=True):
        assert hit.replaced is None and not {"replaced", "replaces", "former"} & hit.signals.keys()


def test_a_context_marks_the_former_state_and_tells_the_later_one(alice: Memory) -> None:
    told = alice.context("How much propranolol do I take at the moment?", min_confidence=0)
    assert EIGHTY in told.text and (FORTY not in told.text or f"{FORTY} (changed: see 1 Aug 2025)" in told.text)
    told = alice.context("How much propranolol did I take before?", min_confidence=0)
    assert f"{FORTY} (changed: see 1 Aug 2025)" in told.text and EIGHTY in told.text
    told = alice.context("Where does my sister live?", min_confidence=0)
    assert f"{SISTER} (changed: see 3 Aug 2025)" in told.text and YORK in told.text
    assert [item.why for item in told.items if item.record.content == YORK] == ["later"]
    [former] = [item for item in told.items if item.record.content == SISTER]
    assert former.replaced is not None and former.replaced.score > 0.7


def test_what_an_assistant_repeats_later_replaces_nothing() -> None:
    with Memory.open(":memory:", embedder=OnnxEmbedder()) as memory:
        for day, speaker, text in (
            ("2025-01-01", "Ann", "I work at the bakery in Mill Lane now"),
            ("2025-03-01", "Ann", "I quit the bakery in Mill Lane, I work at the library now"),
            ("2025-05-01", "assistant", "So you work at the bakery in Mill Lane now, lovely"),
        ):
            memory.remember(text, kind=Kind.MESSAGE, session=day, happened_at=day, payload={"speaker": speaker})
        hits = memory.recall("Where do I work now?")
        assert "library" in hits[0].record.content and hits[0].replaced is None


def test_what_a_program_superseded_is_replaced_for_certain() -> None:
    with Memory.open(":memory:", embedder=HashEmbedder()) as memory:
        old = memory.facts.add("Ann lives in Oslo")
        new = memory.facts.add("Ann lives in Bergen", supersedes=old.id)
        told = memory.context("where did Ann live before Bergen?", min_confidence=0)
        [item] = [item for item in told.items if item.record.id == old.id]
        assert item.replaced is not None and (item.replaced.by, item.replaced.score) == (new.id, 1.0)


WORDS = st.lists(
    st.sampled_from(["oslo", "flat", "live", "now", "cello", "dose", "moved", "40"]), min_size=1, max_size=5
)


@given(st.lists(WORDS, min_size=2, max_size=8, unique_by=tuple), st.randoms())
def test_the_order_of_storing_changes_nothing_and_the_latest_is_never_replaced(
    said: list[list[str]], random: Random
) -> None:
    drafts = [
        Draft(content=f"I {' '.join(words)}", happened_at=f"2025-01-{day:02}") for day, words in enumerate(said, 1)
    ]
    shuffled = drafts[:]
    random.shuffle(shuffled)
    found = []
    for stored in (drafts, shuffled):
        with Memory.open(":memory:", embedder=HashEmbedder()) as memory:
            memory.remember(stored)
            hits = memory.recall("where do I live now?", limit=20)
            at = {hit.record.id: hit.record.at for hit in hits}
            latest = max(hits, key=lambda hit: hit.record.at)
            assert latest.replaced is None
            assert all(hit.replaced.at > hit.record.at for hit in hits if hit.replaced is not None)
            by = {hit.record.content: hit.replaced and at[hit.replaced.by] for hit in hits}
            found.append(({hit.record.content: round(hit.score, 3) for hit in hits}, by))
    assert found[0] == found[1]


@pytest.mark.parametrize(
    ("question", "embedded"),
    [
        ("Where was I employed in March 2025?", "Where was I employed in ?"),
        ("Where does Ann work now?", "Where does Ann work now?"),
        ("What did I buy in March 2025?", "What did I buy in March 2025?"),
        ("Was I in March 2025?", "Was I in March 2025?"),
    ],
)
def test_the_time_whose_state_is_asked_for_is_not_embedded(question: str, embedded: str) -> None:
    assert read_question(question, now=datetime(2026, 1, 1, tzinfo=UTC)).embed == embedded


def test_what_only_names_the_time_whose_state_is_asked_for_stands_behind_the_state() -> None:
    said = [
        ("2025-01-10", "I cycle to the office, rain or shine"),
        ("2025-03-03", "Come April the board meets, and April is always a mess"),
        ("2025-06-20", "Sold the bike, the 14 bus takes me to the office now"),
    ]
    with holding(said) as memory:
        assert texts(memory.recall("What did I ride to work in April 2025?", limit=1)) == [said[0][1]]


def test_where_all_states_are_asked_for_none_stands_behind_another_one() -> None:
    said = [
        ("2025-02-02", "We painted the kitchen yellow in the end"),
        ("2025-03-03", "The car park at the office is full by eight"),
        ("2025-06-20", "Goodbye Fiesta, a lad from Barry gave me 1,150 for it; I lease a Zoe now"),
        ("2025-09-09", "The Zoe went back, we bought a used Kia"),
    ]
    with holding(said) as memory:
        hits = memory.recall("Which cars have I had so far?", limit=4, explain=True)
        assert {said[2][1], said[3][1]} <= set(texts(hits[:3]))
        assert all(hit.replaced is None and hit.signals["replaced"] <= _HARDLY for hit in hits)


STORIES = [
    (  # a later record shares nothing but a name with the one that fits best
        [("2025-01-10", "My Bullet gets me to work, I ride that motorbike every day"),
         ("2025-03-01", "We painted the kitchen yellow"),
         ("2025-06-20", "The Bullet is gone, sold to a cousin. I'm on an Ather scooter")],
        "What do I ride?", "Ather", "every day",
    ),
    (  # another number in the same place
        [("2025-01-10", "The rent for our flat is 24,000 a month, says the owner"),
         ("2025-02-11", "The parking lot costs 900 a month"),
         ("2025-09-20", "Small victory: the owner of our flat agreed to 22,500")],
        "What do I pay the owner of my flat?", "22,500", "24,000",
    ),
    (  # called off
        [("2025-02-01", "Signed up for the Leeds marathon in May"),
         ("2025-02-03", "The bakery on Mill Lane sells rye bread"),
         ("2025-04-20", "No Leeds marathon for me, my knee is broken")],
        "Am I running the Leeds marathon?", "knee", "Signed up",
    ),
    (  # there and back again
        [("2025-01-01", "I work at the library in Leeds"),
         ("2025-03-01", "I left the library, I work at a bank in York"),
         ("2025-07-01", "Quit the bank in York and returned to the library in Leeds")],
        "Where do I work now?", "returned", "left the library",
    ),
    (
        [("2025-01-01", "Ich wohne in einer kleinen Wohnung in Altona"),
         ("2025-02-01", "Meine Schwester wohnt in Bremen"),
         ("2025-06-01", "Wir sind aus Altona weggezogen, ich wohne in Eimsbüttel")],
        "Wo wohne ich jetzt?", "Eimsbüttel", "kleinen",
    ),
    (
        [("2025-01-01", "Je travaille à la boulangerie de Lille"), ("2025-02-01", "Mon frère travaille à Lyon"),
         ("2025-06-01", "J'ai quitté la boulangerie, je travaille dans une librairie de Lille")],
        "Où est-ce que je travaille maintenant ?", "librairie", "Je travaille à la",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("said", "question", "holds", "held"), STORIES)
def test_what_holds_stands_above_what_held(said: list[tuple[str, str]], question: str, holds: str, held: str) -> None:
    with holding(said) as memory:
        found = texts(memory.recall(question, limit=3))
        assert holds in found[0], found
        assert held not in found[0], found


MILD = [
    ("The wifi password is bluebird42", "The new wifi password is tangerine9", "What is the wifi password?"),
    ("Rent is 900 euros", "Rent went up to 960 euros", "How much is the rent?"),
    ("The door code is 4471", "Door code changed to 8802", "What is the door code?"),
    ("Mia goes to Hillside primary school", "Mia started at Northgate academy", "Which school does Mia go to?"),
    ("The door code is 4471", "Door code changed to 8802", "door code"),
    ("Rent is 900 euros", "Rent went up to 960 euros", "monthly rent"),
    ("The web app is tested with Jest", "Ported the web app's tests to Vitest", "web app test runner"),
    ("The staging URL is stg.acme.dev", "New staging URL since Friday: acme-stg.fly.dev", "Staging URL?"),
]


@pytest.mark.parametrize(("held", "holds", "question"), MILD)
def test_what_holds_stands_first_where_a_question_says_neither_i_nor_now(held: str, holds: str, question: str) -> None:
    others = ("Tom plays the cello", "We bought a new kettle", "The garage needs a lamp")
    with holding([("2025-01-01", held), *(("2025-02-01", text) for text in others), ("2025-03-01", holds)]) as memory:
        assert texts(memory.recall(question, limit=2)) == [holds, held]


def test_the_former_sinks_and_is_marked_where_a_phrase_surely_asks_for_a_state() -> None:
    held, holds = "The user works at Acme as a nurse", "The user left Acme, works at Borealis as a nurse"
    others = [("2025-02-01", text) for text in ("Tom plays the cello", "The garage needs a lamp")]
    with holding([("2025-01-01", held), *others, ("2025-03-01", holds)]) as memory:
        first, *rest = memory.recall("user's employer", limit=4, explain=True)
        [former] = [hit for hit in rest if hit.record.content == held]
        assert first.record.content == holds and former.signals["replaced"] > 0.3
        assert former.replaced is not None and former.replaced.by == first.record.id


def test_the_words_of_a_search_for_what_happened_are_not_taken_for_a_state() -> None:
    said = [
        ("2025-01-10", "The dentist pulled my tooth, it hurt for three days"),
        ("2025-02-10", "Bought a new kettle"),
        ("2025-05-10", "My dentist is Dr Okafor now"),
    ]
    with holding(said) as memory:
        assert texts(memory.recall("dentist visit tooth pulled", limit=1)) == [said[0][1]]
        assert texts(memory.recall("name of the dentist", limit=1)) == [said[2][1]]


def test_what_is_stored_at_once_changes_nothing_for_a_question_that_says_neither_i_nor_now() -> None:
    with Memory.open(":memory:", embedder=OnnxEmbedder()) as memory:
        memory.remember(["Read a file by its path", "Read a file by its path and encoding"])
        for hit in memory.recall("Which function reads a file?", explain=True):
            assert hit.signals["replaced"] == 0 and hit.replaced is None


def test_a_user_asked_about_by_name_is_asked_for_a_state_in_these_records_alone() -> None:
    said = [("2025-01-10", "I live in Leeds, near the park"), ("2025-06-20", "I live in York now, near the wall")]
    with Memory.open(":memory:", embedder=OnnxEmbedder()) as memory:
        for user in ("alice", "bob"):
            for day, text in said:
                talk = memory.scoped(user=user).conversation(day)
                talk.append({"role": "user", "content": text, "happened_at": day})
                talk.append({"role": "assistant", "content": "Noted.", "happened_at": day})
        alice, bob = memory.scoped(user="alice"), memory.scoped(user="bob")
        own, named, of_another = (
            each.recall(question, limit=1, explain=True)[0]
            for each, question in (
                (alice, "Where do I live?"), (alice, "Where does Alice live?"), (bob, "Where does Alice live?")
            )
        )  # fmt: skip
        assert named.record.content == own.record.content == said[1][1]
        assert "first_person" not in of_another.signals and named.signals.keys() == own.signals.keys()
        assert alice.context("Where does Alice live?").confidence == pytest.approx(
            alice.context("Where do I live?").confidence, abs=0.05
        )


def test_the_present_state_is_found_by_way_of_the_former_and_the_former_by_way_of_the_present() -> None:
    said = [
        ("2025-01-10", "My spare key lies under the cracked plant pot"),
        ("2025-02-02", "We painted the kitchen yellow"),
        ("2025-04-04", "The wedding of my cousin was in a barn"),
        ("2025-06-20", "Moved the spare one, Mrs Akhtar has the key"),
    ]
    with holding(said) as memory:
        for question, first in (("Where is my spare key?", "Akhtar"), ("Where was my spare key before?", "plant pot")):
            one, other = memory.recall(question, limit=2, explain=True)
            assert first in one.record.content and "key" in other.record.content
            assert max(hit.signals["states_around"] for hit in (one, other)) > 0.25


def test_whether_something_holds_is_no_likelier_told_by_what_is_newer(alice: Memory) -> None:
    for question, newer in (("Do I live in Headingley?", False), ("Where do I live?", True)):
        for hit in alice.recall(question, limit=8, explain=True):
            assert "replaced" in hit.signals and (hit.signals["latest"] <= _HARDLY or newer)


def test_what_does_nothing_but_ask_replaces_nothing() -> None:
    with Memory.open(":memory:", embedder=OnnxEmbedder()) as memory:
        for day, text in (
            ("2025-01-01", "I work at the bakery in Mill Lane"),
            ("2025-03-01", "Do I work at the bakery?"),
        ):
            memory.remember(text, kind=Kind.MESSAGE, session=day, happened_at=day, payload={"speaker": "Ann"})
        hits = memory.recall("Where do I work now?", limit=2, explain=True)
        assert all(hit.signals["replaced"] == 0 and hit.replaced is None for hit in hits)


def test_several_states_that_hold_together_replace_none_of_each_other(alice: Memory) -> None:
    for hit in alice.recall("Which instruments do I play?", limit=4, explain=True):
        assert hit.replaced is None
        assert all(hit.signals[name] <= _HARDLY for name in ("replaced", "replaces", "latest"))


def test_without_a_sign_of_change_a_later_text_as_likely_adds() -> None:
    assert score_of(0.9, "I take 40 mg", "I take 80 mg") == 0.9
    assert score_of(0.9, "I take 40 mg", "I still take 40 mg") == 0.45
    assert score_of(0.9, "I work at the bakery", "I no longer work at the bakery") == 0.9


def test_records_that_say_the_same_share_one_chance() -> None:
    scores = []
    for copies in (1, 4):
        with Memory.open(":memory:", embedder=OnnxEmbedder()) as memory:
            memory.remember(["The wifi password is tuba-42"] * copies + ["The bus was late", "Paid the bill"])
            scores.append([hit.score for hit in memory.recall("what is the wifi password?", limit=copies)])
    [[alone], several] = scores
    assert all(abs(score - alone) < 0.05 for score in several) and alone > 0.5


@pytest.mark.parametrize(
    ("wrong", "right", "question"),
    [
        (
            "My dentist appointment is on the 12th of June",
            "Actually, the dentist appointment is on the 14th of June",
            "When is my dentist appointment?",
        ),
        ("My boss is called Nora Lind", "Sorry, I meant my boss is called Nina Lind", "Who is my boss?"),
        (
            "Mein Zahnarzttermin ist am 12. Juni",
            "Korrektur: mein Zahnarzttermin ist am 14. Juni",
            "Wann ist jetzt mein Zahnarzttermin?",
        ),
        (
            "Mi cita con el dentista es el 12 de junio",
            "Perdón, me equivoqué: la cita con el dentista es el 14 de junio",
            "¿Cuándo es ahora mi cita con el dentista?",
        ),
    ],
)
def test_a_correction_replaces_what_was_said_before_it_in_the_same_conversation(
    wrong: str, right: str, question: str
) -> None:
    with Memory.open(":memory:", embedder="default") as memory:
        bob = memory.scoped(user="bob", session="s")
        talk = [("user", wrong), ("assistant", f"Noted: {wrong}"), ("user", right)]
        bob.remember([Draft(content=text, kind=Kind.MESSAGE, payload={"role": role}) for role, text in talk])
        first, *others = bob.recall(question, limit=3)
        assert first.record.content == right and first.replaced is None
        assert {hit.replaced and hit.replaced.by for hit in others} == {first.record.id}
        [change] = bob.changes().changes
        assert (change.former.content, change.record.content) == (wrong, right)


def test_what_is_added_in_the_same_conversation_replaces_nothing() -> None:
    with Memory.open(":memory:", embedder=OnnxEmbedder()) as memory:
        bob = memory.scoped(user="bob", session="s")
        talk = ["I take 40 mg of propranolol in the morning", "And I take 20 mg of propranolol in the evening"]
        bob.remember([Draft(content=text, kind=Kind.MESSAGE, payload={"role": "user"}) for text in talk])
        assert [hit.replaced for hit in bob.recall("How much propranolol do I take?")] == [None, None]
