"""A store that forwards every call to another; a subclass overrides what it changes."""

from collections.abc import Callable
from typing import Any, TypeVar, cast

from memorist.stores.audit import AuditLog
from memorist.stores.base import Store
from memorist.stores.segments import Segments

_M = TypeVar("_M", bound=Callable[..., Any])


def _forwarded(method: _M) -> _M:
    """Return a method that calls the one of this name on the wrapped store."""
    name = method.__name__

    async def forward(self: "WrappedStore", *args: Any, **kwargs: Any) -> Any:
        return await getattr(self.store, name)(*args, **kwargs)

    forward.__name__, forward.__qualname__ = name, f"WrappedStore.{name}"
    return cast(_M, forward)


class WrappedStore(Store):
    """Passes every call on to `store`."""

    def __init__(self, store: Store) -> None:
        self.store = store

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.store!r})"

    @property
    def searches_large(self) -> bool:
        return self.store.searches_large

    @property
    def segments(self) -> Segments | None:
        return self.store.segments

    @property
    def audit(self) -> AuditLog | None:
        return self.store.audit

    open = _forwarded(Store.open)
    close = _forwarded(Store.close)
    write = _forwarded(Store.write)
    remove = _forwarded(Store.remove)
    get = _forwarded(Store.get)
    fetch = _forwarded(Store.fetch)
    select = _forwarded(Store.select)
    values = _forwarded(Store.values)
    count = _forwarded(Store.count)
    users = _forwarded(Store.users)
    dimensions = _forwarded(Store.dimensions)
    tenants = _forwarded(Store.tenants)
    history = _forwarded(Store.history)
    walls = _forwarded(Store.walls)
    log = _forwarded(Store.log)
    entries = _forwarded(Store.entries)
    matching = _forwarded(Store.matching)
    vectors = _forwarded(Store.vectors)
    search_words = _forwarded(Store.search_words)
    outline = _forwarded(Store.outline)
    candidates = _forwarded(Store.candidates)
    sweep = _forwarded(Store.sweep)
    purge = _forwarded(Store.purge)
    search = _forwarded(Store.search)
    backup = _forwarded(Store.backup)
    scrub = _forwarded(Store.scrub)
    check = _forwarded(Store.check)
    fingerprint = _forwarded(Store.fingerprint)
    bind = _forwarded(Store.bind)
    unembedded = _forwarded(Store.unembedded)
    count_unembedded = _forwarded(Store.count_unembedded)
    fill = _forwarded(Store.fill)
    to_reembed = _forwarded(Store.to_reembed)
    left_to_reembed = _forwarded(Store.left_to_reembed)
    stage = _forwarded(Store.stage)
    adopt = _forwarded(Store.adopt)
