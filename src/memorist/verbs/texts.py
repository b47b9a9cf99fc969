"""What is said of each argument of a verb: in MCP's tools, in REST's description, on the command line."""

from collections.abc import Mapping
from typing import Any

from memorist.operations import requests
from memorist.operations.request import Narrowed
from memorist.records.record import Draft
from memorist.system.docstrings import docstring_of, read_docstring
from memorist.system.hints import once
from memorist.verbs import Verbs


def described(kind: type[Any]) -> Any:
    """Return what has the texts on a request and its arguments: the type itself, or the method that makes it."""
    return Verbs.remember if kind is requests.Remember else kind


@once
def texts_of(kind: Any) -> Mapping[str, str]:
    """Return the text of each argument of a type of request, by name, or of each field of `Draft`.

    Those of `Remember` have the fields of its drafts among them.
    """
    sources = {Draft: (Draft,), requests.Remember: (Verbs.remember, Draft)}
    texts = dict[str, str]()
    for each in sources.get(kind, (Narrowed, requests.Browse, kind)):
        texts |= read_docstring(docstring_of(each))[1]
    return texts
