# ruff: noqa: E501
"""What a context does with texts of any language."""

from datetime import UTC, datetime

import pytest

from memorist import Draft, Kind
from memorist.context.dates import dated
from memorist.context.sentences import QuestionTerms, shortened
from memorist.sync import Memory
from memorist.testing import HashEmbedder

SAID = datetime(2023, 5, 10, 15, tzinfo=UTC)  # a Wednesday


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("Gestern war ich beim Arzt", "Gestern (9. Mai 2023) war ich beim Arzt"),
        ("Heute Morgen war ich da, übermorgen nicht", "Heute Morgen war ich da, übermorgen (12. Mai 2023) nicht"),
        ("Letztes Jahr sind wir umgezogen", "Letztes Jahr (2022) sind wir umgezogen"),
        ("L'été dernier nous étions là", "L'été dernier (été 2022) nous étions là"),
        ("La semana que viene me voy", "La semana que viene (semana del 15 de mayo de 2023) me voy"),
        ("No mês passado eu viajei", "No mês passado (abril de 2023) eu viajei"),
        ("前天我去看牙医", "前天（2023年5月8日）我去看牙医"),
        ("上周末下雨了", "上周末（2023年5月6日那个周末）下雨了"),
        ("先週の土曜に壊れた", "先週の土曜（2023年5月6日）に壊れた"),
        ("지난주말에 갔어", "지난주말 (2023년 5월 6일 주말)에 갔어"),
        ("أول امبارح العربية عطلت", "أول امبارح (8 مايو 2023) العربية عطلت"),
        ("В прошлом году мы переехали", "В прошлом году (2022) мы переехали"),
        ("Gestern (Dienstag) war ich da", "Gestern (Dienstag) war ich da"),
        ("昨天（周二）下雨", "昨天（周二）下雨"),
    ],
)
def test_the_date_stands_behind_a_relative_phrase_in_its_language(text: str, meant: str) -> None:
    assert dated(text, SAID) == meant


@pytest.mark.parametrize(
    ("text", "question", "left"),
    [
        ("Guten Morgen! Ich habe den roten Schal gestrickt. Wie geht es dir?", "Wer hat den Schal gestrickt?", "Ich habe den roten Schal gestrickt."),
        ("你好！我昨天织了一条红色的围巾。你最近怎么样？", "谁织了围巾？", "我昨天织了一条红色的围巾。"),
        ("こんにちは。赤いマフラーを編みましたよ。元気ですか？", "マフラーを編んだのは誰？", "赤いマフラーを編みましたよ。"),
        ("صباح الخير! أنا عملت كوفية حمرا امبارح بالليل. إزيك؟", "مين عمل كوفية؟", "أنا عملت كوفية حمرا امبارح بالليل."),
        ("नमस्ते! मैंने कल लाल मफलर बुना था। तुम कैसे हो?", "मफलर किसने बुना?", "मैंने कल लाल मफलर बुना था।"),
    ],
)  # fmt: skip
def test_greetings_and_questions_are_cut_at_the_stops_of_each_script(text: str, question: str, left: str) -> None:
    assert shortened(text, QuestionTerms.of(question), 80).strip("… ") == left


@pytest.mark.parametrize(
    "text",
    [
        "Antworte bitte immer auf Deutsch",
        "À partir de maintenant, réponds-moi en français",
        "De ahora en adelante respóndeme en español",
        "以后请一律用中文回答我",
        "今後は必ず日本語で答えてください",
        "من هنا ورايح رد عليا بالعربي",
        "Впредь отвечай мне по-русски",
    ],
)
def test_a_standing_instruction_is_told_whatever_is_asked(text: str) -> None:
    with Memory.open(":memory:", embedder=HashEmbedder()) as memory:
        memory.remember(Draft(content="The printer is out of paper", kind=Kind.MESSAGE, payload={"speaker": "user"}))
        memory.remember(Draft(content=text, kind=Kind.MESSAGE, payload={"speaker": "user"}))
        assert text in memory.context("xyzzy", tokens=200).text
