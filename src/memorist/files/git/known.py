"""First commits that were found before: a long history is read once, and later only what is new of it."""

from memorist.files.git.noted import note, noted
from memorist.files.git.objects import first_commit

_FILE = "first_commits.json"
_NOTED_FROM = 50
"""The commits that must have been read for the result to be noted."""
_MOST_NOTED = 500


def known_first_commit(folder: str, head: str) -> str | None:
    """Return the first commit of a history, as `objects.first_commit` does, with what is noted in the state folder."""
    known = noted(_FILE)
    first, count = first_commit(folder, head, known)
    if first is not None and count >= _NOTED_FROM:
        note(_FILE, {**known, head: first}, most=_MOST_NOTED)
    return first
