"""Methods made from requests: the request's fields are the arguments, its docstring is the text."""

from collections.abc import Callable
from dataclasses import MISSING
from inspect import Parameter, Signature
from typing import Any, TypeVar, Unpack

from memorist.operations.options import Narrowing
from memorist.operations.request import Narrowed, Request, answer_of, arguments_of

T = TypeVar("T")
_FORMS = {
    "place": Parameter.POSITIONAL_OR_KEYWORD,
    "each": Parameter.VAR_POSITIONAL,
    "name": Parameter.KEYWORD_ONLY,
}


class Asking:
    """What has verbs: it asks an engine for what a request says."""

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        for name, member in vars(cls).items():
            if hasattr(member, "__signature__"):
                member.__module__, member.__qualname__ = cls.__module__, f"{cls.__qualname__}.{name}"

    async def _ask(self, request: Request[T]) -> T:
        """Return the answer to a request."""
        raise NotImplementedError


def verb(kind: type[Request[Any]]) -> Callable[..., Any]:
    """Return the method that makes a request of this type from its arguments, and answers it."""
    signature = signature_of(kind)

    async def ask(self: Asking, *args: Any, **kwargs: Any) -> Any:
        try:
            given = signature.bind(self, *args, **kwargs).arguments
        except TypeError as error:
            raise TypeError(f"{kind.verb}(): {error}") from None
        del given["self"]
        return await self._ask(kind.of(given | given.pop("narrowing", {})))

    ask.__name__ = kind.verb
    ask.__doc__ = kind.__doc__
    ask.__annotations__ = {each.name: each.annotation for each in [*signature.parameters.values()][1:]}
    ask.__annotations__["return"] = signature.return_annotation
    ask.__signature__ = signature  # type: ignore[attr-defined]
    return ask


def signature_of(kind: type[Request[Any]]) -> Signature:
    """Return the signature of the verb that makes a request of this type."""
    parameters = [Parameter("self", Parameter.POSITIONAL_OR_KEYWORD)]
    for each in arguments_of(kind):
        default = Parameter.empty if each.default is MISSING or each.by == "each" else each.default
        parameters.append(Parameter(each.name, _FORMS[each.by], default=default, annotation=each.kind))
    if issubclass(kind, Narrowed):
        parameters.append(Parameter("narrowing", Parameter.VAR_KEYWORD, annotation=Unpack[Narrowing]))
    return Signature(parameters, return_annotation=answer_of(kind))
