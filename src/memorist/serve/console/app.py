"""The console's routes."""

import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.routing import BaseRoute, Mount, Route
from starlette.staticfiles import StaticFiles

from memorist.errors import MemoristError
from memorist.serve.auth import Right
from memorist.serve.console import (
    asking,
    cases,
    changes,
    conversations,
    home,
    importing,
    inbox,
    map,
    pages,
    personal,
    purging,
    tidying,
    timeline,
    traces,
)
from memorist.serve.console.rendering import render
from memorist.serve.console.sessions import COOKIE, Sessions
from memorist.serve.console.visits import Handler, answered, error_page, is_foreign, secured, set_cookie
from memorist.serve.limits import Limits
from memorist.serve.rest.access import Server, authorized
from memorist.serve.rest.problems import problem_of

STREAMING = ("/import", "/purge")
"""The paths of long-running requests, which have no time limit."""
LARGE = ("/import",)
"""The paths that accept uploads of any size."""

_STATIC = Path(__file__).parent / "static"
_PAGES: Mapping[tuple[str, Right], Mapping[str, tuple[Handler, Sequence[str]]]] = {
    ("GET", Right.READ): {
        "/": (home.home, ()),
        "/users": (home.users, ("name", "sort", "back", "start")),
        "/compare": (home.compare, ("one", "other", "q")),
        "/ask": (asking.ask, asking.PARAMETERS),
        "/personal": (personal.personal, ()),
        "/tidy": (tidying.tidy, ()),
        "/inbox": (inbox.inbox, ("approved", "rejected")),
        "/conversations": (conversations.conversations, ("text", "cursor")),
        "/conversation": (conversations.conversation, ("session", "around", "before", "after")),
        "/browse": (pages.browse, pages.PARAMETERS),
        "/record": (pages.record, ("id",)),
        "/topics": (pages.topics, ()),
        "/imports": (importing.imported, ()),
        "/time": (timeline.timeline, timeline.PARAMETERS),
        "/map": (map.draw, ("colour", "q", "everyone")),
        "/traces": (traces.traces, ("since", "until", "session", "door", "empty", "everyone", "cursor")),
        "/trace": (traces.trace, ("id", "q")),
        "/cases": (cases.cases, ()),
        "/cases.jsonl": (cases.download, ()),
        "/status": (pages.status, ()),
        "/export": (pages.export, ("to",)),
        "/import": (importing.show, ()),
    },
    ("GET", Right.ADMIN): {"/purge": (purging.preview, ())},
    ("POST", Right.READ): {"/zone": (changes.set_zone, ("zone",)), "/cases": (cases.run, ("kept",))},
    ("POST", Right.WRITE): {
        "/remember": (changes.remember, ("content",)),
        "/revise": (changes.revise, ("id", *changes.REVISABLE, "author")),
        "/revert": (changes.revert, ("id", "version")),
        "/supersede": (changes.supersede, ("id", "content", "happened_at")),
        "/rate": (changes.rate, ("id", "rating")),
        "/personal": (personal.decide, ("id", "do")),
        "/tidy": (tidying.decide, ("id", "do")),
        "/forget": (changes.forget, ("id", "ids")),
        "/undo": (changes.undo, ()),
        "/topic": (changes.set_topic, ("topic", "value")),
        "/import": (importing.upload, ("file", "zone")),
        "/import/now": (importing.go, ("do", "as", "me", "owner", "encoding", "zone", *importing.COLUMNS)),
        "/imports/undo": (importing.take_back, ("id",)),
        "/case": (cases.keep, ("id", "right")),
        "/uncase": (cases.remove, ("id",)),
    },
    ("POST", Right.ADMIN): {
        "/purge": (purging.purge, ("typed",)),
        "/inbox": (inbox.decide, ("id", "do", "content")),
    },
}
"""By its method and the right that it needs, each page's handler and its parameters."""


def add_console(app: Starlette, limits: Limits) -> None:
    """Add the console's routes to those of REST, and error pages for paths that do not exist."""
    server, sessions = app.state.server, Sessions()
    app.state.load_bytes = limits.load_bytes  # the most of an upload, and of what it holds unpacked
    app.router.routes.extend(_routes(server, sessions))
    told: Any = app.exception_handlers[HTTPException]

    async def missing(request: Request, error: Exception) -> Response:
        answer: Response = await told(request, error)
        if "text/html" in request.headers.get("accept", "") and not request.url.path.startswith("/v1/"):
            problem = json.loads(bytes(answer.body))
            detail = "there is no such page" if answer.status_code == 404 else problem["detail"]
            return await error_page(request, server, sessions, {**problem, "detail": detail})
        return answer

    app.add_exception_handler(HTTPException, missing)


def _routes(server: Server, sessions: Sessions) -> list[BaseRoute]:
    return [
        *(
            Route(path, answered(handler, server, sessions, method, right, names), methods=[method])
            for (method, right), subject in _PAGES.items()
            for path, (handler, names) in subject.items()
        ),
        Route("/login", _login(server, sessions), methods=["GET", "POST"]),
        Route("/logout", _logout(sessions), methods=["POST"]),
        Route("/docs", _docs, methods=["GET"]),
        Mount("/static", StaticFiles(directory=_STATIC)),
    ]


async def _docs(request: Request) -> Response:
    """Return a page on the REST API, made of its OpenAPI description."""
    return secured(HTMLResponse(render("docs.html", title="REST API", api=request.app.openapi())))


def _login(server: Server, sessions: Sessions) -> Callable[[Request], Awaitable[Response]]:
    """Handle the login page: a token is entered once, and a cookie replaces it."""

    async def login(request: Request) -> Response:
        if request.method == "POST":
            return secured(await enter(request))
        return secured(_login_page(_own(request.query_params.get("next"))))

    async def enter(request: Request) -> Response:
        form = await request.form(max_files=0, max_fields=5)
        token = form.get("token")
        secret = token.strip() if isinstance(token, str) else ""
        target = _own(form.get("next"))
        if is_foreign(request):
            return _login_page(target, "this form has expired; reload the page and send it again", 403)
        try:
            (await authorized(request, server, secret)).check(Right.READ)
        except MemoristError as error:
            status, _, problem = problem_of(error)
            return _login_page(target, problem["detail"], status)
        response = RedirectResponse(target, 303)
        set_cookie(request, response, sessions.begin(server.memory.zone, secret))
        return response

    return login


def _login_page(target: str, problem: str | None = None, status: int = 200) -> Response:
    return HTMLResponse(render("login.html", title="Sign in", problem=problem, next=target), status)


def _own(path: object) -> str:
    """Return a path on this site; for any other address, the path of the first page."""
    own = isinstance(path, str) and path.startswith("/") and not path.startswith(("//", "/\\"))
    return str(path) if own else "/"


def _logout(sessions: Sessions) -> Callable[[Request], Awaitable[Response]]:
    async def logout(request: Request) -> Response:
        session = sessions.find(request.cookies.get(COOKIE))
        form = await request.form(max_files=0, max_fields=5)
        if session is not None and form.get("csrf") == session.csrf:
            sessions.end(session)
        response = RedirectResponse("/login", 303)
        response.delete_cookie(COOKIE)
        return response

    return logout
