"""One request to the console: its caller and scope, and the responses to it."""

import json
import secrets
from collections.abc import Awaitable, Callable, Collection, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, TypeAlias
from urllib.parse import urlsplit

from starlette.requests import ClientDisconnect, Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from memorist.errors import FormatError, InvalidInputError, MemoristError, ScopeError, StoreFullError, shown
from memorist.memory import Memory
from memorist.records.origins import CONSOLE, OPERATOR_CONSOLE, Door
from memorist.records.record import Record
from memorist.records.times import parse_time
from memorist.serve.auth import Grant, Right, UnauthorizedError
from memorist.serve.console.rendering import HEADERS, link, render
from memorist.serve.console.sessions import COOKIE, Session, Sessions
from memorist.serve.console.zones import field_of
from memorist.serve.observability.requests import SCOPE
from memorist.serve.reading import number_of, read_query
from memorist.serve.rest.access import Server, authorized
from memorist.serve.rest.problems import problem_of

_MOST_PARTS = 5
_MOST_FILES = 100
_REFUSED = "this form has expired; go back, reload the page, and send it again"
PAGES = (
    ("/", "Home"),
    ("/ask", "Ask"),
    ("/inbox", "Inbox"),
    ("/conversations", "Conversations"),
    ("/browse", "Records"),
    ("/topics", "Topics"),
    ("/personal", "Preferences"),
    ("/time", "Time"),
    ("/map", "Map"),
    ("/traces", "Traces"),
    ("/cases", "Cases"),
    ("/tidy", "Tidy"),
    ("/import", "Import"),
    ("/users", "Users"),
    ("/status", "Status"),
)
"""The pages that the navigation leads to: path and name."""
_SECTIONS = {
    "/record": "/browse",
    "/conversation": "/conversations",
    "/trace": "/traces",
    "/purge": "/status",
    "/imports": "/import",
}
"""The pages below others."""
BACK_TO = frozenset((*(place for place, _ in PAGES), "/purge")) - {"/users"}
"""The pages that are shown again once a user is chosen."""


@dataclass(frozen=True, slots=True)
class Visit:
    """An admitted request.

    `values` are the parameters of the query, and those of the form if one was sent; `pending` is how many proposals
    wait in the inbox, of all users where none is chosen.
    """

    request: Request
    session: Session
    grant: Grant
    server: Server
    values: Mapping[str, Any]
    pending: int = 0

    def value(self, name: str) -> str | None:
        """Return a parameter exactly as it was sent; None for an empty one."""
        text = self.values.get(name)
        return text or None if isinstance(text, str) else None

    def needed(self, name: str, told: str | None = None) -> str:
        """Return a parameter that must be there.

        Raises:
            InvalidInputError: it is not; `told` says what to do, by default that it is missing.
        """
        if (value := self.value(name)) is None:
            raise InvalidInputError(told or f"{name} is missing")
        return value

    def flag(self, name: str) -> bool:
        """Return whether a box is ticked.

        Raises:
            InvalidInputError: the value is not one that a check box sends.
        """
        if (sent := self.value(name)) not in (None, "1"):
            raise InvalidInputError(f"{name} is 1 or left out, not {shown(sent)}")
        return sent is not None

    def number(self, name: str, default: int = 0) -> int:
        """Return a whole number of 0 or more that was sent.

        Raises:
            InvalidInputError: the parameter is not a number.
        """
        text = self.value(name)
        number = default if text is None else number_of(text)
        if not isinstance(number, int) or number < 0:
            raise InvalidInputError(f"{name} must be a whole number, not {shown(text)}")
        return number

    def text(self, name: str, before: str | None = None) -> str | None:
        """Return a typed text with the CR LF of browsers turned back into the original line ends.

        Args:
            name: the parameter.
            before: the text that was edited; returned unchanged if only its line ends differ.
        """
        typed = self.value(name)
        if typed is None:
            return None
        plain = _one_line_end(typed)
        if before is not None and plain == _one_line_end(before):
            return before
        return plain.replace("\n", "\r\n") if before is not None and "\r\n" in before else plain

    def moment(self, name: str, before: datetime | None) -> datetime | None:
        """Return a typed time, which is one of the visitor's zone if it names none; None for an empty one.

        Args:
            name: the parameter.
            before: the time that was edited; returned unchanged if the minute is still the same.

        Raises:
            InvalidInputError: what was typed is no point in time.
        """
        if (typed := self.value(name)) is None:
            return None
        if before is not None and typed == field_of(before, self.session.zone):
            return before
        try:
            moment = datetime.fromisoformat(typed)
        except ValueError:
            return parse_time(typed)
        return moment if moment.tzinfo is not None else moment.replace(tzinfo=self.session.zone)

    def mapping(self, name: str) -> dict[str, Any]:
        """Return an object that was typed as JSON; {} for an empty text.

        Raises:
            InvalidInputError: the text is no JSON object.
        """
        try:
            found = json.loads(self.value(name) or "{}")
        except (ValueError, RecursionError) as error:
            raise InvalidInputError(f'{name} must be JSON, as {{"city": "Oslo"}}: {error}') from error
        if not isinstance(found, dict):
            raise InvalidInputError(f'{name} must be a JSON object, as {{"city": "Oslo"}}')
        return found

    @property
    def scope(self) -> dict[str, str | None]:
        """The tenant and user that every link carries, unless the token is bound to them."""
        tenant = None if self.grant.tenant is not None else self.value("tenant")
        user = None if self.grant.user is not None else self.value("user")
        return {"tenant": tenant, "user": user}

    @property
    def memory(self) -> Memory:
        """The memory in the requested scope.

        Raises:
            ScopeError: the token does not allow that scope.
        """
        return self.memory_of(self.value("user"))

    def memory_of(self, user: str | None) -> Memory:
        """Return the memory of a user of the requested tenant.

        Raises:
            ScopeError: the token does not allow that scope.
        """
        scope = self.grant.scope(tenant=self.value("tenant"), user=user)
        self.request.scope[SCOPE] = scope
        return self.server.quotas.memory(self.server.memory, self.grant, scope).scoped(zone=self.session.zone)

    @property
    def everyone(self) -> bool:
        """Whether the records of all users are asked for; a named user takes precedence.

        Raises:
            ScopeError: the token does not allow that.
        """
        asked = self.flag("everyone") and self.memory.scope.user is None
        if asked:
            self.grant.check(Right.ADMIN)
        return asked

    @property
    def may_see_all(self) -> bool:
        """Whether the token allows reading all users of its tenant at once."""
        return self.grant.user is None and self.grant.right.includes(Right.ADMIN)

    @property
    def may_show_everyone(self) -> bool:
        """Whether all users may be shown together: none is chosen, and the token allows reading all of them."""
        return self.may_see_all and self.memory.scope.user is None

    @property
    def door(self) -> Door:
        """The door by which the visitor came in."""
        return OPERATOR_CONSOLE if self.may_see_all else CONSOLE

    def link(self, path: str, **query: Any) -> str:
        """Return a path in the same scope."""
        return link(path, **self.scope, **query)

    def with_user(self, path: str, user: str | None, **query: Any) -> str:
        """Return a path in the scope of another user of the tenant."""
        return link(path, **{**self.scope, "user": user}, **query)

    def record_link(self, record: Record) -> str | None:
        """Return the address of a record's page, in the scope of its owner, who may differ from the current user.

        None for a record that the token cannot reach, such as a shared one with a user's token.
        """
        return self.page_of(record.scope.user, record.id)

    def page_of(self, owner: str | None, id: str) -> str | None:
        """Return the address of the page of an owner's record, likewise."""
        if self.grant.user is None:
            return link("/record", tenant=self.scope["tenant"], user=owner, id=id)
        return self.link("/record", id=id) if owner == self.grant.user else None

    def conversation_link(self, record: Record) -> str:
        """Return the address of a message's place in its conversation, in the scope of its owner."""
        owner = {} if self.grant.user is not None else {"user": record.scope.user}
        query = {**self.scope, **owner, "session": record.scope.session, "around": record.id}
        return f"{link('/conversation', **query)}#found"

    def page(self, template: str, status: int = 200, **values: Any) -> Response:
        notice, self.session.notice = self.session.notice, None
        common = {
            "session": self.session,
            "grant": self.grant,
            "scope": self.scope,
            "may_write": self.grant.right.includes(Right.WRITE),
            "path": self.request.url.path,
            "notice": notice,
            "tenant": self.grant.tenant or self.value("tenant"),
            "pages": [each for each in PAGES if each[0] != "/users" or self.grant.user is None],
            "question": "",
            "asked_with": {},
            "scripts": (),
            "back_to": BACK_TO,
            "section": _SECTIONS.get(self.request.url.path, self.request.url.path),
        }
        return self.part(template, status, **common | values)

    def part(self, template: str, status: int = 200, **values: Any) -> Response:
        """Return a part of a page, for a script to put in its place."""
        common = {
            "visit": self,
            "here": self.link,
            "zone": self.session.zone,
            "user": self.grant.user or self.value("user"),
        }
        return HTMLResponse(render(template, **common | values), status)

    def redirect(self, path: str, notice: str | None = None, **query: Any) -> Response:
        """Return a redirect to another page, with a message to show there."""
        self.session.notice = notice
        return RedirectResponse(self.link(path, **query), 303)


Handler: TypeAlias = Callable[[Visit], Awaitable[Response]]


def answered(
    handler: Handler, server: Server, sessions: Sessions, method: str, right: Right, names: Collection[str]
) -> Callable[[Request], Awaitable[Response]]:
    """Return a handler as a route that redirects unauthenticated visitors to /login and shows errors as pages.

    Args:
        handler: answers an admitted request.
        server: what all requests share.
        sessions: the sessions of browsers.
        method: "GET", or "POST" of a form.
        right: the right that the handler needs.
        names: its parameters, apart from the tenant, the user and a form's proof.
    """
    known = ("tenant", "user", *(("csrf",) if method == "POST" else ()), *names)

    async def route(request: Request) -> Response:
        session = sessions.find(request.cookies.get(COOKIE))
        fresh = session is None
        session = session or sessions.begin(server.memory.zone)
        try:
            grant = await authorized(request, server, session.secret)
        except UnauthorizedError:
            sessions.end(session)
            return secured(RedirectResponse(link("/login", next=_own_path(request)), 303))
        visit = _entered(request, session, grant, server)
        try:
            grant.check(right)  # before a body is read
            if is_foreign(request) and request.method == "POST":
                raise FormRefusedError(_REFUSED)
            visit = replace(visit, values=await _values(request, known))
            if request.method == "POST" and not _is_own(session, visit.values.get("csrf")):
                raise FormRefusedError(_REFUSED)
            visit = replace(visit, pending=await _pending(visit) if request.method == "GET" else 0)
            response = await handler(visit)
        except MemoristError as error:
            response = _error_page(visit, error)
        finally:
            await request.close()  # the file of a form
        if fresh:
            set_cookie(request, response, session)
        return secured(response)

    return route


def _entered(request: Request, session: Session, grant: Grant, server: Server) -> Visit:
    """Return the visit of an admitted request, before its parameters are read."""
    visit = Visit(request, session, grant, server, {})
    return replace(visit, server=server.entered(visit.door, grant))


async def _pending(visit: Visit) -> int:
    """Return how many proposals wait for the chosen user, or for all users where none is chosen and all may be seen."""
    try:
        memory = visit.memory
    except ScopeError:  # which the page itself reports, if it shows records
        return 0
    if visit.may_show_everyone:
        return sum((await memory.admin.users(waiting=True)).values())
    return len(await memory.admin.inbox())


async def _values(request: Request, known: Collection[str]) -> dict[str, Any]:
    """Return the parameters of the query and of the form; a file, and the form's proof beside it, come in parts."""
    query = request.scope["query_string"]
    try:
        if not request.headers.get("content-type", "").startswith("multipart/"):
            if "file" in known:  # only these bodies may be larger than what fits in memory
                raise FormatError("choose a file")
            return read_query(query + b"&" + await request.body(), known, repeated=("ids",))
        form = await request.form(max_files=_MOST_FILES, max_fields=_MOST_PARTS)
    except ClientDisconnect as error:
        raise FormatError("the connection closed before the form was complete") from error
    except OSError as error:
        raise StoreFullError(f"the server cannot keep the files: {error.strerror or error}") from error
    fields = {name: each for name, each in form.items() if name in known and name not in ("tenant", "user")}
    return {**read_query(query, known), **fields, "files": form.getlist("file")}


def _is_own(session: Session, csrf: object) -> bool:
    """Return whether a form comes from a page of this session."""
    return isinstance(csrf, str) and secrets.compare_digest(csrf.encode(), session.csrf.encode())


def is_foreign(request: Request) -> bool:
    """Return whether a page of another site sent the request."""
    origin = request.headers.get("origin")
    return origin is not None and urlsplit(origin).netloc != request.headers.get("host", "")


class FormRefusedError(UnauthorizedError):
    """A form came from another site or session."""


def _error_page(visit: Visit, error: MemoristError) -> Response:
    """Return an error in the frame of the other pages; a scope that is not allowed is not kept in its links."""
    status, _, body = problem_of(error)
    status = 403 if isinstance(error, FormRefusedError) else status
    visit = replace(visit, values={}) if isinstance(error, ScopeError) else visit
    return visit.page("error.html", status, title=body["title"], detail=body["detail"])


async def error_page(request: Request, server: Server, sessions: Sessions, problem: Mapping[str, Any]) -> Response:
    """Return a problem as a page: in the frame of the other pages if the caller may see them."""
    told, status = {"title": problem["title"], "detail": problem["detail"]}, problem["status"]
    session = sessions.find(request.cookies.get(COOKIE)) or Session()
    try:
        grant = await authorized(request, server, session.secret)
    except UnauthorizedError:
        return secured(HTMLResponse(render("lost.html", **told), status))
    return secured(_entered(request, session, grant, server).page("error.html", status, **told))


def set_cookie(request: Request, response: Response, session: Session) -> None:
    """Set the session's cookie."""
    secure = request.url.scheme == "https"
    response.set_cookie(COOKIE, session.id, httponly=True, samesite="strict", secure=secure, path="/")


def secured(response: Response) -> Response:
    """Return a response with headers that forbid the browser everything that the pages do not need."""
    for name, value in HEADERS.items():
        response.headers.setdefault(name, value)
    return response


def _one_line_end(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _own_path(request: Request) -> str:
    query = f"?{request.url.query}" if request.url.query else ""
    return f"{request.url.path}{query}" if request.method == "GET" else "/"
