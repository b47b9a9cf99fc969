"""Which lines fit into a budget, the best first."""

from collections.abc import Sequence
from dataclasses import replace

from memorist.context.budget import Budget
from memorist.context.dates import dated, day_of
from memorist.context.lines import Line

__all__ = ["chosen"]

_FRAME = "<memory>\n</memory>\n"


def chosen(
    candidates: Sequence[Line], budget: Budget, before: Sequence[Line] = (), *, share: float = 1.0
) -> list[Line]:
    """Return `before` and those of the candidates, best first, that fit into a share of the budget with them."""
    kept: list[Line] = []
    shown: set[str] = set()
    days: set[object] = set()
    speakers: set[object] = set()
    room = budget.tokens * share - budget.count(_FRAME)

    def cost(line: Line) -> float:
        at, talk = line.record.at.date(), (line.record.scope.session, line.speaker)
        text = line.shown + "\n" + ("" if line.speaker is None or talk in speakers else f"{line.speaker}: ")
        return budget.count(text + ("" if line.standing or at in days else f"[{day_of(at)}]\n"))

    for place, line in enumerate([*before, *candidates]):
        if place >= len(before):
            line = replace(line, text=dated(line.text, line.record.at))
        takes = cost(line)
        if line.shown.casefold() in shown or takes > room:
            continue
        room -= takes
        kept.append(line)
        shown.add(line.shown.casefold())
        if not line.standing:
            days.add(line.record.at.date())
            speakers.add((line.record.scope.session, line.speaker))
    return kept
