"""What a question seeks, told by its vector and its phrases: a state or an event, and which state."""

from collections.abc import Sequence
from datetime import UTC, datetime

import numpy as np
import pytest

from memorist.embedders import BatchedEmbedder, BundledEmbedder, Embedder, Role
from memorist.recall.question import read_question
from memorist.recall.scale import measure
from memorist.recall.sought import Sought, sought_by
from memorist.testing import HashEmbedder

pytestmark = pytest.mark.anyio

NOW = datetime(2026, 1, 1, tzinfo=UTC)
QUESTIONS: dict[str, Sequence[str]] = {
    "state": (
        "Which port does the api use?", "name of the dentist", "user's employer", "dog's food", "现在的房租",
        "Wie heißt die Zahnärztin?", "Where do I keep the drill?", "Où est-ce que je range la perceuse ?",
        "taux d'emprunt", "¿Quién lleva ahora las cuentas del club?", "何時に仕事が始まる？",
        "Какой у меня номер договора?",
    ),
    "event": (
        "Why did the port clash with another one?", "dentist visit tooth pulled", "how the job interview went",
        "Was hat die Zahnärztin gemacht?", "为什么取消旅行", "What did I cook for Ana's birthday?",
        "昨日の会議で何が決まった？", "¿Qué pasó en la cena del viernes?", "Who called while I was out?",
        "Что сломалось на прошлой неделе?",
    ),
    "former": (
        "Which bank did I use before this one?", "Wer war vor Lena Kassenwart?", "my previous landlord",
        "¿Qué médico tenía antes?", "以前のパスワードは何だった？",
    ),
    "every": ("Which languages do I speak?", "all my subscriptions", "Welche Städte habe ich schon besucht?"),
    "whether": ("Do I still own the kayak?", "Ist der Keller noch vermietet?", "¿Sigo suscrita al periódico?"),
    "talk": ("What did I ask you about the tax yesterday?", "Was habe ich dich zuletzt gefragt?"),
    "nothing": ("haha good one", "danke dir!", "谢谢，晚安", "ok talk later"),
}  # fmt: skip
"""Questions of which none is among the labelled texts, by what they seek."""


async def sought(embedder: Embedder, text: str, *speakers: str) -> Sought:
    batched = BatchedEmbedder(embedder)
    question = read_question(text, speakers=speakers, now=NOW)
    [vector] = await batched.embed([question.embed], Role.QUERY)
    return sought_by((await measure(batched)).heads, vector, question)


async def test_nine_of_ten_questions_that_were_not_learned_are_told() -> None:
    told = []
    for what, texts in QUESTIONS.items():
        for text in texts:
            found = await sought(BundledEmbedder(), text)
            likely = 1 - found.state if what == "event" else getattr(found, what)
            least = 0.0 if what == "state" else 0.5
            told.append((likely > least, what, text, found))
    wrong = [each[1:] for each in told if not each[0]]
    assert len(wrong) <= len(told) / 10, wrong


async def test_the_lives_of_those_who_speak_here_are_asked_for_more_than_their_present_state() -> None:
    assert (await sought(BundledEmbedder(), "Where does Ann live?")).state > 0
    assert not (await sought(BundledEmbedder(), "Where does Ann live?", "Ann", "Bo")).state
    assert (await sought(BundledEmbedder(), "Where does Ann live now?", "Ann", "Bo")).state > 0


async def test_what_asks_for_an_event_is_ranked_as_anything() -> None:
    found = await sought(BundledEmbedder(), "What did the plumber say about the boiler last Tuesday?")
    assert not found.state


async def test_with_an_embedder_that_tells_no_meaning_phrases_alone_tell() -> None:
    before = await sought(HashEmbedder(64), "Where did I live before?")
    now = await sought(HashEmbedder(64), "Where do I live now?")
    assert before.former > 0.5 > now.former


@pytest.mark.parametrize(
    ("question", "until"),
    [
        ("Where was I employed in March 2025?", datetime(2025, 4, 1, tzinfo=UTC)),
        ("Where did I live before March 2025?", datetime(2025, 3, 1, tzinfo=UTC)),
        ("Where do I live?", None),
    ],
)
def test_the_time_that_a_question_names_ends_what_matters(question: str, until: datetime | None) -> None:
    found = read_question(question, now=NOW).until
    assert found == (None if until is None else until.timestamp())


async def test_a_vector_without_heads_seeks_nothing_in_particular() -> None:
    scale = await measure(BatchedEmbedder(HashEmbedder(8)))
    empty = type(scale.heads)({})
    assert sought_by(empty, np.ones(8, np.float32), read_question("Where do I live?", now=NOW)) == Sought()
