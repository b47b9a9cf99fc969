"""The page on which a person lets a program into a memory."""

from collections.abc import Awaitable, Callable
from typing import Any
from urllib.parse import urlsplit

from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.routing import Route

from memorist.errors import MemoristError
from memorist.serve.auth import Right
from memorist.serve.console.rendering import HEADERS, render
from memorist.serve.console.visits import secured
from memorist.serve.oauth.resource import right_of
from memorist.serve.oauth.signing_in import SignIn
from memorist.serve.rest.problems import problem_of


def page_of(sign_in: SignIn) -> Route:
    """Return the route of the page."""
    return Route("/sign-in", _answered(sign_in), methods=["GET", "POST"])


def _answered(sign_in: SignIn) -> Callable[[Request], Awaitable[Response]]:
    async def answer(request: Request) -> Response:
        form: Any = await request.form(max_files=0, max_fields=5) if request.method == "POST" else request.query_params
        secret = str(form.get("asked") or "")
        try:
            asked = await sign_in.asked(secret)
        except MemoristError as error:
            return _page(401, problem=str(error), asked=None, program="", host="", writes=False)
        known = {"asked": secret, "program": asked["name"], **_known(asked["params"])}
        if request.method == "GET":
            return _page(200, problem=None, **known)
        try:
            token = str(form.get("token") or "").strip() if form.get("do") == "allow" else None
            target = await sign_in.decide(secret, token, writes=form.get("only") is None)
        except MemoristError as error:
            return _page(problem_of(error)[0], problem=str(error), **known)
        return secured(RedirectResponse(target, 303))

    return answer


def _known(params: dict[str, Any]) -> dict[str, Any]:
    back = urlsplit(params["redirect_uri"])
    writes = right_of(params["scopes"]).includes(Right.WRITE)
    return {"host": back.netloc, "origin": f"{back.scheme}://{back.netloc}", "writes": writes}


def _page(status: int, *, origin: str = "", **known: Any) -> Response:
    response = secured(HTMLResponse(render("sign_in.html", title="Sign in", **known), status))
    # Browsers apply the rule to where the form's answer leads, too.
    policy = HEADERS["content-security-policy"].replace("form-action 'self'", f"form-action 'self' {origin}".strip())
    response.headers["content-security-policy"] = policy
    return response
