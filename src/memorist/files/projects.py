"""The label of a project, which is the agent of what was said in it.

It is the same on every machine, after a move and in each working tree: the address of the repository's remote, else its
first commit, else the id in a file ``.memorist``, else, where nothing else is known, the path of the folder.
"""

import os
import re
from typing import NamedTuple

from memorist.errors import InvalidInputError
from memorist.files.git.reading import is_own, read_small
from memorist.files.git.repository import Repository, repository_at

ID_FILE = ".memorist"
BY_COMMIT = "git:"
"""How the label of a project begins that is known by its first commit."""
BY_FILE = "memorist:"
"""How the label of a project begins that is known by its file alone."""
_ID = re.compile(r"\w[\w./-]{0,99}")
_LONGEST = 512
_MOST = 4096


class Project(NamedTuple):
    """A project.

    Attributes:
        label: what its records are labelled with.
        root: the folder of its repository, else the folder itself.
        whole: the label of the whole repository, where the project is a part of it; else its own.
        known_by: what the label comes from: "remote", "commit", "file" or "path".
        path: the label that older versions gave it: a path.
    """

    label: str
    root: str
    whole: str
    known_by: str
    path: str


def project_of(folder: str) -> str:
    """Return the label of the project that a folder is in; see `project_at`."""
    return project_at(folder).label


def root_of(folder: str) -> str:
    """Return the folder of the repository that a folder is in, else the folder itself."""
    place = os.path.realpath(_local(folder))
    return _above(place, ".git") or place


def project_at(folder: str) -> Project:
    """Return the project that a folder is in.

    The file ``.memorist`` says a part's own id, in a folder of a repository, or which remote counts. It names nothing
    beyond its own repository, so that a repository which somebody was given cannot pass for another one.

    Raises:
        InvalidInputError: the file ``.memorist`` is malformed.
    """
    place = os.path.realpath(_local(folder))
    root = _above(place, ".git")
    path = (root or place)[-_LONGEST:]
    file = _above(place, ID_FILE, until=root, own=True)
    id, remote = (None, None) if file is None else _said(file)
    known_by, whole = _of_repository(None if root is None else repository_at(root), remote)
    if id is None:
        label = whole or path
        return Project(label, root or place, label, known_by if whole else "path", path)
    if known_by == "remote":
        return Project(f"{whole}#{id}", root or place, str(whole), "remote", path)
    label = BY_FILE + id
    return Project(label, root or file or place, label, "file", path)


def labels_of(folder: str) -> tuple[str, ...]:
    """Return the label of the project that a folder is in, and those that what was said there may have had before."""
    project = project_at(folder)
    repository = repository_at(project.root)
    commit = None if repository is None else repository.first_commit()
    by_commit = () if commit is None else (BY_COMMIT + commit,)
    return tuple(dict.fromkeys((project.label, project.whole, *by_commit, project.path)))


def _local(folder: str) -> str:
    """Return a folder's path as this system has it."""
    if folder.startswith("/") and os.path.splitdrive(folder[1:])[0]:
        return folder[1:]  # as Cursor writes a folder of Windows: /c:/Users/jane
    return folder


def _above(place: str, name: str, until: str | None = None, *, own: bool = False) -> str | None:
    """Return the nearest folder, this one or one above it, that holds a name.

    Args:
        place: the folder.
        name: the name.
        until: the last folder to look in; by default the topmost.
        own: only where what is there belongs to this user.
    """
    while True:
        path = os.path.join(place, name)
        if is_own(path) if own else os.path.exists(path):
            return place
        above = os.path.dirname(place)
        if place == until or above == place:
            return None
        place = above


def _of_repository(repository: Repository | None, remote: str | None) -> tuple[str, str | None]:
    """Return what a repository is known by, and its label; None for the label where it is known by nothing."""
    if repository is None:
        return "path", None
    address = repository.address(remote)
    if address is not None and _is_name(address):
        return "remote", address
    commit = repository.first_commit()
    return ("path", None) if commit is None else ("commit", BY_COMMIT + commit)


def _is_name(label: str) -> bool:
    """Whether a label can be one: short, in characters that can be seen."""
    return len(label) <= _LONGEST and label.isprintable() and not re.search(r"\s", label)


def checked_id(id: object, name: str) -> str:
    """Return the id of a project.

    Raises:
        InvalidInputError: it is malformed; the text begins with `name`.
    """
    if isinstance(id, str) and _ID.fullmatch(id):
        return id
    raise InvalidInputError(f"{name} must be up to 100 letters, digits, dots, slashes and dashes")


def _said(folder: str) -> tuple[str | None, str | None]:
    """Return the id and the remote that the file of a folder names."""
    path = os.path.join(folder, ID_FILE)
    text = read_small(path, most=_MOST)
    if text is None:
        raise InvalidInputError(f"{path} is not a file of at most {_MOST:,} bytes; remove it, or write one line in it")
    import tomllib

    try:
        said = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise InvalidInputError(f'{path} is not TOML: {error}; write id = "NAME" in it') from error
    if unknown := said.keys() - {"id", "remote"}:
        raise InvalidInputError(f"{path} has an unknown name {min(unknown)!r}; it may have id and remote")
    id, remote = said.get("id"), said.get("remote")
    if id is not None:
        checked_id(id, f"the id in {path}")
    if remote is not None and not isinstance(remote, str):
        raise InvalidInputError(f"the remote in {path} must be the name of one, such as upstream")
    return id, remote
