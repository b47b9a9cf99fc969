# ruff: noqa: E501
"""What each table reads: examples of its language, all told on Wednesday 10 May 2023."""

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memorist.languages import CODES, Phrases, language, languages_of, plain, tables_of
from memorist.languages.grammar import grammar
from memorist.languages.phrases import phrases

SAID = datetime(2023, 5, 10, 15, tzinfo=UTC)

TIMES: dict[str, list[tuple[str, str]]] = {
    "en": [("I swam yesterday", "2023-05-09"), ("the 14th of August, 2021", "2021-08-14"), ("two weeks ago", "2023-04-26")],
    "de": [
        ("Vorgestern war ich beim Zahnarzt", "2023-05-08"),
        ("Das war am 14.8. in Wien", "2022-08-14"),
        ("am 3. März 2021 sind wir umgezogen", "2021-03-03"),
        ("Ich habe vor drei Wochen gekündigt", "2023-04-19"),
        ("Letzten Freitag waren wir im Kino", "2023-05-05"),
        ("Guten Morgen! Morgen fahren wir los", "2023-05-11"),
        ("Wir haben uns letzte Woche getroffen", "2023-05-04"),
    ],
    "fr": [
        ("Avant-hier on m'a volé mon vélo", "2023-05-08"),
        ("le 14 août 2021", "2021-08-14"),
        ("il y a deux semaines je suis tombé", "2023-04-26"),
        ("samedi dernier j'ai mangé chez eux", "2023-05-06"),
        ("c'était le 1er mai", "2023-05-01"),
    ],
    "es": [
        ("hace dos semanas me caí", "2023-04-26"),
        ("anteayer fui al médico", "2023-05-08"),
        ("el 14 de agosto de 2021", "2021-08-14"),
        ("el viernes pasado cenamos fuera", "2023-05-05"),
        ("Por la mañana trabajo, pero mañana no", "2023-05-11"),
    ],
    "pt": [
        ("Anteontem bati o carro", "2023-05-08"),
        ("no dia 14 de agosto de 2021", "2021-08-14"),
        ("há três semanas que não te vejo", "2023-04-19"),
        ("domingo passado o cachorro fugiu", "2023-05-07"),
    ],
    "it": [
        ("L'altro ieri sono caduto", "2023-05-08"),
        ("il 14 agosto 2021", "2021-08-14"),
        ("due settimane fa ho cambiato lavoro", "2023-04-26"),
        ("venerdì scorso siamo usciti", "2023-05-05"),
    ],
    "nl": [
        ("Eergisteren was ik bij de tandarts", "2023-05-08"),
        ("op 14 augustus 2021", "2021-08-14"),
        ("twee weken geleden ben ik verhuisd", "2023-04-26"),
        ("afgelopen vrijdag was het feest", "2023-05-05"),
    ],
    "pl": [
        ("Przedwczoraj byłem u lekarza", "2023-05-08"),
        ("14 sierpnia 2021 roku", "2021-08-14"),
        ("dwa tygodnie temu się przeprowadziłam", "2023-04-26"),
        ("w zeszły piątek byliśmy w kinie", "2023-05-05"),
    ],
    "ru": [
        ("Позавчера я был у врача", "2023-05-08"),
        ("14 августа 2021 года", "2021-08-14"),
        ("две недели назад мы переехали", "2023-04-26"),
        ("в прошлую пятницу были в кино", "2023-05-05"),
        ("неделю назад он ещё болел", "2023-05-03"),
    ],
    "uk": [
        ("Позавчора я був у лікаря", "2023-05-08"),
        ("14 серпня 2021 року", "2021-08-14"),
        ("два тижні тому ми переїхали", "2023-04-26"),
        ("минулої п’ятниці ми були в кіно", "2023-05-05"),
    ],
    "tr": [
        ("Evvelsi gün doktora gittim", "2023-05-08"),
        ("14 Ağustos 2021'de evlendik", "2021-08-14"),
        ("iki hafta önce taşındım", "2023-04-26"),
        ("geçen cuma sinemaya gittik", "2023-05-05"),
    ],
    "ar": [
        ("أول امبارح العربية عطلت", "2023-05-08"),
        ("١٤ أغسطس ٢٠٢١", "2021-08-14"),
        ("اترقيت من أسبوعين", "2023-04-26"),
        ("الجمعة اللي فاتت ضربت الماسورة", "2023-05-05"),
        ("من ٣ أيام لقيت قطة", "2023-05-07"),
        ("قبل أربعة أيام سافرت", "2023-05-06"),
    ],
    "fa": [
        ("پریروز دکتر بودم", "2023-05-08"),
        ("۱۴ اوت ۲۰۲۱", "2021-08-14"),
        ("دو هفته پیش اسباب‌کشی کردم", "2023-04-26"),
        ("جمعهٔ گذشته سینما بودیم", "2023-05-05"),
        ("۱۴ مرداد ۱۴۰۱ به دنیا آمد", "2022-08-05"),
    ],
    "hi": [
        ("कल मैं डॉक्टर के पास गया था", "2023-05-09"),
        ("कल मैं दिल्ली जाऊँगा", "2023-05-11"),
        ("14 अगस्त 2021", "2021-08-14"),
        ("दो हफ़्ते पहले मैंने नौकरी छोड़ी", "2023-04-26"),
        ("पिछले शुक्रवार हम फ़िल्म देखने गए", "2023-05-05"),
        ("Main do hafte pehle Delhi gaya tha yaar", "2023-04-26"),
    ],
    "zh": [
        ("前天我骑车摔了一跤", "2023-05-08"),
        ("2021年8月14日", "2021-08-14"),
        ("8月14号我们见面", "2022-08-14"),
        ("两周前我换了工作", "2023-04-26"),
        ("上周五我们去看电影", "2023-05-05"),
        ("三天前她来过", "2023-05-07"),
        ("上週五下雨", "2023-05-05"),
    ],
    "ja": [
        ("おととい病院に行った", "2023-05-08"),
        ("2021年8月14日に生まれた", "2021-08-14"),
        ("二週間前に引っ越した", "2023-04-26"),
        ("先週の金曜に映画を見た", "2023-05-05"),
        ("三日前の朝に出た", "2023-05-07"),
        ("８月１４日に会った", "2022-08-14"),
    ],
    "ko": [
        ("그저께 병원에 갔어", "2023-05-08"),
        ("2021년 8월 14일", "2021-08-14"),
        ("2주 전에 이사했어", "2023-04-26"),
        ("지난주 금요일에 영화를 봤어", "2023-05-05"),
        ("이틀 전에 왔어", "2023-05-08"),
    ],
    "vi": [
        ("Hôm kia tôi đi bác sĩ", "2023-05-08"),
        ("ngày 14 tháng 8 năm 2021", "2021-08-14"),
        ("hai tuần trước tôi chuyển nhà", "2023-04-26"),
        ("thứ sáu tuần trước chúng tôi đi xem phim", "2023-05-05"),
    ],
    "th": [
        ("เมื่อวานซืนฉันไปหาหมอ", "2023-05-08"),
        ("14 สิงหาคม 2564", "2021-08-14"),
        ("สองสัปดาห์ที่แล้วฉันย้ายบ้าน", "2023-04-26"),
        ("วันศุกร์ที่แล้วเราไปดูหนัง", "2023-05-05"),
        ("๑๔ สิงหาคม ๒๕๖๔", "2021-08-14"),
    ],
    "id": [
        ("Kemarin lusa saya ke dokter", "2023-05-08"),
        ("14 Agustus 2021", "2021-08-14"),
        ("dua minggu yang lalu aku pindah", "2023-04-26"),
        ("Jumat lalu kami nonton film", "2023-05-05"),
        ("seminggu yang lalu dia sakit", "2023-05-03"),
    ],
}  # fmt: skip
"""Texts, and the day in the middle of the one time that each points at."""

SAYINGS: dict[str, dict[Phrases, str]] = {
    "en": {"first_person": "We moved", "when": "When was it?", "who": "Who came?", "where": "Where is it?", "manners": "Good morning!", "standing": "Always answer in French", "no_longer": "I no longer smoke"},
    "de": {"first_person": "Mein Hund ist krank", "when": "An welchem Tag war das?", "who": "Wer kam?", "where": "Wohin geht ihr?", "manners": "Guten Morgen zusammen", "standing": "Antworte bitte immer auf Deutsch", "no_longer": "Ich rauche nicht mehr"},
    "fr": {"first_person": "J'ai froid", "when": "À quelle date est-ce arrivé ?", "who": "Qui est là ?", "where": "Où vas-tu ?", "manners": "Bonjour à tous", "standing": "Réponds-moi toujours en français", "no_longer": "Je ne fume plus"},
    "es": {"first_person": "Mi perro está enfermo", "when": "¿Cuándo fue?", "who": "¿Quién vino?", "where": "¿Dónde está?", "manners": "Buenos días", "standing": "A partir de ahora habla español", "no_longer": "Ya no fumo"},
    "pt": {"first_person": "Meu cachorro fugiu", "when": "Em que dia foi?", "who": "Quem veio?", "where": "Onde fica?", "manners": "Bom dia", "standing": "A partir de agora nada de queijo", "no_longer": "Não fumo mais"},
    "it": {"first_person": "Il mio cane è malato", "when": "Quando è successo?", "who": "Chi è venuto?", "where": "Dove abiti?", "manners": "Buongiorno a tutti", "standing": "D'ora in poi rispondi in italiano", "no_longer": "Non fumo più"},
    "nl": {"first_person": "Mijn hond is ziek", "when": "Wanneer was dat?", "who": "Wie kwam er?", "where": "Waar woon je?", "manners": "Goedemorgen allemaal", "standing": "Antwoord voortaan in het Nederlands", "no_longer": "Ik rook niet meer"},
    "pl": {"first_person": "Mój pies jest chory", "when": "Kiedy to było?", "who": "Kto przyszedł?", "where": "Gdzie mieszkasz?", "manners": "Dzień dobry wszystkim", "standing": "Odpowiadaj mi zawsze po polsku", "no_longer": "Już nie palę"},
    "ru": {"first_person": "Моя собака болеет", "when": "Когда это было?", "who": "Кто пришёл?", "where": "Где ты живёшь?", "manners": "Добрый день всем", "standing": "Отвечай мне всегда по-русски", "no_longer": "Я больше не курю"},
    "uk": {"first_person": "Мій собака хворий", "when": "Коли це було?", "who": "Хто прийшов?", "where": "Де ти живеш?", "manners": "Добрий день усім", "standing": "Відтепер відповідай українською", "no_longer": "Я більше не курю"},
    "tr": {"first_person": "Benim köpeğim hasta", "when": "Ne zaman oldu?", "who": "Kim geldi?", "where": "Nerede oturuyorsun?", "manners": "Günaydın herkese", "standing": "Bundan sonra Türkçe yaz", "no_longer": "Artık sigara içmiyorum"},
    "ar": {"first_person": "أنا تعبان", "when": "إمتى حصل ده؟", "who": "مين جه؟", "where": "فين البيت؟", "manners": "صباح الخير", "standing": "من هنا ورايح ماتقترحش عليا قهوة", "no_longer": "لم أعد أدخن"},
    "fa": {"first_person": "سگ من مریض است", "when": "چه وقت بود؟", "who": "چه کسی آمد؟", "where": "کجا زندگی می‌کنی؟", "manners": "صبح بخیر", "standing": "از این به بعد فارسی بنویس", "no_longer": "دیگه نمی‌کشم"},
    "hi": {"first_person": "मेरा कुत्ता बीमार है", "when": "यह कब हुआ?", "who": "कौन आया?", "where": "तुम कहाँ रहते हो?", "manners": "नमस्ते दोस्तों", "standing": "अब से हिंदी में जवाब दो", "no_longer": "अब मैं सिगरेट नहीं पीता"},
    "zh": {"first_person": "我的狗病了", "when": "是哪一天的事？", "who": "谁来了？", "where": "你住在哪里？", "manners": "早上好！", "standing": "以后请一律用中文回答", "no_longer": "我不再抽烟了"},
    "ja": {"first_person": "私の犬が病気です", "when": "いつのことですか", "who": "誰が来た？", "where": "どこに住んでる？", "manners": "おはようございます", "standing": "今後は日本語で答えて", "no_longer": "もうタバコは吸わない"},
    "ko": {"first_person": "우리 강아지가 아파", "when": "언제였어?", "who": "누가 왔어?", "where": "어디 살아?", "manners": "안녕하세요 여러분", "standing": "앞으로는 한국어로 답해 줘", "no_longer": "더 이상 담배 안 피워"},
    "vi": {"first_person": "Chó của tôi bị ốm", "when": "Chuyện đó xảy ra khi nào?", "who": "Ai đã đến?", "where": "Bạn sống ở đâu?", "manners": "Xin chào mọi người", "standing": "Từ giờ trở đi hãy trả lời bằng tiếng Việt", "no_longer": "Tôi không còn hút thuốc"},
    "th": {"first_person": "หมาของฉันป่วย", "when": "เกิดขึ้นเมื่อไหร่", "who": "ใครมา", "where": "คุณอยู่ที่ไหน", "manners": "สวัสดีครับทุกคน", "standing": "ต่อไปนี้ตอบเป็นภาษาไทย", "no_longer": "ฉันเลิกสูบบุหรี่แล้ว"},
    "id": {"first_person": "Anjing saya sakit", "when": "Kapan itu terjadi?", "who": "Siapa yang datang?", "where": "Kamu tinggal di mana?", "manners": "Selamat pagi semua", "standing": "Mulai sekarang jawab dalam bahasa Indonesia", "no_longer": "Aku tidak merokok lagi"},
}  # fmt: skip
"""What a table reads in a text, beside times."""


@pytest.mark.parametrize(("code", "text", "day"), [(code, *each) for code, known in TIMES.items() for each in known])
def test_a_phrase_points_at_its_day(code: str, text: str, day: str) -> None:
    assert code in [each.code for each in tables_of(text)]
    assert [phrase.span.middle.date().isoformat() for phrase in phrases(text, SAID)] == [day]


@pytest.mark.parametrize(
    ("text", "begins"),
    [
        ("What did I drive in the winter?", "2022-12-01"),
        ("What did I drive in spring?", "2023-03-01"),
        ("in the summer of 2021", "2021-06-01"),
        ("Wo wohnte ich im Sommer?", "2022-06-01"),
        ("Où est-ce que j'habitais en été ?", "2022-06-01"),
        ("¿Dónde vivía en el otoño?", "2022-09-01"),
        ("Dove abitavo in primavera?", "2023-03-01"),
        ("Waar woonde ik in de winter?", "2022-12-01"),
        ("Gdzie mieszkałem na wiosnę?", "2023-03-01"),
        ("Onde eu morava no verão?", "2022-12-01"),
        ("летом 2021", "2021-06-01"),
    ],
)
def test_a_season_without_a_year_is_the_latest_that_has_begun(text: str, begins: str) -> None:
    [found] = phrases(text, SAID)
    assert found.span.grain == "season"
    assert datetime.fromtimestamp(found.span.start, UTC).date().isoformat() == begins


@given(st.sampled_from(CODES), st.data())
def test_no_phrase_is_passed_over_for_want_of_a_hint(code: str, data: st.DataObject) -> None:
    words = sorted({word for text, _ in TIMES[code] for word in (text.casefold(), *text.casefold().split())})
    text = plain(" ".join(data.draw(st.lists(st.sampled_from(words), max_size=6))))
    for rules, hints in (grammar(code).dates, grammar(code).counting):
        found = {at for at, rule in enumerate(rules) if rule.pattern.search(text)}
        assert found <= set(hints.possible(text))


@pytest.mark.parametrize(
    ("code", "what", "text"), [(code, what, text) for code, known in SAYINGS.items() for what, text in known.items()]
)
def test_a_text_says_what_its_table_tells(code: str, what: Phrases, text: str) -> None:
    assert language(code).says(what, plain(text))


@pytest.mark.parametrize(("code", "text"), [(code, text) for code, known in SAYINGS.items() for text in known.values()])
def test_a_short_text_is_known_by_its_language(code: str, text: str) -> None:
    assert code in [each.code for each in tables_of(text)]


@pytest.mark.parametrize("text", ["¿Compramos la casa?", "¿Sigo con Pedro?", "¡Por fin!"])
def test_a_mark_of_spanish_tells_it(text: str) -> None:
    assert languages_of(text)[0] == "es"


@pytest.mark.parametrize(
    ("code", "corrected", "told"),
    [
        ("en", "Sorry, it's the 14th", "The concert is on the 14th"),
        ("de", "Ich habe mich vertan, es ist der 14.", "Das Konzert ist am 14."),
        ("fr", "Je me suis trompée, c'est le 14", "Le concert est le 14"),
        ("es", "Me equivoqué, es el 14", "El concierto es el 14"),
        ("pt", "Me enganei, é dia 14", "O show é dia 14"),
        ("it", "Mi sono sbagliata, è il 14", "Il concerto è il 14"),
        ("nl", "Ik heb me vergist, het is de 14e", "Het concert is de 14e"),
        ("pl", "Pomyliłam się, to czternasty", "Koncert jest czternastego"),
        ("ru", "Я ошиблась, это четырнадцатое", "Концерт четырнадцатого"),
        ("uk", "Я помилилася, це чотирнадцяте", "Концерт чотирнадцятого"),
        ("tr", "Pardon, yanlış söyledim, ayın on dördü", "Konser ayın on dördünde"),
        ("ar", "لا، قصدي يوم 14", "الحفلة يوم 14"),
        ("fa", "ببخشید، اشتباه گفتم، چهاردهم است", "کنسرت چهاردهم است"),
        ("hi", "माफ़ करना, मैंने गलत बताया, चौदह तारीख है", "कॉन्सर्ट चौदह तारीख को है"),
        ("zh", "我刚才说错了，是十四号", "音乐会是十四号"),
        ("ja", "ごめん、言い間違えた、14日です", "コンサートは14日です"),
        ("ko", "미안, 내가 잘못 말했어, 14일이야", "콘서트는 14일이야"),
        ("vi", "Xin lỗi, tôi nói nhầm, là ngày 14", "Buổi hòa nhạc là ngày 14"),
        ("th", "ขอโทษ พูดผิด วันที่ 14", "คอนเสิร์ตวันที่ 14"),
        ("id", "Maaf, aku salah bilang, tanggal 14", "Konsernya tanggal 14"),
    ],
)  # fmt: skip
def test_a_correction_is_known_in_every_language(code: str, corrected: str, told: str) -> None:
    assert language(code).says("corrects", plain(corrected))
    assert not language(code).says("corrects", plain(told))


def test_every_table_has_its_examples() -> None:
    assert tuple(TIMES) == tuple(SAYINGS) == CODES


@pytest.mark.parametrize(
    ("code", "text"),
    [
        ("de", "Den Termin haben wir verschoben"),
        ("fr", "J'ai déménagé à Lyon"),
        ("es", "Al final vendí el coche"),
        ("pt", "Troquei de emprego"),
        ("it", "Ho cambiato lavoro, non fumo più"),
        ("nl", "Ik ben verhuisd"),
        ("pl", "Przeprowadziłam się do Gdańska"),
        ("ru", "Мы переехали"),
        ("uk", "Ми переїхали"),
        ("tr", "Toplantı iptal oldu"),
        ("ar", "بطلت قهوة"),
        ("fa", "قرار لغو شد"),
        ("hi", "मैंने नौकरी बदल ली"),
        ("zh", "我们搬到杭州了"),
        ("ja", "会社を辞めた"),
        ("ko", "이사했어"),
        ("vi", "Tôi đã nghỉ việc"),
        ("th", "ฉันย้ายบ้านแล้ว"),
        ("id", "Rapatnya dibatalkan"),
    ],
)
def test_a_text_tells_of_a_change(code: str, text: str) -> None:
    assert language(code).says("changed", plain(text))
