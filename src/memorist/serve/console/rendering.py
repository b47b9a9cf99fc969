"""Rendering pages: the templates, and their times, links and signals."""

import json
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from functools import lru_cache, partial
from typing import Any
from urllib.parse import urlencode

from jinja2 import Environment, PackageLoader, StrictUndefined, pass_context
from jinja2.runtime import Context
from markupsafe import Markup, escape

from memorist import __version__
from memorist.recall.explaining import LABELS, contributions
from memorist.records.zones import read_in
from memorist.serve.console.charts import Share, shares_of
from memorist.serve.console.zones import field_of, written_day

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
_DIRECTIONS = re.compile(r"[\u202a-\u202e\u2066-\u2069]")
_SIGNALS = {
    name: LABELS[name]
    for name in (
        "words", "words_around", "pairs", "meaning", "meaning_around", "speaker", "first_person", "time",
        "conversation", "reply", "standing",
    )
}  # fmt: skip


def link(path: str, **query: Any) -> str:
    """Return a path with the parameters that are not None, False or empty; True is sent like a ticked box."""
    given = {name: "1" if value is True else value for name, value in query.items() if value not in (None, "", False)}
    return f"{path}?{urlencode(given)}" if given else path


@pass_context
def _when(context: Context, moment: datetime, form: str = "%Y-%m-%d %H:%M") -> Markup:
    """Return a time, in the visitor's zone, as an element that people and programs can read."""
    there = read_in(moment, context.get("zone", UTC))
    exact = there.isoformat()
    return Markup('<time datetime="{}" title="{}">{}</time>').format(exact, exact, format(there, form))


def _marked(text: str, words: tuple[str, ...]) -> Markup:
    """Return a text with its matched words highlighted, and everything else escaped."""
    if not words:
        return escape(text)
    pattern = re.compile(rf"(\b(?:{'|'.join(re.escape(word) for word in words)})\w*)", re.IGNORECASE)
    parts = [Markup("<mark>{}</mark>").format(part) if n % 2 else part for n, part in enumerate(pattern.split(text))]
    return Markup("").join(parts)  # which escapes the others


@pass_context
def _date(context: Context, moment: datetime) -> str:
    """Return the day, in the visitor's zone, in words."""
    return written_day(moment, context.get("zone", UTC))


@pass_context
def _field(context: Context, moment: datetime | None) -> str:
    """Return a time, in the visitor's zone, as the value of a form's field; nothing for None."""
    return "" if moment is None else field_of(moment, context.get("zone", UTC))


@pass_context
def _iso_date(context: Context, moment: datetime) -> str:
    """Return the day, in the visitor's zone, as 2024-05-01."""
    return read_in(moment, context.get("zone", UTC)).date().isoformat()


def _shares(signals: Mapping[str, float]) -> list[Share]:
    """Return the contribution of each signal, in the same order for all hits."""
    weighed = {name: max(points, 0.0) for name, points in contributions(signals).items()}
    return shares_of(signals, _SIGNALS, weighed)


@lru_cache(maxsize=1)
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("memorist.serve.console"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "in_order": partial(_DIRECTIONS.sub, "\N{REPLACEMENT CHARACTER}"),  # as agents read the characters
        "json": partial(json.dumps, ensure_ascii=False, indent=2),
        "when": _when,
        "field": _field,
        "day": _date,
        "date": _iso_date,
        "shares": _shares,
    }
    environment.globals |= {"link": link, "marked": _marked, "version": __version__}
    return environment


def render(template: str, **values: Any) -> str:
    """Return a rendered template. All values are escaped."""
    return _environment().get_template(template).render(**values)
