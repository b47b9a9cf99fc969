"""Whether a text is English, as far as it decides which of the bundled models embeds it.

It is part of what makes a vector, so `VERSION` is part of the fingerprint, and this does not depend on the tables of
languages, which grow.
"""

from __future__ import annotations

from memorist.system.regex import regex

VERSION = 1
_READ = 600
"""Characters that are looked at."""
_LEAST = 4
"""So many words make a sentence, and an English one has one of `_ENGLISH`."""
_WORD = regex(r"[^\W\d_]+(?:['’][^\W\d_]+)*")
_OTHER_LETTER = regex(r"[^\W\d_a-zA-Z\u00aa-\u024f\u1e00-\u1eff\uff21-\uff5a]")
_LATIN_LETTER = regex(r"[a-zA-Z\u00c0-\u024f\u1e00-\u1eff\uff21-\uff5a]")
_CODE = regex(r"[\\/_={}<>|$#@`]|\w\(|\w[.:]\w")
_IDEOGRAPH = regex(r"[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff]")
_LETTERS_A_WORD = 4
"""Of an alphabet; an ideograph is half a word."""


def is_english(text: str) -> bool:
    """Return whether a text is English, or shows no language at all: a name, an identifier, a number."""
    text = text[:_READ]
    if not text.isascii() and _mostly_other_letters(text):
        return False
    english = count = 0
    other = 0.0
    also = False
    for word in _WORD.findall(text):
        count += 1
        folded = word.lower().replace("’", "'")
        if folded in _ENGLISH:
            english += 1
        elif folded in _OTHERS:
            other += 0 if word.isupper() and len(word) > 1 else 1  # "MIT" is not German
        elif not folded.isascii():
            other += 0.5 if word[0].isupper() else 1  # a name may stand in an English text
        also = also or folded in _ALSO_ENGLISH or folded.endswith("'s")
    if english or other:
        return english >= other
    return also or count < _LEAST or _CODE.search(text) is not None or not text.rstrip().endswith((".", "!", "?", "…"))


def _mostly_other_letters(text: str) -> bool:
    """Return whether more of a text is in another script than the Latin one."""
    other = len(_OTHER_LETTER.findall(text))
    if not other:
        return False
    return other + len(_IDEOGRAPH.findall(text)) * (_LETTERS_A_WORD // 2 - 1) >= len(_LATIN_LETTER.findall(text))


_ENGLISH = frozenset(
    """
    the and of that this these those with for from it its it's isn't are aren't wasn't were weren't been being
    have haven't hasn't hadn't having don't does doesn't did didn't done doing won't would wouldn't could
    couldn't should shouldn't can can't cannot may might must i'm i've i'd i'll my mine myself you you're you've
    you'll your yours he he's his him she she's her hers we're we've we'll our ours they they're they've their
    theirs them what what's when where where's which who who's whom whose why how how's if then than there
    there's here not but because about into onto over under after before between during through while until
    since again once only just also too very much many more most some any every each both few other another such
    own same like get gets got go goes going went gone make makes made take took know knew think thought see saw
    say said tell told came want wants need needs find give gave use used uses work works let's please thanks
    thank yes yeah hey hi hello ok okay good great new first last next year years day days week weeks month
    months today yesterday tomorrow tonight now never always often sometimes really still already well back out
    up down something anything nothing everything someone anyone people time thing things way returns given
    """.split()
)
"""Words that most English sentences hold, and few of other languages."""
_ALSO_ENGLISH = frozenset("a i in on an is was am me no so we he do or as at be by if will has had to of up".split())
"""English words that other languages have too, with another meaning."""
_OTHERS = frozenset(
    word
    for words in (
        # German
        """
        der das und ist nicht ich du er wir ihr sie es ein eine einen einem einer den dem des mit auf für von zu im
        vom zum zur wie wer wo wann warum welche welcher welches wem wen mein meine meinen meinem meiner dein deine
        sein seine unser unsere euer hatte habe hast haben bin bist sind waren wird werden wurde wurden kann kannst
        muss auch noch schon nur aber oder weil dass wenn nach bei aus sich mir dir ihm uns euch kein keine heute
        gestern morgen immer mal ja nein doch denn dann jetzt hier gibt geht kommt macht
        """,
        # French
        """
        le la les un une et est pas je tu il elle nous vous ils elles mon ma mes ton ta tes son sa ses notre votre
        leur de en dans sur avec qui que quoi quand où comment pourquoi quel quelle quels quelles c'est j'ai d'un
        d'une l'a n'a qu'il qu'elle ce cette ces au aux par ne se sont était avait suis ai ont fait peut plus mais
        ou donc chez demain oui
        """,
        # Spanish
        """
        el los las una y por para con su sus mi mis lo del al qué cuándo dónde cómo quién cuál como pero muy más
        está están era fue tiene tengo hay hace ayer mañana cuando donde quien cual porque sin sobre
        """,
        # Portuguese
        """
        o os um uma e não eu você ele ela nós meu minha seu sua da dos na nos nas em com quem onde quando qual
        quanto foi tem tenho isso esse essa pra ao mas muito ontem hoje
        """,
        # Italian
        """
        gli di che è non sono ho hai abbiamo hanno mio suo della dei nel nella alla cosa dove chi perché
        come quale anche più ieri oggi domani
        """,
        # Dutch, Scandinavian
        """
        het een dat niet ik jij hij wij jullie zijn heeft hebben mijn jouw naar voor ook maar wat waar wanneer
        hoe welke deze og det som på av til jeg ikke har och att jag är inte med hur när var hvor hvem hvad hva når
        hvornår din om ett
        """,
        # Slavic languages in Latin letters
        """
        się nie jest czy jak gdzie kiedy kto dlaczego mam moja mój jej jego od za przez ale tylko wczoraj jutro dziś
        že není kde kdy kdo proč jsem byl byla si ako kedy jsou što gdje kada tko zašto moj
        """,
        # Turkish
        """
        bir ve bu için ile sen biz onlar nerede nasıl kim neden niye mı değil yok çok dün bugün yarın kaç hangi
        """,
        # Indonesian, Malay
        """
        yang ke dari ini itu saya aku kamu dia kami kita mereka tidak bukan apa siapa kapan dimana mana bagaimana
        mengapa kenapa sudah belum akan dengan untuk pada adalah ada kemarin besok berapa nggak
        """,
        # Vietnamese, Finnish, Hungarian, Romanian, Swahili, Tagalog
        """
        là và của không có tôi bạn anh chị gì đâu khi nào bao nhiêu được trong cho một các những ei minä sinä hän
        missä milloin kuka mitä miksi miten kuinka olen ollut oli että az egy és nem hogy mikor hol ki miért volt și
        este nu cu pe unde când cine cum sunt fost mai ni wa kwa gani nani wapi lini ang ng mga ay siya ano saan
        kailan sino bakit paano
        """,
    )
    for word in words.split()
)
"""Common words of other languages, but for those that are English too, or a name."""
