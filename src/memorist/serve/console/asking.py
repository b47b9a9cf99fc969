"""The page that asks: what is found, and beside it what an agent would be told."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, TypeVar

from starlette.responses import Response

from memorist.operations.answers import Context
from memorist.records.record import Hit, Kind
from memorist.serve.console.visits import Visit

T = TypeVar("T")

_HITS = 10
_TOKENS = 600
_MOST_USERS = 200
"""Users who are asked at once; those with the most records."""
_NARROWING = ("kind", "since", "until", "session", "as_of")
PARAMETERS = ("q", *_NARROWING, "shared", "everyone", "tokens", "limit", "first", "fragment")


@dataclass(frozen=True, slots=True)
class Chip:
    """A filter that a click sets or removes; `on` tells whether it is set."""

    text: str
    link: str
    on: bool = False
    off: bool = False
    kind: str | None = None


async def ask(visit: Visit) -> Response:
    """Show hits and context for a question. The script requests only the answers; without it, the form works."""
    question, chosen = visit.value("q") or "", {name: visit.value(name) for name in _NARROWING}
    shared, tokens, limit = visit.flag("shared"), visit.number("tokens", _TOKENS), visit.number("limit", _HITS)
    narrowing: dict[str, Any] = {name: value for name, value in chosen.items() if value is not None}
    everyone = visit.everyone
    how: dict[str, Any] = {"limit": limit + 1, "explain": True, **narrowing}
    if everyone:
        hits = await _of_everyone(visit, question, **how)
    else:
        hits = await visit.memory.recall(question, shared=shared, **how)
    first = visit.number("first")
    query = {**chosen, "shared": shared, "everyone": everyone, "tokens": tokens if tokens != _TOKENS else None}
    more = None
    if len(hits) > limit:
        more = f"{visit.link('/ask', q=question, **query, limit=limit + _HITS)}#hit-{limit + 1}"
    values: dict[str, Any] = {
        "question": question,
        "hits": hits[first:limit],
        "first": first,
        "more": more,
        "tokens": tokens,
    }
    fragment = visit.value("fragment")
    if fragment == "hits":
        return visit.part("more.html", **values)
    told = Context()
    if question and not everyone:
        told = await visit.memory.context(question, tokens=tokens, shared=shared, **narrowing)
    lines = pieces_of(told.text, zip(told.places(), told.items, strict=True))
    values |= {"told": told, "lines": lines, "everyone": everyone, "chips": _chips(visit, question, query)}
    if fragment is not None:
        return visit.part("answers.html", **values)
    asked_with = {name: "1" if value is True else str(value) for name, value in query.items() if value}
    narrowed = any(name != "kind" for name in asked_with)
    values |= {"chosen": chosen, "shared": shared, "asked_with": asked_with, "narrowed": narrowed}
    return visit.page("ask.html", title="Ask", scripts=("ask.js",), **values)


async def _of_everyone(visit: Visit, question: str, *, limit: int, **how: Any) -> list[Hit]:
    """Return the best hits of all users, each asked behind their own wall; scores of different users are comparable."""
    found = list[Hit]()
    users = await visit.memory.admin.users()
    for user in sorted(users, key=lambda user: -users[user])[:_MOST_USERS]:
        found += await visit.memory_of(user).recall(question, limit=limit, **how)
    return sorted(found, key=lambda hit: -hit.score)[:limit]


def pieces_of(text: str, placed: Iterable[tuple[tuple[int, int] | None, T]]) -> list[tuple[str, T | None]]:
    """Return a text in pieces, each with the item at its place."""
    pieces, last = list[tuple[str, T | None]](), 0
    for place, what in placed:
        if place is not None:
            pieces += [(text[last : place[0]], None), (text[slice(*place)], what)]
            last = place[1]
    return [*pieces, (text[last:], None)]


def _chips(visit: Visit, question: str, query: dict[str, Any]) -> list[Chip]:
    def leading(**changed: Any) -> str:
        return visit.link("/ask", q=question, **query | changed)

    kinds = [str(kind) for kind in Kind if kind.recallable]
    chips = [Chip("all kinds", leading(kind=None), on=query["kind"] is None)]
    chips += [Chip(kind, leading(kind=kind), on=query["kind"] == kind, kind=kind) for kind in kinds]
    titles = {"since": "from", "until": "before", "session": "in", "as_of": "as of"}
    for name, title in titles.items():
        if query[name] is not None:
            chips.append(Chip(f"{title} {query[name]}", leading(**{name: None}), on=True, off=True))
    if visit.may_show_everyone:
        chips.append(Chip("all users", leading(everyone=not query["everyone"]), on=query["everyone"]))
    if query["shared"]:
        chips.append(Chip("also shared", leading(shared=None), on=True, off=True))
    return chips
