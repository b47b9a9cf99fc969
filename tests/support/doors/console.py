"""The console, by the forms of its pages."""

import asyncio
import re
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from html import unescape
from typing import Any, ClassVar
from urllib.parse import parse_qs, quote, urlsplit

import httpx

from browsers import Browser
from doors.base import Door, Refused, halved
from doors.calls import UNKNOWN, Call, Earlier
from doors.files import FILES, ME
from memorist.serve.app import create_app

_SHOWN = re.compile(r'<p class="text whole">(.*?)</p>.*?<dt>Id</dt><dd><code>(.*?)</code>', re.DOTALL)
_LISTED = re.compile(r'<p class="text"><a href="(/record\?[^"]*)">(.*?)</a></p>', re.DOTALL)
_GONE = re.compile(r"<p><code>(.*?)</code> is gone</p>", re.DOTALL)
_COUNTED = re.compile(r'<span class="kind">\w+</span></dt><dd>(\d+)</dd>')
_IMPORTED = re.compile(
    r'<p class="found">(\d+) added, (?:(\d+) revised, )?(\d+) already stored(?:, (\d+) could not be stored)?'
)
_UNREAD = re.compile(r"<p>(\d+) parts? cannot be read")
_CSRF = re.compile(r'name="csrf" value="([^"]+)"')
_TAG = re.compile("<[^>]*>")
_FAMILIES = {
    400: "FormatError",
    403: "ScopeError",
    404: "NotFoundError",
    409: "ConflictError",
    422: "InvalidInputError",
}


class Console(Door):
    """The console: notes are written, and all is read off its pages."""

    verbs: ClassVar[Mapping[str, tuple[str, ...]]] = {
        "remember": ("content",), "get": ("id",), "revise": ("id", "content", "verified"),
        "rate": ("id", "rating"), "forget": ("id",), "recall": ("query", "kind", "shared"),
        "why": ("id",), "purge": ("shared", "dry_run"), "import": ("file",),
        "browse": ("kind", "since", "until", "session", "superseded", "order"),
    }  # fmt: skip
    shows = ("content",)

    def takes(self, call: Call) -> bool:
        """Whether a browser can send it: fields are texts, empty ones are left out, and lines end in one way."""
        given = dict(call.arguments)
        if call.verb == "purge":  # its page is about the user chosen, or about what is shared
            return call.user != "" and given.pop("shared", False) is (call.user is None) and given.keys() <= {"dry_run"}
        flags = [given.pop(name, True) for name in ("shared", "superseded", "verified")]
        rating = given.pop("rating", 0)
        known = (*self.verbs.get(call.verb, ()), *UNKNOWN)
        texts = [each for each in given.values() if not isinstance(each, Earlier)]
        return (
            call.verb in self.verbs
            and call.user != ""
            and not halved(call.arguments)
            and all(name in known for name in call.arguments)
            and all(each is True for each in flags)
            and (call.verb != "revise" or len(call.arguments) > 1)
            and (rating is None or (isinstance(rating, int | float) and not isinstance(rating, bool)))
            and all(isinstance(each, str) and each != "" for each in texts)
            and "\r" not in str(given.get("content"))
        )

    @asynccontextmanager
    async def ready(self) -> AsyncIterator[Door]:
        transport = httpx.ASGITransport(app=create_app(self.memory, open=True))
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as self.http:
            self.browser, self.zone = Browser(self.http), "UTC"
            self.csrf = _CSRF.findall((await self.http.get("/")).text)[0]
            yield self

    async def _imported(self, page: str, file: tuple[str, str]) -> list[int]:
        """Give a file, and have it stored once it was looked at."""
        fields = {"csrf": self.csrf, "zone": "UTC"}
        answer = await self.http.post(page, data=fields, files={"file": file})
        if answer.status_code >= 400:
            raise Refused(_FAMILIES[answer.status_code])
        if 'value="load"' not in (shown := await self._settled(page)):
            if 'class="found"' not in shown:
                raise Refused("InvalidInputError")
            return [0, 0, 0, *map(int, _UNREAD.findall(shown) or "0")]  # there is nothing to be stored
        asked = {"csrf": self.csrf, "do": "load", "zone": "UTC", "me": ME}
        await self.browser.post(page.replace("/import", "/import/now", 1), asked)
        told = _IMPORTED.search(await self._settled(page))
        if told is None:
            raise Refused("InvalidInputError")
        return [int(told[number] or 0) for number in range(1, 5)]

    async def _settled(self, page: str) -> str:
        while "data-busy" in (text := (await self.http.get(page)).text):  # noqa: ASYNC110
            await asyncio.sleep(0.001)
        return text

    async def call(self, tenant: str, call: Call) -> Any:
        if call.verb == "import":
            scope = {"tenant": tenant} | ({} if call.user is None else {"user": call.user})
            return await self._imported(f"/import?{_query(scope)}", FILES[call.arguments["file"]])
        zone = "UTC" if call.zone is None else call.zone
        if zone != self.zone:
            answer = await self.browser.post("/zone", {"csrf": self.csrf, "zone": zone})
            if answer.status_code >= 400:
                raise Refused(_FAMILIES[answer.status_code])
            self.zone = zone
        given = {name: "1" if value is True else value for name, value in call.arguments.items()}
        scope = {"tenant": tenant} | ({} if call.user is None else {"user": call.user})
        if call.verb == "recall":
            given["q"] = given.pop("query")
        if call.verb == "rate":
            given["rating"] = "none" if given["rating"] is None else str(given["rating"])
        if call.verb == "purge":
            page = f"/purge?{_query(scope)}"
            typed = call.user or "shared"
            dry_run = call.arguments.get("dry_run")
            answer = await (self.http.get(page) if dry_run else self.browser.send(page, "/purge", typed=typed))
            if answer.status_code >= 400:
                raise Refused(_FAMILIES[answer.status_code])
            return sum(map(int, _COUNTED.findall(answer.text)))
        if call.verb in ("get", "why", "recall", "browse"):
            page = {"get": "/record", "why": "/record", "recall": "/ask"}.get(call.verb, "/browse")
            answer = await self.http.get(f"{page}?{_query(scope | given)}")
        else:
            id = {"id": given.pop("id")} if "id" in given else {}
            page = f"/record?{_query(scope | id)}" if id else f"/?{_query(scope)}"
            answer = await self.browser.send(page, f"/{call.verb}", **given)
            if answer.request.method == "GET":  # the page has no such form, and who writes his own is told the same
                target = f"/{call.verb}?{_query(scope | id)}"
                answer = await self.browser.post(target, {"csrf": self.csrf, **given})
        if answer.status_code >= 400:
            if call.verb in ("forget", "why") and answer.status_code == 404:
                return 0 if call.verb == "forget" else []
            raise Refused(_FAMILIES[answer.status_code])
        if call.verb == "forget":
            return 1
        if call.verb in ("recall", "browse"):
            return [_record(*each) for each in _LISTED.findall(answer.text)]
        if answer.status_code == 303:
            answer = await self.http.get(answer.headers["location"])
        if (shown := _SHOWN.search(answer.text)) is None:  # of a forgotten record there is the history alone
            if call.verb == "why":
                return []
            raise Refused("NotFoundError")
        record = {"id": unescape(shown[2]), "content": unescape(shown[1])}
        if call.verb != "why":
            return record
        gone = [{"id": unescape(id)} for id in _GONE.findall(answer.text)]
        return [record, *(_record(*each) for each in _LISTED.findall(answer.text)), *gone]


def _query(given: Mapping[str, str]) -> str:
    return "&".join(f"{name}={quote(text.encode('utf-8', 'surrogatepass'), safe='')}" for name, text in given.items())


def _record(link: str, text: str) -> dict[str, str]:
    [id] = parse_qs(urlsplit(unescape(link)).query)["id"]
    return {"id": id, "content": unescape(_TAG.sub("", text))}
