"""A store that forwards every call to another; a subclass overrides what it changes."""

from abc import update_abstractmethods
from typing import Any

from memorist.stores.base import Store

__all__ = ["WrappedStore"]


class WrappedStore(Store):
    """Passes every call on to `store`, whatever a `Store` has; type checkers take it for abstract all the same."""

    def __init__(self, store: Store) -> None:
        self.store = store

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.store!r})"


def _passed_on(name: str) -> Any:
    if isinstance(getattr(Store, name), property):
        return property(lambda self: getattr(self.store, name))
    return lambda self, *args, **kwargs: getattr(self.store, name)(*args, **kwargs)


for _name in [name for name in vars(Store) if not name.startswith("_")]:
    setattr(WrappedStore, _name, _passed_on(_name))
update_abstractmethods(WrappedStore)  # type: ignore[type-abstract]
