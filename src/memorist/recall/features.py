"""Features of a record for a question, which ranking weighs; each is 0 where it says nothing.

words, words_around, pairs     the question's words in the record, with its neighbours', and side by side
meaning, meaning_around        the cosine of the vectors, and with the neighbours'
speaker, first_person          who says it is asked about, or asks
time, told_time, planned       its time, and the days that it tells of, fit the time asked about
says_when, standing            it says when something was; it is an instruction or a preference
impersonal, asks, echo         it says nothing of its speaker; it asks; an assistant repeats the question's words
conversation                   how good the best of its conversation is
generic                        it is near to any question
states_around, replaced, ...   which states of the same there are; see `replaced`
asks_only, asking              it does nothing but ask, by its form and by its vector
asks_covered, nothing_new      it asks in words of this question; all its words are of this question
unknowing, chats               it says that it does not know; it is small talk
unanswered                     what was said next is that it is not known
reply, other_reply             it answers a question that is near to this one; it answers another one
assistant                      an assistant says it
instructs                      it instructs
"""

import numpy as np

from memorist.languages.calendar import DAY, WEEK
from memorist.recall.heads import Heads
from memorist.recall.index import KINDS, Bools, Floats, Rows, WallIndex
from memorist.recall.question import Question
from memorist.recall.temporal import time_fit
from memorist.recall.text_features import ASKS, STANDING, TELLS, TIMED
from memorist.records.record import Kind

_UNLIKE, _THE_SAME = 0.45, 0.65
"""A question that is no nearer than this to the one before a reply is another one; and one that is surely the same."""
_NEARER = 0.04
"""By how much nearer another question must be for one to be the same by 1 / e as likely."""
_ASKED = 0.3
"""How likely a text must ask to be compared so."""
_FITS, _SURELY_FITS = 0.5, 0.7
"""The fitted cosines from which on a record may tell what a question asks for, and from which on it surely does."""
_RELATED = 0.5
"""The cosine from which on one text may repeat another."""
_BRIEF, _FEW = 8, 4
"""The terms of what may do nothing but ask, or say that it does not know: longer texts tell something, too; and the
most terms at which the vector alone tells that a text asks."""


def around(index: WallIndex, rows: Rows, cosines: Floats) -> Floats:
    """Return the cosine with each row's vector and half of its neighbours' in the conversation."""
    before, after = index.neighbours()
    mixed = cosines[rows].copy()
    for side in (before[rows], after[rows]):
        mixed += np.float32(0.5) * np.where(side >= 0, cosines[side], np.float32(0))
    around: Floats = (mixed / np.maximum(index.blend_lengths(rows), 1e-6)).astype(np.float32)
    return around


def who(index: WallIndex, question: Question, rows: Rows) -> dict[str, Floats]:
    """Return who speaks: the people asked about, and the user where the question says "I"."""
    signals: dict[str, Floats] = {}
    asked = [code for name, code in index.speakers.items() if name in question.speakers]
    if 0 < len(asked) < len(index.speakers):
        signals["speaker"] = index.spoken_by(asked, rows).astype(np.float32)
    people = index.in_role(None)
    # Who talks with an assistant is the one named "user", or whoever has no role where another has one.
    users = [index.speakers["user"]] if "user" in index.speakers else people
    if question.first_person and users and len(people) < len(index.speakers):
        signals["first_person"] = index.spoken_by(users, rows).astype(np.float32)
    return signals


def told_time(index: WallIndex, question: Question, rows: Rows) -> dict[str, Floats]:
    """Return how well the days that the texts themselves point at fit the time asked about, and, where it is asked what
    is planned, how exactly; what recurs on such a day fits it wholly."""
    fades = {"told_time": WEEK, "planned": DAY} if question.ahead or question.weekly else {"told_time": WEEK}
    marked, days = index.days()
    ahead_of_utc = question.spans[0].ahead_of_utc if question.spans else 0.0
    if not question.ahead:  # who asks for what was is not answered by what was planned
        over = days <= (index.column("at")[marked] / 1e6 + ahead_of_utc) // DAY
        marked, days = marked[over], days[over]
    noons = (days.astype(np.float64) + 0.5) * DAY - ahead_of_utc
    recurs = (index.column("weekly")[rows] & question.weekly) > 0
    signals: dict[str, Floats] = {}
    for name, each in fades.items():
        best = np.zeros(index.rows, np.float32)
        np.maximum.at(best, marked, time_fit(noons, question.spans, each))
        signals[name] = np.maximum(best[rows], recurs)
    return signals


def telling(index: WallIndex, question: Question, rows: Rows) -> dict[str, Floats]:
    """Return the signals of what a message does (tells, asks, names a time), whatever its subject."""
    message = index.column("kind")[rows] == KINDS[Kind.MESSAGE]
    signals: dict[str, Bools] = {}
    if message.any():
        signals = {"impersonal": message & ~index.column(TELLS)[rows], "asks": index.column(ASKS)[rows]}
        if question.when:
            signals["says_when"] = index.column(TIMED)[rows]
    if not question.speakers:
        signals["standing"] = index.column(STANDING)[rows]
    return {name: values.astype(np.float32) for name, values in signals.items()}


def doing(
    index: WallIndex, question: Question, rows: Rows, near: Floats, heads: Heads, talk: float = 0.0
) -> dict[str, Floats]:
    """Return the features of what messages do, by their vectors and by who says what next.

    Args:
        index: the wall's.
        question: what is asked.
        rows: the records that are looked at.
        near: the fitted cosine of every row with the question.
        heads: of the embedder.
        talk: how likely the question is about the talk itself, as "What did I ask you?", which questions answer.
    """
    message = index.column("kind")[rows] == KINDS[Kind.MESSAGE]
    if not message.any():
        return {}
    by_assistant = index.spoken_by(index.in_role("assistant"), rows)
    said = message & ~by_assistant
    before, after = (side[rows].astype(np.intp) for side in index.neighbours())
    likely = {name: _likely(index, heads, name, rows) for name in ("asks", "unknowing", "chats", "instructs")}
    brief = np.minimum(_BRIEF / np.maximum(index.column("length")[rows], 1), 1)
    asks_only = index.column(ASKS)[rows] * said * np.float32(1 - talk)
    asking, asked = np.split(asking_of(index, np.concatenate([rows, before]), heads), 2)
    asking = asking * np.float32(1 - talk)
    unknowing = likely["unknowing"] * brief * message
    covered, nothing_new = _covered(index, question, rows)
    asked = np.maximum(asked, index.column(ASKS)[before]) * (before >= 0) * by_assistant
    alike = _alike(_at(near, before), asked)
    holding = 1 - _told_later(index, rows, near[rows], said & (asks_only == 0))
    features = {
        "asks_only": asks_only,
        "asking": asking,
        "asks_covered": 2 * np.maximum(asks_only, asking) * covered,
        "nothing_new": nothing_new * said * np.maximum.reduce([asks_only, likely["asks"], likely["chats"]]),
        "unknowing": unknowing,
        "chats": likely["chats"] * message,
        "unanswered": _likely(index, heads, "unknowing", after) * brief * said,
        "reply": asked * alike * (1 - unknowing) * holding * np.minimum(3 * brief, 1),
        "other_reply": asked * (1 - alike) * brief,
        "repeats": _repeats(index, rows, by_assistant, said & (asks_only == 0)),
        "assistant": brief * by_assistant,
        "instructs": likely["instructs"] * said,
    }
    return {name: values.astype(np.float32) for name, values in features.items()}


def asking_of(index: WallIndex, rows: Rows, heads: Heads) -> Floats:
    """Return how likely messages that are no assistant's do nothing but ask, by their vectors: short ones, and those
    that were answered with not knowing; of a row that is -1, anything."""
    message = index.column("kind")[rows] == KINDS[Kind.MESSAGE]
    said = message & ~index.spoken_by(index.in_role("assistant"), rows)
    length = index.column("length")[rows]
    next_said = np.where(rows >= 0, index.neighbours()[1][rows], -1).astype(np.intp)
    unanswered = _likely(index, heads, "unknowing", next_said) * (length <= 2 * _BRIEF)
    few = np.clip((_BRIEF - length) / (_BRIEF - _FEW), 0, 1)
    asking: Floats = (_likely(index, heads, "asks", rows) ** 2 * np.maximum(few, unanswered) * said).astype(np.float32)
    return asking


def _alike(near: Floats, asked: Floats) -> Floats:
    """Return how likely what was asked before each row is this question in other words, 0 to 1: the nearest of them, if
    it is near.

    Args:
        near: the fitted cosine of what was said before each row with the question.
        asked: how likely that asked for something.
    """
    nearest = near[asked > _ASKED].max(initial=0)
    ramp = np.clip((near - _UNLIKE) / (_THE_SAME - _UNLIKE), 0, 1)
    alike: Floats = ramp * np.exp(np.minimum(near - nearest, 0) / _NEARER)
    return alike


def _told_later(index: WallIndex, rows: Rows, near: Floats, told: Bools) -> Floats:
    """Return how near to the question the nearest record is that others told later than each row, 0 to 1: it may be
    what holds since."""
    at = index.column("at")[rows]
    nearest = np.where(told & (at > at[:, None]), near, 0).max(axis=1, initial=0)
    later: Floats = np.clip((nearest - _FITS) / (_SURELY_FITS - _FITS), 0, 1).astype(np.float32)
    return later


def _repeats(index: WallIndex, rows: Rows, by_assistant: Bools, told: Bools) -> Floats:
    """Return how much of what an assistant says repeats one of the records that others told, 0 to 1."""
    repeats = np.zeros(len(rows), np.float32)
    if not by_assistant.any() or not told.any():
        return repeats
    near = index.vectors.take(rows[by_assistant]) @ index.vectors.take(rows[told]).T
    repeats[by_assistant] = np.clip((near.max(axis=1) - _RELATED) / (1 - _RELATED), 0, 1)
    return repeats


def _at(column: Floats | Bools, rows: Rows) -> Floats:
    """Return a column's values at some rows, 0 where a row is -1."""
    values: Floats = np.where(rows >= 0, column[rows], 0).astype(np.float32)
    return values


def _likely(index: WallIndex, heads: Heads, name: str, rows: Rows) -> Floats:
    """Return how likely a head says yes of each row; 0 where a row is -1, or the head is not known."""
    likely = np.zeros(len(rows), np.float32)
    held = np.flatnonzero(rows >= 0)
    if name in heads.weights:
        likely[held] = index.likely(name, heads.likely, rows[held])
    return likely


def _covered(index: WallIndex, question: Question, rows: Rows) -> tuple[Floats, Bools]:
    """Return which share of each row's terms are of the question, and whether all its words are."""
    held = index.held_terms(rows)
    new = held.distinct - held.of(index.numbers_of({*question.terms, *question.former}))
    covered: Floats = (1 - np.minimum(new / np.maximum(held.lengths, 1), 1)).astype(np.float32)
    return covered, (new == 0) & (held.lengths > 0)
