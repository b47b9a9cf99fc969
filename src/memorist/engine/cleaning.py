"""What a record must not hold when it is stored: private parts and, as the settings say, secrets."""

import logging
from collections.abc import Callable
from dataclasses import replace

from memorist.errors import InvalidInputError
from memorist.records.kind import Kind
from memorist.records.record import Record
from memorist.records.scope import SERVER_TENANT
from memorist.secrets import Policy, in_texts, masked, secrets_in, without_private

log = logging.getLogger("memorist.secrets")


def cleaned(record: Record, policy: Policy | None, *, warns: bool = True) -> Record:
    """Return a record as it may be stored: without private parts, and without secrets where they are masked.

    Args:
        record: the record.
        policy: what is done with secrets; None keeps them, as `keep` does.
        warns: whether the log says of a record with a secret that it is kept.

    Raises:
        InvalidInputError: it holds a secret, and the policy is `refuse`.
    """
    if not may_change(record):
        return record
    record = with_texts(record, without_private)
    if policy == "mask":
        return with_texts(record, masked)
    if not (policy == "refuse" or warns) or not (forms := forms_in(record)):
        return record
    told = ", ".join(forms)
    if policy == "refuse":
        raise InvalidInputError(
            f"the text seems to contain a secret ({told}), so it was not stored; remove it, or have "
            "the operator set MEMORIST_SECRETS to mask or keep"
        )
    log.warning(
        "%s was stored although it seems to contain a secret (%s); to mask it, run: memorist secrets --redact",
        record.id,
        told,
    )
    return record


def may_change(record: Record) -> bool:
    """Return whether texts of a record may be masked.

    What a framework keeps of its own state may not: it would not be read again with a part missing. Nor may what the
    server itself keeps.
    """
    return record.kind is not Kind.STATE and record.scope.tenant != SERVER_TENANT


def forms_in(record: Record) -> list[str]:
    """Return the names of the forms of the secrets in a record, each once."""
    found = dict[str, None]()

    def look(text: str) -> str:
        found.update(dict.fromkeys(each.form for each in secrets_in(text)))
        return text

    with_texts(record, look)
    return list(found)


def with_texts(record: Record, change: Callable[[str], str]) -> Record:
    """Return a record with each of its texts changed: content and cue, and what metadata and payload hold."""
    given = {name: getattr(record, name) for name in ("content", "cue", "metadata", "payload")}
    new = {name: in_texts(value, change) for name, value in given.items()}
    return record if new == given else replace(record, **new)
