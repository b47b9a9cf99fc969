"""The verbs that are one request each, as `memorist.operations.requests` declares them.

Type checkers and editors read ``declared.pyi``, which ``tools/make_sync_stub.py`` writes.
"""

from memorist.operations import requests
from memorist.verbs.making import Asking, verb


class MemoryVerbs(Asking):
    """What one asks of a memory."""

    revise = verb(requests.Revise)
    rate = verb(requests.Rate)
    forget = verb(requests.Forget)
    relabel = verb(requests.Relabel)
    purge = verb(requests.Purge)
    restore = verb(requests.Restore)
    recall = verb(requests.Recall)
    context = verb(requests.Context)
    recent = verb(requests.Recent)
    lookup = verb(requests.Lookup)
    get = verb(requests.Get)
    find = verb(requests.Find)
    browse = verb(requests.Browse)
    count = verb(requests.Count)
    vectors = verb(requests.Vectors)
    history = verb(requests.History)
    changes = verb(requests.Changes)
    why = verb(requests.Why)
    derived = verb(requests.Derived)


class AdminVerbs(Asking):
    """What a user or an operator asks of a whole memory."""

    users = verb(requests.Users)
    traces = verb(requests.Traces)
    inbox = verb(requests.Inbox)
    approve = verb(requests.Approve)
    reject = verb(requests.Reject)
    tidy = verb(requests.Tidy)
    archive = verb(requests.Archive)
    audit = verb(requests.Audit)
    checkpoint = verb(requests.Checkpoint)
    retain = verb(requests.Retain)
    retention = verb(requests.Retention)
    sweep = verb(requests.Sweep)
    secrets = verb(requests.Secrets)
    check = verb(requests.Check)
    reindex = verb(requests.Reindex)
