"""Cursors: the end of a page as an opaque text."""

import base64
import json
from typing import get_args

from memorist.errors import InvalidInputError, shown
from memorist.records.record import Order, Page, Record
from memorist.records.times import to_micros
from memorist.stores.base import Cursor

CHANGES = "changes"
"""The order of changes: by the time and the number of the later record."""


def make_page(found: list[Record], size: int, order: Order) -> Page:
    """Return a page of at most `size` of the records, with a cursor where there are more."""
    records = found[:size]
    if len(found) <= size or not records:
        return Page(records)
    last = records[-1]
    position = last.key if order == "key" else to_micros(last.at)
    return Page(records, encode(order, position, to_micros(last.created_at), last.id, last.scope.user))


def encode(order: str, position: str | int | None, stored: int, id: str = "", user: str | None = None) -> str:
    """Return the cursor of a position, which `decode` returns."""
    return base64.urlsafe_b64encode(json.dumps([order, position, stored, id, user]).encode()).decode()


def decode(cursor: str | None, order: str) -> Cursor | None:
    """Return the position at which the previous page ended.

    Raises:
        InvalidInputError: the cursor was not made by this package, or belongs to another order.
    """
    if cursor is None:
        return None
    try:
        made_for, position, stored, id, user = json.loads(base64.urlsafe_b64decode(cursor.encode()))
    except (ValueError, TypeError, AttributeError, RecursionError):
        made_for = None
    if made_for not in (*get_args(Order), CHANGES):
        raise InvalidInputError("the cursor is not the `next` of a page; start again without a cursor")
    if made_for != order:
        raise InvalidInputError(f"the cursor is of a page in the order {shown(made_for)}, not {shown(order)}")
    placed = isinstance(position, str) if order == "key" else _is_time(position)
    if not (placed and _is_time(stored) and isinstance(id, str) and isinstance(user, str | None)):
        raise InvalidInputError("the cursor was altered; start again without a cursor")
    return position, stored, id, user


def _is_time(value: object) -> bool:
    return type(value) is int and abs(value) < 2**63
