"""The console's routes."""

from collections.abc import Awaitable, Callable
from pathlib import Path

from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.routing import BaseRoute, Mount, Route
from starlette.staticfiles import StaticFiles

from memorist.errors import MemoristError
from memorist.serve.auth import Right, UnauthorizedError
from memorist.serve.console import changes, pages
from memorist.serve.console.rendering import HEADERS, render
from memorist.serve.console.sessions import COOKIE, Sessions
from memorist.serve.console.visits import answered
from memorist.serve.rest.access import Server, authorized

__all__ = ["console_routes"]

_STATIC = Path(__file__).parent / "static"
_LOOKS = {
    "/": pages.find, "/browse": pages.browse, "/record": pages.record, "/topics": pages.topics,
    "/picture": pages.picture, "/status": pages.status, "/export": pages.export,
}  # fmt: skip
_CHANGES = {
    "/remember": changes.remember, "/revise": changes.revise, "/rate": changes.rate, "/forget": changes.forget,
    "/undo": changes.undo, "/topic": changes.set_topic, "/load": changes.load,
}  # fmt: skip


def console_routes(server: Server) -> list[BaseRoute]:
    """Return the console's routes, to stand beside those of REST."""
    sessions = Sessions()
    routes: list[BaseRoute] = [
        Route(path, answered(handler, server, sessions, Right.READ), methods=["GET"])
        for path, handler in _LOOKS.items()
    ]
    routes += [
        Route(path, answered(handler, server, sessions, Right.WRITE), methods=["POST"])
        for path, handler in _CHANGES.items()
    ]
    return [
        *routes,
        Route("/login", _Login(server, sessions), methods=["GET", "POST"]),
        Route("/logout", _logout(sessions), methods=["POST"]),
        Mount("/static", StaticFiles(directory=_STATIC)),
    ]


class _Login:
    """The way in: a token, once; the cookie stands for it afterwards."""

    def __init__(self, server: Server, sessions: Sessions) -> None:
        self._server = server
        self._sessions = sessions

    async def __call__(self, scope: object, receive: object, send: object) -> None:
        request = Request(scope, receive)  # type: ignore[arg-type]
        response = await self._enter(request) if request.method == "POST" else _login_page(request)
        for name, value in HEADERS.items():
            response.headers.setdefault(name, value)
        await response(scope, receive, send)  # type: ignore[arg-type]

    async def _enter(self, request: Request) -> Response:
        form = await request.form(max_files=0, max_fields=5)
        secret, next_page = form.get("token"), form.get("next")
        origin = request.headers.get("origin")
        if origin is not None and origin.partition("://")[2] != request.headers.get("host", ""):
            return _login_page(request, "this form is not of this page", 403)
        try:
            await authorized(request, self._server, secret.strip() if isinstance(secret, str) else "")
        except MemoristError as error:
            return _login_page(request, str(error), 401 if isinstance(error, UnauthorizedError) else 503)
        session = self._sessions.begin(str(secret).strip())
        response = RedirectResponse(_own(next_page), 303)
        secure = request.url.scheme == "https"
        response.set_cookie(COOKIE, session.id, httponly=True, samesite="strict", secure=secure, path="/")
        return response


def _login_page(request: Request, problem: str | None = None, status: int = 200) -> Response:
    text = render("login.html", problem=problem, next=_own(request.query_params.get("next")))
    return HTMLResponse(text, status)


def _own(path: object) -> str:
    """Return a path of this site; anything else is the first page."""
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
