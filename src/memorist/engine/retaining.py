"""Handlers of the requests about retention. The rules of a tenant are a topic of the server's tenant, in the store."""

import json
from collections import Counter
from collections.abc import AsyncIterator, Iterable
from typing import Any

from memorist.engine.core import Core
from memorist.engine.writing import remember
from memorist.operations import requests
from memorist.operations.calls import Call
from memorist.records.filters import make_filter
from memorist.records.record import Action, Draft, Kind, Record
from memorist.records.retention import FOREVER, RetentionReport, Rule, parse_rules
from memorist.records.scope import SERVER_TENANT, Reach, Scope, Wall
from memorist.stores.base import Remove

_KEY = "retention/"


async def retain(core: Core, call: Call, request: requests.Retain) -> list[Rule]:
    """Store the tenant's rules in place of those before."""
    call.scope.check_everyone()
    content = json.dumps([rule.to_dict() for rule in request.rules])
    draft = Draft(content=content, kind=Kind.TOPIC, key=_KEY + call.scope.tenant)
    await remember(core, call.at(Scope(SERVER_TENANT)), requests.Remember(records=(draft,), if_exists="replace"))
    return list(request.rules)


async def retention(core: Core, call: Call, request: requests.Retention) -> RetentionReport:
    """Return the tenant's rules, or the proposed rules, and how many records are too old by these rules."""
    call.scope.check_everyone()
    rules = request.rules
    if rules is None:
        rules = (await _rules(core, call.scope.tenant)).get(call.scope.tenant, ())
    due: Counter[str] = Counter()
    seen = set[tuple[Wall, str]]()
    async for wall, records in _overdue(core, call.scope.tenant, rules):
        due.update(str(record.kind) for record in records if (wall, record.id) not in seen)
        seen.update((wall, record.id) for record in records)
    return RetentionReport(rules, dict(sorted(due.items())))


async def sweep(core: Core, call: Call, request: requests.Sweep) -> int:
    """Delete the tenant's records that have expired or are too old by its rules."""
    call.scope.check_everyone()
    expired = await core.store.sweep(core.clock(), call.scope.tenant, act=call.act)
    return expired + await enforce(core, call, call.scope.tenant)


async def enforce(core: Core, call: Call, tenant: str | None = None) -> int:
    """Delete what is too old by the rules of a tenant, or (None) of every tenant; return how many records."""
    gone = 0
    for each, rules in (await _rules(core, tenant)).items():
        async for wall, records in _overdue(core, each, rules):
            moment = core.clock()
            over = [Remove(each.id, Action.EXPIRED, moment, version=each.version) for each in records]
            gone += sum(await core.store.write(wall, over, act=call.act))
    return gone


async def _rules(core: Core, tenant: str | None) -> dict[str, tuple[Rule, ...]]:
    """Return the rules of a tenant, or (None) of every tenant, by tenant."""
    named: dict[str, Any] = {"key_prefix": _KEY} if tenant is None else {"key": _KEY + tenant}
    stored = make_filter(kind=Kind.TOPIC, **named)
    found = [each async for page in core.pages(Reach(SERVER_TENANT, (None,)), stored) for each in page]
    return {(each.key or "").removeprefix(_KEY): parse_rules("rules", json.loads(each.content)) for each in found}


async def _overdue(core: Core, tenant: str, rules: Iterable[Rule]) -> AsyncIterator[tuple[Wall, list[Record]]]:
    """Yield the records of a tenant that are too old, wall by wall."""
    now = core.clock()
    kept = [rule.filter(None) for rule in rules if rule.keep == FOREVER]
    for rule in rules:
        if rule.keep == FOREVER:
            continue
        async for page in core.pages(Reach(tenant, None), rule.filter(now)):
            walls: dict[Wall, list[Record]] = {}
            for record in page:
                if not any(filter.matches(record, now) for filter in kept):
                    walls.setdefault(record.scope.wall, []).append(record)
            for wall, records in walls.items():
                yield wall, records
