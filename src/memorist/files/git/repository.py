"""A git repository: where it is, the address of its remote, and its first commit."""

import os
import re
from functools import cached_property

from memorist.files.git.addresses import portable
from memorist.files.git.reading import OWN_FILE, is_own, read_small

_SECTION = re.compile(r'\[\s*([\w.-]+)(?:\s+"((?:[^"\\]|\\.)*)")?\s*\]')
_VALUE = re.compile(r"([A-Za-z][\w-]*)\s*=\s*(.*)")
_HASH = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
_BRANCHES = ("refs/heads/main", "refs/heads/master")
"""The branches whose first commit counts, before that which is checked out: branches may begin apart."""
_MOST_REFERENCES = 16 << 20


class Repository:
    """A repository, or a working tree of one.

    Args:
        own: the folder of git's files of this working tree.
        common: the folder of those that its working trees share.
    """

    def __init__(self, own: str, common: str) -> None:
        self.own = own
        self.common = common

    @cached_property
    def remotes(self) -> dict[str, str]:
        """The addresses of remotes by name, in the order of the file."""
        found = dict[str, str]()
        name = None
        for line in (read_small(self.common, "config") or "").splitlines():
            text = line.strip()
            if section := _SECTION.match(text):
                name = section[2] if section[1].lower() == "remote" else None
                text = text[section.end() :].strip()
            value = _VALUE.fullmatch(text)
            if value and name is not None and value[1].lower() == "url":
                found.setdefault(name, _unquoted(value[2]))
        return found

    def address(self, remote: str | None = None) -> str | None:
        """Return the portable address of a remote; of origin, or else the first one, where none is named."""
        named = remote or ("origin" if "origin" in self.remotes else next(iter(self.remotes), None))
        return None if named is None or named not in self.remotes else portable(self.remotes[named])

    def first_commit(self) -> str | None:
        """Return the hash of the first commit; None without one, in a shallow clone, and where it is too far back."""
        from memorist.files.git.known import known_first_commit

        head = next(filter(None, map(self._commit, _BRANCHES)), None) or self._head()
        return None if head is None else known_first_commit(self.common, head)

    def _head(self) -> str | None:
        text = (read_small(self.own, "HEAD") or "").strip()
        if text.startswith("ref: refs/"):
            return self._commit(text.removeprefix("ref: "))
        return text if _HASH.fullmatch(text) else None

    def _commit(self, reference: str) -> str | None:
        """Return the commit that a reference names."""
        if ".." in reference or "\0" in reference:
            return None
        loose = (read_small(self.common, *reference.split("/")) or "").strip()
        if _HASH.fullmatch(loose):
            return loose
        packed = read_small(self.common, "packed-refs", most=_MOST_REFERENCES) or ""
        found = re.search(rf"^({_HASH.pattern}) {re.escape(reference)}$", packed, re.MULTILINE)
        return None if found is None else found[1]


def repository_at(root: str) -> Repository | None:
    """Return the repository whose working tree is this folder; None where the folder has none, or may have another's.

    A folder ``.git`` must be this user's and no link. A file ``.git``, which a further working tree and a submodule
    have, must name a folder that names this working tree in turn: else any folder could be taken for another project.
    """
    git = os.path.join(root, ".git")
    if not is_own(git):
        return None
    if os.path.isdir(git):
        return Repository(git, git)
    text = (read_small(git) or "").strip()
    if not text.startswith("gitdir: "):
        return None
    own = os.path.realpath(os.path.join(root, text.removeprefix("gitdir: ")))
    if not is_own(own):
        return None
    if back := (read_small(own, "gitdir") or "").strip():
        return _of_worktree(root, own, back)
    return Repository(own, own) if _names_as_worktree(own, root) else None


def _of_worktree(root: str, own: str, back: str) -> Repository | None:
    common = os.path.realpath(os.path.join(own, (read_small(own, "commondir") or "").strip() or "."))
    within = os.path.dirname(own) == os.path.join(common, "worktrees")
    names = os.path.realpath(os.path.join(own, back)) == os.path.join(root, ".git")
    return Repository(own, common) if within and names and is_own(common) else None


def _names_as_worktree(own: str, root: str) -> bool:
    """Whether the settings in a folder of git's files say that this is its working tree, as those of a submodule do."""
    core = False
    for line in (read_small(own, "config", most=OWN_FILE) or "").splitlines():
        text = line.strip()
        if section := _SECTION.match(text):
            core = section[1].lower() == "core" and section[2] is None
            continue
        value = _VALUE.fullmatch(text)
        if value and core and value[1].lower() == "worktree":
            return os.path.realpath(os.path.join(own, _unquoted(value[2]))) == root
    return False


def _unquoted(value: str) -> str:
    """Return a value of git's settings without a comment behind it and without its quotes."""
    quoted, made, escaped = False, "", False
    for letter in value:
        if escaped:
            made, escaped = made + letter, False
        elif letter == "\\":
            escaped = True
        elif letter == '"':
            quoted = not quoted
        elif letter in "#;" and not quoted:
            break
        else:
            made += letter
    return made.strip()
