"""Breaks the control tokens of chat models in a text that is to be shown to one, and keeps every word.

A control token is recognised by its grammar: a name between brackets, with or without bars (``<|im_start|>``,
``[INST]``, ``<<SYS>>``, ``</s>``, ``<tool_call id="1">``), so that a token of tomorrow's model is one too. What has no
such form, a fence or a flower, is known from the table of the families' templates (`families`). The comparison is made
on a view of the text that has the same length: look-alikes, full-width forms and accents are folded to ASCII, escapes
such as ``&lt;`` are decoded, and invisible characters are passed over. In the text itself, the brackets and bars
of a token become parentheses: ``<|im_start|>`` becomes ``(im_start)``.
"""

import html
import json
import re
import unicodedata
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import TypeAlias

from memorist.system.regex import regex

Span: TypeAlias = tuple[int, int]
Change: TypeAlias = tuple[int, int, str]
"""A start, an end, and the text that takes the place of what is between."""


def neutralise(text: str) -> str:
    """Return `text` with all control tokens broken; every word stays, and a second call changes nothing.

    Line separators of any kind become ``\\n``. Bidirectional overrides, invisible tag characters and control
    characters other than tab are removed, because they make a text read differently than it looks.
    """
    if not (text.isascii() and text.isprintable()):
        text = _HIDDEN.sub("", _LINE_END.sub("\n", text))
    for _ in range(_ROUNDS):
        before = text
        if _SUSPECT.search(text) is not None:
            text = _replaced(text, [change for _, changes in _tokens(text, view_of(text)) for change in changes])
        if text == before:
            return text
    return _replaced(text, [(*each.span(), "(" if each["open"] else ")") for each in _BRACKET.finditer(view_of(text))])


def spans(text: str) -> list[Span]:
    """Return the position of each control token in `text`, as its start and its end."""
    return [span for span, _ in _tokens(text, view_of(text))]


# --- what is removed ---------------------------------------------------------------------------------

_LINE_END = regex("\r\n|[\r\x0b\x0c\x1c-\x1e\x85\u2028\u2029]")
_HIDDEN = regex(
    "[\x00-\x08\x0e-\x1b\x1f\x7f-\x84\x86-\x9f"  # control characters
    "\u202a-\u202e\u2066-\u2069]"  # bidirectional embeddings, overrides and isolates
    "|(?<![\U0001f3f4\U000e0020-\U000e007e])[\U000e0000-\U000e007f]+"  # tag characters outside a flag
    "|(?<=[\ufe00-\ufe0f\U000e0100-\U000e01ef])[\ufe00-\ufe0f\U000e0100-\U000e01ef]+"  # selectors after selectors
)


# --- the view ----------------------------------------------------------------------------------------

_GAP = "\u200b"
"""Stands in the view for what is passed over: invisible characters, and the rest of an escape."""

_LOOK_ALIKES = {
    letter: plain
    for plain, letters in {
        "<": "˂ᐸ‹〈⟨〈❮❬⧼≺⋖◁⊲", ">": "˃ᐳ›〉⟩〉❯❭⧽≻⋗▷⊳", "«": "«《≪⟪", "»": "»》≫⟫",
        "[": "【〔⟦⁅❲〚﹇⦋⟬「『", "]": "】〕⟧⁆❳〛﹈⦌⟭」』", "|": "ǀ∣│┃⎮❘￨¦‖ǁ।॥丨❙❚∥ꟾ",
        "/": "∕⁄⧸╱〳", "_": "‗▁ˍ", "#": "♯", ":": "꞉∶ː։׃˸",
        "a": "аαɑᴀꓮᎪ", "b": "ьƅʙꓐᏴΒВ", "c": "сᴄϲꓚᏟ", "d": "ԁɗᴅꓓᎠ", "e": "еεᴇꓰᎬ", "f": "ƒꜰꓝ", "g": "ɡɢԍꓖ",
        "h": "һнʜꓧᎻΗ", "i": "іιıɪӏꓲ", "j": "јᴊꓙᎫ", "k": "кκᴋꓗᏦ", "l": "ⅼʟꓡᏞ", "m": "мμᴍꓟᎷ", "n": "пηɴոꓠΝ",
        "o": "оοօᴏσꓳ", "p": "рρᴘꓑᏢ", "q": "ԛզ", "r": "гʀꓣᎡ", "s": "ѕꜱꓢᏚ", "t": "тτᴛꓔᎢ", "u": "υսᴜꓴ",
        "v": "νѵᴠꓦᏙ", "w": "ԝωᴡꓪᎳ", "x": "хχꓫ", "y": "уγʏꓬΥ", "z": "ᴢꓜᏃΖ",
    }.items()
    for letter in letters
}  # fmt: skip


class _Fold(dict[int, str]):
    """Maps each code point to the one character that it looks like."""

    def __missing__(self, code: int) -> str:
        self[code] = folded = self._fold(chr(code))
        return folded

    def _fold(self, character: str) -> str:
        if character.isspace():
            return " "
        if unicodedata.category(character) in ("Cc", "Cf", "Mn", "Me") or character in "\u115f\u1160\u2800\u3164\uffa0":
            return _GAP
        for first in (0x1F150, 0x1F170, 0x1F1E6):  # letters in filled circles and squares, and of flags
            if first <= ord(character) < first + 26:
                return chr(ord("a") + ord(character) - first)
        if character in _LOOK_ALIKES:
            return _LOOK_ALIKES[character]
        plain = [each for each in unicodedata.normalize("NFKD", character) if not unicodedata.combining(each)]
        folded = "".join(plain).casefold()
        return _LOOK_ALIKES.get(folded, folded) if len(folded) == 1 else character


_FOLD = _Fold()
_ESCAPE = regex(
    r"&(?:amp;)*(?:#\d{1,7};?|#x[0-9a-f]{1,6};?|[a-z]{2,24};|[lg]t)"
    r"|\\(?:u[0-9a-f]{4}|u\{[0-9a-f]{1,6}\}|x[0-9a-f]{2})"
    r"|%(?:25)*[c-f][0-9a-f](?:%(?:25)*[89ab][0-9a-f]){1,3}|%(?:25)*[2-7][0-9a-f]",
    re.IGNORECASE,
)
_BYTE = regex(r"%(?:25)*([0-9a-f]{2})", re.IGNORECASE)


def view_of(text: str) -> str:
    """Return what `text` looks like, in as many characters: folded to ASCII, a zero-width space for what is unseen."""
    if "&" in text or "\\" in text or "%" in text:
        text = _ESCAPE.sub(_decoded, text)
    return text.translate(_FOLD)


def _decoded(escape: re.Match[str]) -> str:
    written = escape[0]
    if written[0] == "&":
        plain = html.unescape("&" + re.sub("^(?:amp;)+", "", written[1:], flags=re.IGNORECASE))
    elif written[0] == "%":
        plain = bytes(int(each, 16) for each in _BYTE.findall(written)).decode("utf-8", "replace")
    else:
        number = int(written[2:].strip("{}"), 16)
        plain = chr(number) if number <= 0x10FFFF else written
    if not 0 < len(plain) <= len(written):
        return written
    return plain[0] + _GAP * (len(written) - len(plain)) + plain[1:]  # what follows an entity may have no semicolon


# --- the tokens --------------------------------------------------------------------------------------

_ROLES = "system|sys|user|assistant|human|developer|tools?|functions?|chatbot|ipython|observation"
_ALONE = rf"{_ROLES}|bot|inst|instructions?|bos|eos|eot|eom|sop|eop|pad|unk|cls|sep|mask|think"
_AGENTS = (
    r"(?:local)?command(?:name|message|args|contents|stdout|stderr|caveat)|bash(?:input|stdout|stderr)|claudemd"
    r"|(?:userpromptsubmit|session(?:start|end)|(?:pre|post)tooluse|precompact|(?:subagent)?stop|notification)hook"
    r"|tasknotifications?|teammatemessage|persistedoutput|ideselection|ideopenedfile|permissionsinstructions"
    r"|hookcontext|environment(?:details|context)|editorcontext|userrequest|ephemeralmessage"
)
"""The tags in which coding agents tell their models what is not the user's word, without what joins their words."""
_IN_SQUARES = regex(rf"(?:{_ALONE}|[gs]mask|args|callid|img|imgbreak|imgend|prefix|suffix|middle)\Z")
_IN_TAGS = regex(
    rf"(?:{_ALONE}|s|eo[dhacnr]|pre|suf|mid|thinking|invoke|parameter|memory(?:[0-9a-f]{{6}})?|antml\w*|role|ai|用户|{_AGENTS})\Z"
)
_TELLING = (
    rf"{_ROLES}|inst|instructions?|turn|im|fim|bos|eos|eot|eom|sop|eop|memory|tokens?|reserved|unused|special|extra"
    r"|sentence|header|python"
)
_COMMON = (
    r"start|end|begin|beginning|of|text|id|sep|prefix|suffix|middle|hole|pad|calls?|responses?|results?|outputs?|use"
    r"|prompt|messages?|role|channel|section|arguments?|args|context|long|term|recalled|reminder|tag|code|thoughts?"
    r"|thinking|available|content|bot|input|query|block|new|override|mode|model|chat|[0-9]"
)
_WORDS = regex(rf"(?:{_TELLING}|{_COMMON})+\Z")
_COMPOUND = regex(rf"(?=\w*(?:{_TELLING}|oftext|ofthought))(?:{_TELLING}|{_COMMON}){{2,}}\Z")
"""Names of several words of the trade, one of them telling, however they are joined: ``endofturn``."""
_JOINED = regex(
    r"(?:[^\W_]+_)+[^\W_]+\Z"
    r"|(?=.*(?:think|tool|assistant|observation|arg|[be]os))\w+(?:[:-]\w+)+\Z"
)
"""Names in tags that nobody writes by hand: ``<arg_key>``, ``<mm:think>``."""
_NUMBER = regex(r":\d{1,6}\s*\Z")
_SPELLED = regex(rf"[\w\s{_GAP}\\/:.-]+\Z")
_HEADINGS = regex(rf"(?:new|system)?(?:{_ROLES}|instructions?|response|input|prompt)(?:message|prompt)?\Z")

_PART = regex(r"\{n\}|\S")
_INNER = regex(r"\w(?:.*\w)?", re.DOTALL)

_ROUNDS = 8
"""A text in which breaking tokens forms new ones more often than this loses all its brackets."""
_SUSPECT = regex("[<\\[\\]&\\\\%#`]|[^\x00-\x7f]|(?:human|assistant)\\s{0,9}:", re.IGNORECASE)
_BRACKET = regex(rf"(?P<open>[<«\[]{_GAP}*)|[>»\]]{_GAP}*")
_BETWEEN = rf"[\s{_GAP}\\]{{0,40}}"
_TOKEN = regex(
    rf"(?P<open><(?:{_BETWEEN}<)?|«|\[)(?P<bar>{_BETWEEN}/?{_BETWEEN}\|{{1,4}})?{_GAP}*+(?P<name>[^<>«»\[\]|]{{1,500}}?)"
    rf"(?P<close>(?P<bar2>\|{{1,4}})?{_BETWEEN}(?:>(?:{_BETWEEN}>)?|»|\]){_GAP}*|\|)"
)
_TAG = regex(
    rf"(?P<open>[<«]{_GAP}*+){_BETWEEN}/?{_BETWEEN}(?P<name>[\w{_GAP}.:-]{{1,500}}+)(?!@|/\w)"
    rf"(?P<rest>[^<>«»]{{0,400}})(?P<close>[>»]{_GAP}*)?"
)
_MORE_WORDS = regex(rf"(?:\s{{1,40}}[\w{_GAP}.:-]{{1,40}}(?![\w{_GAP}.:-]|\s{{0,40}}=)){{1,4}}")
"""Words after the first of a tag's name that are no attributes."""
_QUOTING = regex(r"(?:[^<>«»\"']|\"[^\"]{0,4000}\"|'[^']{0,4000}'){0,4000}+[>»]")
"""The rest of a tag whose attributes are long, or hold brackets in quotation marks."""
_HEADING = regex(rf"(?P<open>#(?:{_BETWEEN}#){{1,8}}+{_BETWEEN})(?P<name>[\w\s{_GAP}]{{1,40}}?){_BETWEEN}:")
_AFTER_BLANK = regex(r"(?:\n|\\n)\s*(?:\n|\\n)[^\S\n]*")
_SPEAKER = regex(rf"[\s{_GAP}]{{0,40}}(?P<name>human|assistant)[\s{_GAP}]{{0,40}}(?P<colon>:)")
"""A speaker after an empty line, with which some models were told whose turn it is."""
_MINIMAX = regex(  # ]~b]  ]~!b[  ]!p~[  ]<]minimax[>[  [e~[
    r"[][]G*(?:~G*(?:!G*)?(?P<b>b)|!G*(?P<p>[pd])G*~|<G*\]G*(?P<name>\w[\wG]{0,300})\[G*>|(?P<e>e)G*~)G*[][]".replace(
        "G", _GAP
    )
)


def _tokens(text: str, view: str) -> list[tuple[Span, list[Change]]]:
    """Return the position of each token, and the changes that break it."""
    tokens = [*_by_grammar(text, view)]
    if not tokens:  # what the grammar breaks it breaks as a whole, with its attributes
        for found in _spelled_out().finditer(view):
            inner = _INNER.search(found[0])
            first, last = inner.span() if inner else (0, 0)
            begin, end = found.span()
            tokens.append(((begin, end), [(begin, begin + first, "("), (begin + last, end, ")")]))
    return tokens


def _by_grammar(text: str, view: str) -> Iterator[tuple[Span, list[Change]]]:
    for found in _TOKEN.finditer(view):
        if _is_token(found, view, text):
            yield found.span(), [(found.start(), found.start("name"), "("), (*found.span("close"), ")")]
    for found in _TAG.finditer(view):
        if _is_tag(found, text, view):
            changes = [(*found.span("open"), "(")] + ([(*found.span("close"), ")")] if found["close"] else [])
            yield (found.start(), found.end() if found["close"] else found.end("name")), changes
    for found in _HEADING.finditer(view):
        if _HEADINGS.match(_key(found["name"])):
            yield found.span(), [(*found.span("open"), "")]
    for blank in _AFTER_BLANK.finditer(text):
        if speaker := _SPEAKER.match(view, blank.end()):
            start = speaker.start("name")
            yield (start, speaker.end()), [(start, start, "("), (*speaker.span("colon"), ")")]
    for found in _MINIMAX.finditer(view):
        yield found.span(), [(*found.span(), f"({found[found.lastgroup or 0]})")]


@cache
def families() -> dict[str, list[str]]:
    """Return the control tokens of chat models, by family, as the templates that vendors publish spell them.

    ``{n}`` stands for a number. Tags that are also everyday XML, such as Granite's ``<documents>`` or Command R's
    ``<results>``, are not there: a text about XML would lose its brackets, and inside a frame such tags do no harm.
    """
    found: dict[str, list[str]] = json.loads(Path(__file__).with_name("model_families.json").read_bytes())
    return found


@cache
def _spelled_out() -> re.Pattern[str]:
    """Return what finds the tokens of `families` that the grammar does not know, in a view."""
    tokens = {view_of(each) for tokens in families().values() for each in tokens}
    alone = sorted((each for each in tokens if not any(_by_grammar(each, each))), key=len, reverse=True)
    forms = []
    for token in alone:
        letters = (rf"\d[\d,\s{_GAP}]*" if each == "{n}" else re.escape(each) for each in _PART.findall(token))
        forms.append(rf"[\s{_GAP}\\]{{0,20}}+".join(letters))
    return re.compile(rf"(?=[<\[\]>✿`])(?:{'|'.join(forms)}){_GAP}*")


def _replaced(text: str, changes: list[Change]) -> str:
    parts: list[str] = []
    position = 0
    for start, end, new in sorted(changes, key=lambda change: (change[0], -change[1])):
        if start >= position:
            parts += [text[position:start], new]
            position = end
    return "".join([*parts, text[position:]])


def _key(name: str) -> str:
    return "".join(filter(str.isalnum, name))


def _is_token(found: re.Match[str], view: str, text: str) -> bool:
    name = _NUMBER.sub("", found["name"])
    key = _key(name)
    in_squares, first, second = found["open"] == "[", found["bar"], found["bar2"]
    if found["close"] == "|" and not first:
        return False
    if _COMPOUND.match(key) and _SPELLED.match(name):
        return True
    if not in_squares and _JOINED.match(name.replace(_GAP, "").strip().removeprefix("/").strip()):
        return True
    unbroken = (first or second) and not re.search(r"\s", name)  # <| x |> is an operator of some languages
    if unbroken and ((first and second and key) or _WORDS.match(key) or _IN_TAGS.match(key)):
        return True
    if in_squares:
        # a role may be an index (``users[user]``) or a link (``[user](https://…)``)
        indexes = (
            view[max(0, found.start() - 1) : found.start()].isalnum() or view[found.end() : found.end() + 1] == "("
        )
        return _IN_SQUARES.match(key) is not None and not (indexes and re.match(rf"(?:{_ROLES})\Z", key))
    quoted = text[found.start()] in "«‹" and "/" not in name and key not in ("sys", "inst")
    compared = key == "s" and name != name.strip() and "/" not in name  # a < s > b
    return not quoted and not compared and _IN_TAGS.match(key) is not None


def _is_tag(found: re.Match[str], text: str, view: str) -> bool:
    """Return whether a tag with attributes, or one that is not closed, is a token."""
    if text[found.start()] in "«‹":
        return _COMPOUND.match(_key(found["name"])) is not None
    names = [*_names(found)]
    if any(map(_COMPOUND.match, (_key(found["name"]), *names))):
        return True
    if not found["rest"].strip() or not any(map(_IN_TAGS.match, names)):
        return False
    return bool(found["close"]) or _QUOTING.match(view, found.end("name")) is not None


def _names(found: re.Match[str]) -> Iterator[str]:
    """Yield the names that a tag may have: its first word, and with it what follows of several before attributes."""
    key, rest = _key(found["name"]), found["rest"]
    is_adjoining = found[0][len(found["open"]) :].lstrip(f"/{_GAP}").startswith(found["name"])
    if is_adjoining or "=" in rest or not rest.strip():  # otherwise as in a < b and c > d
        yield key
        more = _MORE_WORDS.match(rest)
        for word in more[0].split() if more else ():
            key += _key(word)
            yield key
