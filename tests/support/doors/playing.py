"""Calls played through two doors, and their answers held against each other."""

from collections.abc import Collection, Mapping
from typing import Any

from doors.base import Door, Refused
from doors.calls import FILED, Call, Earlier
from memorist.records.times import iso, parse_time


class Player:
    """Plays calls through a door, and returns answers that can be compared."""

    def __init__(self, door: Door, tenant: str, shows: Collection[str], in_zone: bool = False) -> None:
        self.door = door
        self.tenant = tenant
        self.shows = shows
        self.in_zone = in_zone
        self.stored: list[str] = []
        self.approved: set[str] = set()
        """Those of them that an agent asked for: each happened when it did, so at another time behind each door."""

    async def play(self, call: Call) -> Any:
        arguments = {name: self._named(value) for name, value in call.arguments.items()}
        try:
            answer = await self.door.call(self.tenant, Call(call.verb, call.user, arguments, call.zone))
        except Refused as refused:
            return refused
        if call.verb in FILED:
            return answer, await self.door.left(self.tenant)
        for stored in [answer] if call.verb == "remember" else answer if call.verb == "approve" else ():
            if stored["id"] not in self.stored:
                self.stored.append(stored["id"])
            if call.verb == "approve":
                self.approved.add(stored["id"])
        if call.verb == "history":
            return [each["action"] for each in answer]
        if call.verb == "recall":  # what scores alike may come in any order
            return sorted((self._seen(each) for each in answer), key=repr)
        return [self._seen(each) for each in answer] if isinstance(answer, list) else self._seen(answer)

    def _named(self, value: Any) -> Any:
        if isinstance(value, list):
            return [self._named(each) for each in value]
        if not isinstance(value, Earlier):
            return value
        return self.stored[value.number] if value.number < len(self.stored) else "none"

    def _seen(self, answer: Any) -> Any:
        if not isinstance(answer, Mapping) or "id" not in answer:
            return answer
        seen = {name: answer[name] for name in self.shows if answer.get(name) not in (None, {}, False)}
        if self.in_zone and "happened_at" in seen:
            seen["happened_at"] = iso(parse_time(seen["happened_at"]))
        if answer["id"] in self.approved:
            seen.pop("happened_at", None)
        return seen | {"id": self.stored.index(answer["id"]) if answer["id"] in self.stored else answer["id"]}


def alike(expected: Any, found: Any) -> bool:
    """Return whether two answers are the same records, or the same class of error."""
    if isinstance(expected, Refused) and isinstance(found, Refused):
        return None in (expected.family, found.family) or expected.family == found.family
    return not isinstance(expected, Refused) and not isinstance(found, Refused) and bool(expected == found)


async def compared(law: Door, door: Door, calls: list[Call]) -> list[tuple[Call, Any, Any]]:
    """Play calls through both, and return those that were answered differently."""
    players = [Player(each, await each.empty(), door.shows, door.in_zone) for each in (law, door)]
    differing = []
    for call in calls:
        answers = [await player.play(call) for player in players]
        if not alike(*answers):
            differing.append((call, *answers))
    return differing
