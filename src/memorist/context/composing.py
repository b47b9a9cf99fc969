"""From a question to a context: what always holds, then the best evidence that fits."""

from collections.abc import Callable, Mapping, Set
from dataclasses import replace
from datetime import datetime
from functools import partial
from typing import Any, cast

from memorist.context.budget import Budget
from memorist.context.choosing import Chosen
from memorist.context.confidence import MIN_CONFIDENCE, confidence_of, says_nothing
from memorist.context.dates import dated
from memorist.context.life_changes import Changed, changes_since, touched
from memorist.context.lines import Line, laid_out, line_of, ordered
from memorist.context.naming import named_among
from memorist.context.reading import Reader
from memorist.context.related import beside
from memorist.context.sentences import QuestionTerms, shortened
from memorist.context.standing import asked_for, standing_among
from memorist.context.trusting import Judge
from memorist.languages.writing import day_of
from memorist.operations import requests
from memorist.operations.answers import Context
from memorist.operations.requests import Narrowing
from memorist.recall.artefact import artefact
from memorist.recall.question import MAX_TEXT
from memorist.records.origins import Trust
from memorist.records.record import Hit, Kind, Record
from memorist.records.times import Clock
from memorist.records.zones import moved
from memorist.system.offload import offload

STANDING_SHARE = 1 / 3
"""The share of the budget that standing content (topics, pinned records, instructions) may take."""
_LIMITS: Mapping[str, float] = artefact()["telling"]
"""Chosen by bench/lived/limits.py."""
LEAST_SHARE = _LIMITS["least_share"]
"""A record is told whose share of the probability is at least so much of the best one's."""
BLIND, MOST_BLIND = _LIMITS["blind"], _LIMITS["most_blind"]
"""A record must hold so much of what a record drawn blindly would, and the most that is asked for that."""
ONE_SHARE = _LIMITS["one_share"]
"""The share of the budget that one record may take, unless it is short or likely to answer."""
MOST_SHARE = _LIMITS["most_share"]
"""The largest share of the budget that any record may take."""
TIGHT_FROM = 4
"""The position in the order after which less is shown of a record."""
SHORT = _LIMITS["short"]
"""The most words of a record that is not cut, unless it comes late or the budget is small."""
_LEAST = 1e-6
_WITH_RELATED = 3
"""The best hits, which are told with what belongs beside them, whether or not anything replaced them."""
_LOOKED_AT = 12
"""The best hits of which it is asked whether something changed since."""
_THEN = "→"
"""Separates a cue from the content."""
_TOKENS_A_WORD = 1.4
_TOKENS_A_HIT = 12
_FEWEST, _MOST = 20, 150


async def compose(reader: Reader, request: requests.Context, clock: Clock, trust: Callable[[Record], Trust]) -> Context:
    """Return what an agent is told for a question; see `memorist.Memory.context` for the arguments.

    Args:
        reader: reads the records of the scope that asks.
        request: what is asked.
        clock: returns the present.
        trust: returns the trust in a record.
    """
    tokens, known, shared = request.tokens, request.known, request.shared
    narrowing: dict[str, Any] = {name: getattr(request, name) for name in (*Narrowing.__annotations__, "as_of")}
    least = MIN_CONFIDENCE if request.min_confidence is None else request.min_confidence
    budget, asked_at = Budget(tokens, request.count_tokens), cast(datetime | None, request.now)
    question = request.query[:MAX_TEXT]
    asked = QuestionTerms.of(question)
    moment = moved(asked_at or clock(), reader.zone) if asked.how_long_ago else None
    judge = Judge(trust, request.min_trust or "low", reader.user)
    chosen = await offload(lambda: Chosen(budget, moment, known, judge), known)
    for line in await asked_for(reader, request.topics, request.pinned, shared=shared):
        chosen.add(line, share=STANDING_SHARE)
    hits, confidence, cut = list[Hit](), 0.0, ""
    if asked.terms:
        limit = min(max(tokens // _TOKENS_A_HIT, _FEWEST), _MOST) + min(len(known), _MOST)
        hits = await reader.found(request.query, limit=limit, now=asked_at, shared=shared, explain=True, **narrowing)
        named = await named_among(reader.found, question, hits, {"shared": shared, **narrowing}, reader.user)
        confidence = confidence_of(hits, named)
    silent = bool(asked.terms) and confidence < least
    if request.standing:
        for line in await standing_among(reader, asked, conditional=not silent, shared=shared):
            chosen.add(line, share=STANDING_SHARE)
    if not silent:
        texts = [hit.record.content for hit in hits]
        new = await offload(lambda: [hit for hit in hits if not chosen.knows(hit.record)], texts)
        telling, cut = _telling(new)
        holding = [hit.record for hit in telling[:_LOOKED_AT] if hit.replaced is None]
        changed = await changes_since(reader.found, holding, {"shared": shared, "now": asked_at, **narrowing}, trust)
        changed = {id: replace(each, record=each.record.read_in(reader.zone)) for id, each in changed.items()}
        candidates = await _candidates(reader, telling, changed, asked, tokens)
        await offload(lambda: chosen.fill(candidates), texts)
    elif hits:
        cut = f"none of the {len(hits)} hits is included: the confidence {confidence:.2f} is below {least:g}"
    lines = chosen.lines
    return await offload(lambda: _context(lines, confidence, budget, moment, cut), [line.item for line in lines])


def _room(hit: Hit, tokens: int) -> int:
    """Return how many words of a hit may be shown: a hit's score is also its share of the budget."""
    words = tokens / _TOKENS_A_WORD
    return int(min(max(SHORT, words * max(ONE_SHARE, hit.score)), words * MOST_SHARE))


def _telling(new: list[Hit]) -> tuple[list[Hit], str]:
    """Return the hits that are told while they fit, best first, and why no more.

    A record that only asks tells nothing, nor does one that says that it is not known. The others are told down to a
    share of the probability that is small beside the best one's: what stands so far behind hardly ever answers, nor
    does it correct what does; in a small memory, nor does what is less likely than a record drawn blindly. Of two that
    may tell states of the same each holds the other's share, too, as far as that is likely. What an assistant
    said in a few words is no measure: it may have been right once. Nor are known records for new ones.
    """
    saying = [hit for hit in new if not says_nothing(hit)]
    measured = [hit for hit in saying if not hit.signals.get("assistant")] or saying
    best = max(map(_share, measured), default=0.0)
    blind = min((hit.signals.get("blind", 0.0) for hit in saying), default=0.0)
    least = best * max(LEAST_SHARE, min(BLIND * blind, MOST_BLIND))
    told = [hit for hit in saying if _share(hit) + hit.signals.get("instead", 0.0) >= least]
    if not new:
        return told, ""
    cut = f"{len(told)} of {len(new)} hits are included where they fit"
    if len(saying) < len(new):
        cut += f"; {len(new) - len(saying)} only ask, or say that they do not know"
    if len(told) < len(saying):
        cut += f"; the remaining hits score below {least:.2%}"
    return told, cut


async def _candidates(
    reader: Reader, hits: list[Hit], changed: Mapping[str, Changed], asked: QuestionTerms, tokens: int
) -> list[Callable[[int], Line]]:
    """Return the lines of hits, made when they are tried, of so many words at most."""
    candidates: list[Callable[[int], Line]] = []
    told, foremost = {hit.record.id for hit in hits}, hits[:_WITH_RELATED]
    corrected = [hit for hit in hits[:_LOOKED_AT] if hit.replaced]
    told |= {hit.replaced.by for hit in corrected if hit.replaced}
    marked = {
        hit.record.id: since
        for position, hit in enumerate(foremost)
        if (since := changed.get(hit.record.id)) is not None
        and since.name in touched(_part(reader.read(hit), position, asked, _room(hit, tokens)))
    }
    told |= {each.record.id for each in marked.values()}
    for position, hit in enumerate(hits):
        id, room = hit.record.id, _room(hit, tokens)
        candidates.append(partial(_shown, reader, hit, position, changed.get(id), asked, room, told))
        beside_it = position < _WITH_RELATED or hit in corrected
        if beside_it and (company := await beside(reader, reader.read(hit), marked.get(id), asked)) is not None:
            candidates.append(lambda _, line=company: line)  # type: ignore[misc]  # it is a line
    return candidates


def _share(hit: Hit) -> float:
    """Return a hit's share of the probability.

    The score is not used, because it is nearly 0 for all hits if none fits well; in that case many lines may answer.
    """
    return max(hit.signals.get("share", hit.score), _LEAST)


def _part(hit: Hit, position: int, asked: QuestionTerms, words: int) -> str:
    """Return what is shown of a hit's text: at most so many words, and fewer for hits later in the order."""
    record = hit.record
    text = record.content if record.cue is None else f"{record.cue} {_THEN} {record.content}"
    return dated(shortened(text, asked, words, tight=position >= TIGHT_FROM), record.at)


def _shown(
    reader: Reader,
    hit: Hit,
    position: int,
    since: Changed | None,
    asked: QuestionTerms,
    room: int,
    told: Set[str],
    most: int,
) -> Line:
    """Return the line of a hit, of which `room` and `most` words are shown at most.

    A former state says so, as does what something that changed `since` touches, and where the later record is among
    those that are `told`, it points at its day.
    """
    hit = reader.read(hit)
    record, text = hit.record, _part(hit, position, asked, min(room, most))
    if record.kind is Kind.FACT and record.payload.get("supersedes"):
        text = f"{text} (since {day_of(record.at)})"
    if (later := hit.replaced) is not None:
        text = f"{text} (changed{': see' if later.by in told else ' by'} {day_of(later.at)})"
    elif since is not None and since.name in touched(text):
        seen = ": see" if since.record.id in told else ","
        text = f"{text} (before {since.name}{seen} {day_of(since.record.at)})"
    reason = f"place {position + 1}, {_share(hit):.1%} of the probability"
    return line_of(record, text, "recalled", hit.score, reason, hit.replaced)


def _context(lines: list[Line], confidence: float, budget: Budget, now: datetime | None, cut: str) -> Context:
    """Return the context of lines in the order of their worth, without the last lines if they do not fit."""
    while lines:
        shown = ordered(lines)
        text = laid_out(shown, now)
        if (counted := budget.count(text)) <= budget.tokens:
            return Context(text, confidence, tuple(line.item for line in shown), counted, cut=cut)
        lines = lines[:-1]
    return Context(confidence=confidence, cut=cut)
