"""Where records come from, and how far they may be believed.

Every record names its authors: all who had a hand in its text, those of the records that it was derived from
included. Authors are only ever added. The trust in a record is the trust in its least trusted author, by the operator's
rules. So this trust can only fall.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import Flag
from functools import cache, reduce
from operator import or_
from typing import Any, Literal, TypeAlias, get_args

from memorist.errors import InvalidInputError, ScopeError, shown
from memorist.records.content import whole_names

Trust: TypeAlias = Literal["low", "medium", "high"]
LEVELS: tuple[Trust, ...] = get_args(Trust)
"""From the least on."""
MAX_SOURCES = 1000
"""Most records that one is derived from."""


class Author(Flag):
    """Who had a hand in a record; several at once are combined with ``|``.

    USER is the user behind whose wall the record is, OPERATOR who runs the store, AGENT another agent than the
    assistant that the user talks to, TOOL the result of a tool, WEB a web page, IMPORT another program's data.
    PEER marks a record that users share and that an operator did not write: for each reader, another user wrote it.
    """

    USER = 1
    ASSISTANT = 2
    TOOL = 4
    WEB = 8
    IMPORT = 16
    AGENT = 32
    OPERATOR = 64
    PEER = 128

    @property
    def names(self) -> list[str]:
        """The names of the authors, in lower case."""
        return list(_names_of(self))


@cache
def _names_of(authors: Author) -> tuple[str, ...]:
    return tuple(str(each.name).lower() for each in authors)


NOBODY = Author(0)
AuthorLike: TypeAlias = Author | str | Iterable[str]
_BY_NAME = {str(each.name).lower(): each for each in Author}
_BY_ROLE = {
    **dict.fromkeys(("user", "human"), Author.USER),
    **dict.fromkeys(("assistant", "ai", "model"), Author.ASSISTANT),
    **dict.fromkeys(("tool", "function"), Author.TOOL),
    **dict.fromkeys(("system", "developer"), Author.OPERATOR),
}


def parse_authors(value: AuthorLike) -> Author:
    """Return the authors that a name, several names, or an `Author` stand for.

    Raises: InvalidInputError: a name is unknown, or no name is given.
    """
    if isinstance(value, Author):
        authors = value
    elif isinstance(value, Iterable):
        authors = NOBODY
        for name in [value] if isinstance(value, str) else value:
            if not isinstance(name, str) or name not in _BY_NAME:
                raise InvalidInputError(f"unknown author {shown(name)}; available: {', '.join(_BY_NAME)}")
            authors |= _BY_NAME[name]
    else:
        raise InvalidInputError(f"author must be a name or several, not {shown(value)}")
    if not authors:
        raise InvalidInputError(f"a record needs an author; available: {', '.join(_BY_NAME)}")
    return authors


def joined(authors: Iterable[Author]) -> Author:
    """Return all the authors together."""
    return reduce(or_, authors, NOBODY)


def author_of_role(role: object) -> Author:
    """Return the author of a message by its role; a role that is not a chat's own is that of another agent."""
    return _BY_ROLE.get(str(role).lower(), Author.AGENT)


def author_named(name: str) -> Author | None:
    """Return the author that a speaker of this name, in lower case, says to be; None for a name of somebody's own."""
    return _BY_ROLE.get(name) or _BY_NAME.get(name)


@dataclass(frozen=True, slots=True)
class Door:
    """Where a request came in: set by the code that accepts the request, never by the request's arguments.

    Args:
        name: as records show it: ``rest``, ``mcp``, a framework's name.
        author: the author of a record if the caller names none.
        claims: the authors that may be named there. If not every author may be named, records that are derived from
            others also get `author`.
        traced: whether traces are kept of what comes through it.
        always: authors that are added to every record, whoever is named.
        proposes: whether an agent asks here, so that what it asks for waits for the user where the settings say so.
    """

    name: str
    author: Author = Author.USER
    claims: Author = ~NOBODY
    traced: bool = True
    always: Author = NOBODY
    proposes: bool = False

    @property
    def is_open(self) -> bool:
        """Whether any author may be named."""
        return self.claims == ~NOBODY

    def within(self, outer: "Door") -> "Door":
        """Return this door inside another: only authors that both doors allow may be named."""
        claims = self.claims & outer.claims
        author = self.author if self.author in claims else outer.author
        always, proposes = self.always | outer.always, self.proposes or outer.proposes
        return Door(self.name, author, claims, self.traced and outer.traced, always, proposes)

    def named(self, author: AuthorLike) -> Author:
        """Return the authors that a caller names.

        Raises:
            ScopeError: one of them may not be named here.
            InvalidInputError: one of them is unknown.
        """
        authors = parse_authors(author)
        if beyond := authors & ~self.claims:
            raise ScopeError(f"the author {' and '.join(beyond.names)} cannot be named through {self.name}")
        return authors | self.always

    def admitted(self, authors: Author) -> Author:
        """Return authors from a role or a stored record; the door's own author replaces those not allowed here."""
        return self.always | (authors if authors in self.claims else authors & self.claims | self.author)


PYTHON = Door("python")
CLI = Door("cli", Author.OPERATOR)
REST = Door("rest", claims=~Author.OPERATOR)
HOOK = Door("hook", claims=~Author.OPERATOR)
IMPORT = Door("import", Author.IMPORT, ~Author.OPERATOR, always=Author.IMPORT)
CONSOLE = Door("console", claims=~Author.OPERATOR, traced=False)
OPERATOR_CONSOLE = Door("console", Author.OPERATOR, traced=False)
MCP = Door("mcp", Author.ASSISTANT, ~(Author.USER | Author.OPERATOR), proposes=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    """Where a record comes from.

    Attributes:
        authors: all who had a hand in it.
        door: where it was written, as ``rest``; None for what was stored before doors were noted.
        derived_from: the ids of the records that it was drawn from, behind the same wall.
        lost: the number of further source records that have been forgotten since.
    """

    authors: Author
    door: str | None = None
    derived_from: tuple[str, ...] = ()
    lost: int = 0

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON values."""
        return {
            "authors": self.authors.names,
            "door": self.door,
            "derived_from": list(self.derived_from),
            "lost": self.lost,
        }

    @classmethod
    def from_dict(cls, plain: object) -> "Origin":
        """Return the origin that `to_dict` made `plain` of.

        Raises:
            InvalidInputError: a field is missing, unknown or wrong.
        """
        if not isinstance(plain, Mapping) or plain.keys() - cls.__dataclass_fields__.keys() or "authors" not in plain:
            raise InvalidInputError(
                f"an origin has the fields {', '.join(cls.__dataclass_fields__)}; this is {shown(plain)}"
            )
        given: dict[str, Any] = dict(plain)
        sources = given.get("derived_from", ())
        if isinstance(sources, str | Mapping) or not isinstance(sources, Iterable):
            raise InvalidInputError(f"derived_from must be record ids, not {shown(sources)}")
        [door], ids = whole_names([given.get("door")]), whole_names(sources)
        return cls(**{**given, "authors": parse_authors(given["authors"]), "door": door, "derived_from": ids})

    @classmethod
    def assumed(cls, kind: str, payload: Mapping[str, Any], source: str | None) -> "Origin":
        """Return the origin of a record that was stored before origins were noted."""
        if source is not None and source.startswith("import:"):
            return cls(authors=Author.IMPORT)
        if kind in ("tool_use", "tool_guideline"):
            return cls(authors=Author.TOOL)
        if kind == "message" and "role" in payload:
            return cls(authors=author_of_role(payload["role"]))
        return cls(authors=Author.USER)


_DEFAULT: Mapping[Author, Trust] = {
    Author.USER: "high",
    Author.OPERATOR: "high",
    Author.ASSISTANT: "medium",
    Author.AGENT: "medium",
    Author.IMPORT: "medium",
    Author.TOOL: "low",
    Author.WEB: "low",
    Author.PEER: "low",
}


@dataclass(frozen=True, slots=True)
class TrustRules:
    """How far each author is trusted: an operator's rules, which hold for what was stored before, too.

    Args:
        levels: the level of an author by its name; of those left out, the default.

    Raises:
        InvalidInputError: an author or a level is unknown.
    """

    levels: Mapping[str, Trust] = field(default_factory=dict)
    _of: Mapping[Author, int] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        given = {}
        for name, level in self.levels.items():
            if name not in _BY_NAME or level not in LEVELS:
                raise InvalidInputError(
                    f"trust in {shown(name)} is {shown(level)}; the authors are {', '.join(_BY_NAME)}, "
                    f"and the levels are {', '.join(LEVELS)}"
                )
            given[_BY_NAME[name]] = level
        levels = {author: LEVELS.index(level) for author, level in {**_DEFAULT, **given}.items()}
        object.__setattr__(self, "_of", levels)

    @classmethod
    def known(cls, levels: Mapping[str, Any]) -> "TrustRules":
        """Return the rules that `to_dict` serialised, without authors and levels that only a newer version knows."""
        return cls({name: level for name, level in levels.items() if name in _BY_NAME and level in LEVELS})

    def to_dict(self) -> dict[str, Trust]:
        """Return the level of each author, including the default levels."""
        return {name: LEVELS[self._of[author]] for name, author in _BY_NAME.items()}

    def of(self, authors: Author, reader: str | None) -> Trust:
        """Return the trust in a record: the trust in its least trusted author.

        Args:
            authors: the record's.
            reader: the user who reads. Without a user, no author counts as a peer.
        """
        counted = [self._of[each] for each in authors if reader is not None or each is not Author.PEER]
        return LEVELS[min(counted, default=0)]

    def below(self, least: Trust, reader: str | None) -> Author:
        """Return the authors whom a reader trusts less than `least`; see `of`."""
        level, below = LEVELS.index(least), NOBODY
        for author, trust in self._of.items():
            if trust < level and (reader is not None or author is not Author.PEER):
                below |= author
        return below
