"""The days of the week on which something recurs, as texts of each language tell it."""

import pytest

from memorist.languages import CODES
from memorist.languages.grammar import grammar
from memorist.languages.phrases import recurring_in


@pytest.mark.parametrize(
    ("code", "text", "weekdays"),
    [
        ("en", "Choir practice every Tuesday at 7 pm", [1]),
        ("en", "Yoga on Mondays and Thursdays, 18:30", [0, 3]),
        ("en", "Bins go out every second Friday", [4]),
        ("en", "piano lessons on Wednesday afternoons", [2]),
        ("en", "pool every Mon + Fri", [0, 4]),
        ("en", "Lunch with Ola on Tuesday", []),
        ("en", "Tuesday's meeting was long", []),
        ("en", "Office days are Tuesdays, Wednesdays & Fridays", [1, 2, 4]),
        ("en", "every day at nine", []),
        ("en", "each Saturday, Sunday off", [5, 6]),
        ("de", "Chorprobe jeden Dienstag um 19 Uhr", [1]),
        ("de", "Yoga montags und donnerstags", [0, 3]),
        ("de", "mittwochs Müll", [2]),
        ("de", "am Dienstag beim Zahnarzt", []),
        ("de", "jeden zweiten Freitag Papier", [4]),
        ("nl", "elke dinsdag koor", [1]),
        ("nl", "zwemmen op maandagen en donderdagen", [0, 3]),
        ("nl", "'s maandags werk ik thuis", [0]),
        ("nl", "op dinsdag naar de tandarts", []),
        ("fr", "Chorale tous les mardis à 19 h", [1]),
        ("fr", "Je nage le lundi et le jeudi", [0, 3]),
        ("fr", "rendez-vous mardi à 10 h", []),
        ("fr", "chaque vendredi marché", [4]),
        ("fr", "le mardi 5 mai chez le dentiste", []),
        ("es", "Coro todos los martes", [1]),
        ("es", "Los lunes y jueves nado", [0, 3]),
        ("es", "el martes voy al dentista", []),
        ("es", "cada sábado mercado", [5]),
        ("it", "Coro ogni martedì", [1]),
        ("it", "Il lunedì e il giovedì nuoto", [0, 3]),
        ("it", "martedì ho il dentista", []),
        ("it", "palestra di venerdì", [4]),
        ("pt", "Coral toda terça-feira", [1]),
        ("pt", "Natação às segundas e quintas", [0, 3]),
        ("pt", "na terça vou ao dentista", []),
        ("pt", "todos os sábados feira", [5]),
        ("pl", "Chór w każdy wtorek", [1]),
        ("pl", "co poniedziałek i czwartek basen", [0, 3]),
        ("pl", "we wtorek dentysta", []),
        ("ru", "Хор каждый вторник", [1]),
        ("ru", "По понедельникам и четвергам бассейн", [0, 3]),
        ("ru", "по средам йога", [2]),
        ("ru", "во вторник к врачу", []),
        ("uk", "Хор щовівторка", [1]),
        ("uk", "кожної п'ятниці ринок", [4]),
        ("uk", "у вівторок до лікаря", []),
        ("tr", "Her salı koro var", [1]),
        ("tr", "Pazartesi ve perşembe günleri yüzüyorum", [0, 3]),
        ("tr", "salı günü dişçi", []),
        ("ar", "كل يوم الثلاثاء كورال", [1]),
        ("ar", "يوم الثلاثاء عند الطبيب", []),
        ("hi", "हर मंगलवार को गाना", [1]),
        ("hi", "मंगलवार को डॉक्टर", []),
        ("ja", "毎週火曜日に合唱", [1]),
        ("ja", "毎週月曜と木曜はプール", [0, 3]),
        ("ja", "火曜日に歯医者", []),
        ("ko", "매주 화요일 합창 연습", [1]),
        ("ko", "목요일마다 수영", [3]),
        ("ko", "화요일에 치과", []),
        ("zh", "每周二合唱排练", [1]),
        ("zh", "每星期一和星期四游泳", [0, 3]),
        ("zh", "周二看牙医", []),
        ("vi", "hát hợp xướng mỗi thứ ba", [1]),
        ("vi", "vào thứ ba đi nha sĩ", []),
        ("th", "ซ้อมร้องเพลงทุกวันอังคาร", [1]),
        ("th", "วันอังคารไปหาหมอฟัน", []),
        ("id", "paduan suara setiap hari Selasa", [1]),
        ("id", "hari Selasa ke dokter gigi", []),
        ("fa", "هر سه شنبه تمرین کر", [1]),
        ("fa", "سه شنبه دندانپزشک", []),
    ],
)  # fmt: skip
def test_what_recurs_is_read_and_what_is_once_is_not(code: str, text: str, weekdays: list[int]) -> None:
    assert sorted(recurring_in(text)) == weekdays


def test_every_language_says_what_recurs() -> None:
    assert all(grammar(code).recurring for code in CODES)


def test_a_hostile_text_is_read_in_no_time() -> None:
    for text in ("every " * 5000, "monday," * 5000, "mon " * 5000, "day" * 20000, "every " + "m" * 50000):
        assert recurring_in(text) <= set(range(7))
