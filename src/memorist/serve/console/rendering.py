"""Rendering pages: the templates, and their times, links and signals."""

from collections.abc import Mapping
from datetime import datetime
from functools import lru_cache
from typing import Any
from urllib.parse import urlencode

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from memorist import __version__
from memorist.recall.rank import WEIGHTS

__all__ = ["HEADERS", "link", "render"]

HEADERS: Mapping[str, str] = {
    "content-security-policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
        "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    ),
    "x-content-type-options": "nosniff",
    "referrer-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "cache-control": "no-store",
}
_SIGNALS = {
    "words": "its words",
    "words_around": "words around it",
    "pairs": "words side by side",
    "meaning": "its meaning",
    "meaning_around": "meaning around it",
    "speaker": "who said it",
    "first_person": "said by the user",
    "time": "when it was",
    "conversation": "its conversation",
}


def link(path: str, **query: Any) -> str:
    """Return a path with the parameters that are not None, False or empty."""
    given = {name: value for name, value in query.items() if value not in (None, "", False)}
    return f"{path}?{urlencode(given)}" if given else path


def _when(moment: datetime) -> Markup:
    """Return a time as an element that people and programs can read."""
    exact = moment.isoformat()
    return Markup('<time datetime="{}" title="{}">{}</time>').format(exact, exact, f"{moment:%Y-%m-%d %H:%M}")


def _marked(text: str, words: tuple[str, ...]) -> Markup:
    """Return a text with its matched words highlighted, and everything else escaped."""
    import re

    if not words:
        return escape(text)
    pattern = re.compile(rf"\b({'|'.join(re.escape(word) for word in words)})\w*", re.IGNORECASE)
    parts, last = [], 0
    for found in pattern.finditer(text):
        parts += [escape(text[last : found.start()]), Markup("<mark>{}</mark>").format(found.group())]
        last = found.end()
    return Markup("").join([*parts, escape(text[last:])])


def _shares(signals: Mapping[str, float]) -> list[tuple[str, float, float]]:
    """Return (name, strength, share in percent) of each signal, largest share first."""
    weighed = {name: max(WEIGHTS.get(name, 0.0) * value, 0.0) for name, value in signals.items()}
    whole = sum(weighed.values()) or 1.0
    rows = [(_SIGNALS.get(name, name), signals[name], 100 * part / whole) for name, part in weighed.items()]
    return sorted((row for row in rows if row[2] >= 0.5), key=lambda row: -row[2])


@lru_cache(maxsize=1)
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("memorist.serve.console"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"when": _when, "shares": _shares}
    environment.globals |= {"link": link, "marked": _marked, "version": __version__}
    return environment


def render(template: str, **values: Any) -> str:
    """Return a rendered template. All values are escaped."""
    return _environment().get_template(template).render(**values)
