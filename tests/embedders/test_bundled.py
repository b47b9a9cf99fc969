"""The bundled models as one embedder: each text by the model of its language, all in one space."""

import asyncio
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from memorist.embedders import BatchedEmbedder, BundledEmbedder, Embedder, OnnxEmbedder, Role, Vectors
from memorist.embedders.bundled import FORMER, Vectored
from memorist.languages import is_english


@pytest.fixture(scope="module")
def bundled() -> BundledEmbedder:
    return BundledEmbedder()


def embed(embedder: Embedder, texts: Sequence[str], role: Role = Role.DOCUMENT) -> Vectors:
    return asyncio.run(embedder.embed(texts, role))


@pytest.mark.parametrize(
    "text",
    [
        "Prefers homestays when she travels",
        "Where does she like to stay?",
        "Catch ya later!",
        "James's cooking class costs $10 per class.",
        "She met Müller and García at the café in São Paulo.",
        "The sign says 東京タワー, and we took the train from there.",
        "kubectl get pods -n production",
        '{"status": "ok", "items": [1, 2, 3]}',
        "math.hypot(*coordinates)",
        "Paul Smith",
        "MIT license",
        "OK",
        "12:30",
        "👍",
    ],
)
def test_english_and_what_shows_no_language_goes_to_the_model_of_english(text: str) -> None:
    assert is_english(text)


@pytest.mark.parametrize(
    "text",
    [
        "Wo steht das WLAN-Passwort?",
        "Wann kommt Oma?",
        "Où est-ce que j'ai garé la voiture ?",
        "¿Dónde dejé las llaves?",
        "Que medalha ganhou a bebida do Wellington?",
        "Dove ho messo le chiavi?",
        "Waar heb ik mijn sleutels gelaten?",
        "Gdzie są moje klucze?",
        "Где мои ключи?",
        "Де мої ключі?",
        "Anahtarlarım nerede?",
        "أين مفاتيحي؟",
        "کلیدهایم کجاست؟",
        "मेरी चाबियाँ कहाँ हैं?",
        "我的钥匙在哪里？",
        "鍵はどこですか。",
        "내 열쇠 어디 있어?",
        "Chìa khóa của tôi đâu?",
        "กุญแจอยู่ไหน",
        "Di mana kunci saya?",
        "Var är mina nycklar?",
        "Hol vannak a kulcsaim?",
        "Πού είναι τα κλειδιά μου;",
        "איפה המפתחות שלי?",
        "ファイル config.yaml を更新しました。",
    ],
)
def test_other_languages_go_to_the_model_of_them(text: str) -> None:
    assert not is_english(text)


def test_an_english_text_has_the_vector_of_the_english_model_and_loads_no_other(bundled: BundledEmbedder) -> None:
    fresh = BundledEmbedder()
    texts = ["Prefers homestays when she travels", "The invoice was paid on Friday", "ok"]
    assert np.array_equal(embed(fresh, texts), embed(OnnxEmbedder(), texts))
    assert fresh.other._model is None
    german = "Sie übernachtet am liebsten bei Einheimischen."
    together = embed(bundled, [texts[0], german, texts[1]])
    assert np.array_equal(together[[0, 2]], embed(OnnxEmbedder(), texts[:2]))
    assert np.allclose(together[1], embed(bundled, [german])[0])


@pytest.mark.parametrize(
    ("question", "wanted"),
    [
        ("Where does she like to stay?", 0),
        ("Wo übernachtet sie gern?", 0),
        ("¿Cuándo se pagó la factura?", 1),
        ("请问发票是什么时候付的？", 1),
        ("When was the invoice paid?", 1),
        ("Wie war gestern das Wetter?", 2),
        ("How was the weather yesterday?", 2),
        ("Wo finde ich das Passwort für das WLAN?", 3),
        ("Quel est le mot de passe du Wi-Fi ?", 3),
    ],
)
def test_a_question_finds_its_answer_whatever_the_two_languages(
    bundled: BundledEmbedder, question: str, wanted: int
) -> None:
    texts = [
        "Sie übernachtet am liebsten bei Einheimischen.",
        "The invoice was paid on Friday.",
        "昨日の天気は雨だった。",
        "The password of the wireless network is on the fridge.",
    ]
    cosines = embed(bundled, texts) @ embed(bundled, [question], Role.QUERY)[0]
    assert int(np.argmax(cosines)) == wanted


def test_vectors_of_other_languages_lie_where_those_of_english_texts_do(bundled: BundledEmbedder) -> None:
    """Unrelated texts have about the same cosine in any two languages, so one scale serves all."""
    questions = ["When does the night train leave?", "Wie entkalkt man eine Kaffeemaschine?", "谁会拉大提琴？"]
    texts = [
        "The museum of glass is closed on Mondays.",
        "Mein Bruder verkaufte sein Motorrad.",
        "我们领养了一只小灰猫。",
    ]
    cosines = embed(bundled, texts) @ embed(bundled, questions, Role.QUERY).T
    assert cosines.min() > 0.2
    assert cosines.max() < 0.6
    assert np.allclose(np.linalg.norm(embed(bundled, texts), axis=1), 1, atol=1e-5)


def test_it_goes_on_with_the_english_model_alone_where_an_earlier_version_stored_the_vectors() -> None:
    earlier, embedder = OnnxEmbedder(), BatchedEmbedder(BundledEmbedder())
    text = "Sie übernachtet am liebsten bei Einheimischen."

    async def go() -> None:
        await earlier.ready()
        new = await embedder.embed([text])
        fingerprint = embedder.fingerprint
        assert fingerprint.startswith("bundled@")
        assert await embedder.suits(earlier.fingerprint)
        assert embedder.fingerprint == earlier.fingerprint
        old = await embedder.embed([text])
        assert np.array_equal(old, await earlier.embed([text]))
        assert not np.array_equal(old, new)
        newest = embedder.newest()
        assert np.array_equal(await newest.embed([text]), new)
        assert newest.fingerprint == fingerprint
        assert await embedder.suits(fingerprint)
        assert np.array_equal(await embedder.embed([text]), new)
        assert not await embedder.suits("another@1")
        assert embedder.fingerprint == fingerprint

    asyncio.run(go())


def test_an_embedder_suits_only_its_own_vectors_and_is_its_newest() -> None:
    embedder: Any = BatchedEmbedder(OnnxEmbedder())
    assert asyncio.run(embedder.suits("another@1")) is False
    assert asyncio.run(embedder.suits(embedder.fingerprint)) is True
    assert embedder.newest() is embedder


ENGLISH, GERMAN = "Prefers homestays when she travels", "Sie wohnt auf Reisen gern bei Familien zu Hause"


def test_todays_vectors_are_known_to_the_next_version(bundled: BundledEmbedder) -> None:
    asyncio.run(bundled.ready())
    assert FORMER[bundled.fingerprint] == Vectored(bundled.english.fingerprint, bundled.others)


def test_a_reindex_keeps_what_each_former_version_embedded_as_today(
    bundled: BundledEmbedder, monkeypatch: pytest.MonkeyPatch
) -> None:
    asyncio.run(bundled.ready())
    english, others = FORMER[bundled.fingerprint]
    monkeypatch.setitem(FORMER, "another map", Vectored(english, "moved otherwise"))
    monkeypatch.setitem(FORMER, "another model", Vectored("of English", others))
    kept = {each: (bundled.keeps(each, ENGLISH), bundled.keeps(each, GERMAN)) for each in (*FORMER, "unknown")}
    assert kept == {
        english: (True, False),
        "bundled@48e437dfb6580e79": (True, True),
        bundled.fingerprint: (True, True),
        "another map": (True, False),
        "another model": (False, True),
        "unknown": (False, False),
    }
