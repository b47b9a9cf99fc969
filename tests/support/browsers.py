"""Forms of pages, sent as a browser encodes them."""

import re
from collections.abc import Mapping
from html import unescape
from urllib.parse import quote

import httpx

FORM = re.compile(r'<form[^>]* action="([^"]+)"[^>]*>(.*?)</form>', re.DOTALL)
TEXTAREA = re.compile(r'<textarea[^>]*name="(\w+)"[^>]*>\n?(.*?)</textarea>', re.DOTALL)
"""The newline after the opening tag is none of the text's, as HTML has it."""
INPUT = re.compile(r'<input type="(?:hidden"|datetime-local"|checkbox"(?=[^>]* checked)) name="(\w+)" value="([^"]*)"')


class Browser:
    """Sends the forms of pages as a browser does."""

    def __init__(self, http: httpx.AsyncClient) -> None:
        self.http = http

    async def send(self, page: str, action: str, **typed: str) -> httpx.Response:
        """Send the form of a page that leads to `action`, with what is typed in the place of what stands there.

        Where the page has no such form, its answer is returned.
        """
        shown = await self.http.get(page)
        for target, inner in FORM.findall(shown.text):
            if unescape(target).partition("?")[0] == action:
                fields = {name: unescape(value) for name, value in [*INPUT.findall(inner), *TEXTAREA.findall(inner)]}
                sent = {name: _as_sent(value) for name, value in (fields | typed).items()}
                return await self.post(unescape(target), sent)
        return shown

    async def post(self, target: str, fields: Mapping[str, str]) -> httpx.Response:
        """Send fields as a form."""
        pairs = [f"{name}={quote(value.encode('utf-8', 'surrogatepass'))}" for name, value in fields.items()]
        kind = {"content-type": "application/x-www-form-urlencoded"}
        return await self.http.post(target, content="&".join(pairs), headers=kind)


def _as_sent(value: str) -> str:
    return value.replace("\r\n", "\n").replace("\r", "\n").replace("\n", "\r\n")
