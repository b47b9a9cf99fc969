"""Files made to keep a reader busy: twice as much takes no more than some twice as long."""

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from growth import is_quadratic
from memorist.imports import Bad, Item, load, read
from memorist.imports.html import html_text
from memorist.memory import Memory

pytestmark = pytest.mark.anyio


def mail(headers: str, body: str = "x") -> str:
    return f"From x\nFrom: a@x\n{headers}\n\n{body}\n"


def said(text: str) -> str:
    message = {"author": {"role": "user"}, "content": {"content_type": "text", "parts": [text]}}
    return json.dumps([{"title": "t", "id": "c", "current_node": "a", "mapping": {"a": {"message": message}}}])


def html(text: str) -> str:
    return mail("Content-Type: text/html", text)


HTML = (
    "<", "<a", "<!--", "<!", "</", "<?", "<![", "<a a='", '<a a="', "</a ", "<script>", "<a a= a", "&", "&#1",
    "<p> </p>",
)  # fmt: skip
MARKDOWN = {
    "a heading's blanks": lambda n: "# a" + " " * n + "b\n",
    "a heading's hashes": lambda n: "# a" + " #" * n + "b\n",
    "blanks at an end": lambda n: "a" + " " * n + "b\n",
    "ids at an end": lambda n: "a" + " ^a" * n + " b\n",
    "comments": lambda n: "<!--" * n,
    "comments of two sorts": lambda n: "<!--" * n + "%%",
    "links": lambda n: "[[" * n,
    "a list in front": lambda n: "---\na:\n" + "- x\n" * min(n, 9_000) + "---\nx",
    "a field in front": lambda n: "---\na" + " " * n + "b\n---\nx",
}  # fmt: skip
FILES: dict[str, tuple[str, Callable[[int], str]]] = {
    **{f"mail, {each}": ("a.mbox", lambda n, each=each: html(each * n)) for each in HTML},  # type: ignore[misc]
    **{f"markdown, {name}": ("a.md", make) for name, make in MARKDOWN.items()},
    "mail, an encoded header": ("a.mbox", lambda n: mail("Subject: " + "=?utf-8?q?a?= " * n)),
    "mail, comments": ("a.mbox", lambda n: mail("From: " + "(" * n)),
    "mail, parameters": ("a.mbox", lambda n: mail('Content-Type: text/plain; x="' + ";" * n)),
    "mail, many parts": ("a.mbox", lambda n: mail("Content-Type: multipart/mixed; boundary=b", "--b\n\n" * n)),
    "mail, quotes below a long line": ("a.mbox", lambda n: mail("X: y", "On " + "x" * n + "\n" + ">\n" * n)),
    "whatsapp, blanks": ("a.txt", lambda n: "31.12.23, 21:41 - Anna: a" + " " * n + "b\n"),
    "whatsapp, attachments": ("a.txt", lambda n: "31.12.23, 21:41 - Anna: a" + ".ab (" * n + "\n"),
    "chatgpt, citations": ("c.json", lambda n: said("\ue200" * n)),
    "chatgpt, brackets": ("c.json", lambda n: said("【1†" * n)),
    "chatgpt, digits": ("c.json", lambda n: said("【" + "1" * n)),
    "gemini, boxes": ("a.html", lambda n: 'Gemini<div class="outer-cell">' + '<div class="content-cell ' * n),
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("form", FILES)
def test_no_file_takes_a_reader_time_in_proportion_to_its_square(tmp_path: Path, form: str) -> None:
    name, make = FILES[form]
    file = tmp_path / name

    def read_all(text: str) -> None:
        file.write_text(text)
        list(read(file))

    assert not is_quadratic(read_all, make, 5_000)


@pytest.mark.parametrize("depth", [15, 3_000, 100_000])
async def test_a_mail_of_nested_parts_does_not_stop_the_others(memory: Memory, tmp_path: Path, depth: int) -> None:
    parts = "".join(
        f'--b{number}\nContent-Type: multipart/mixed; boundary="b{number + 1}"\n\n' for number in range(depth)
    )
    nested = mail('Content-Type: multipart/mixed; boundary="b0"', parts + f"--b{depth}\n\nIn the middle\n")
    (tmp_path / "a.mbox").write_text("\n".join([mail("Subject: One"), nested, mail("Subject: Three")]))
    report = await load(memory, tmp_path / "a.mbox")
    assert (report.added, report.failed) == ((3, 0) if depth == 15 else (2, 1))
    assert [each.where for each in report.bad] == ([] if depth == 15 else ["message 2"])


async def test_a_mail_of_endless_headers_does_not_stop_the_others(memory: Memory, tmp_path: Path) -> None:
    long = mail("X-A: y\n" * 100_000)
    (tmp_path / "a.mbox").write_text("\n".join([mail("Subject: One"), long, mail("Subject: Three")]))
    report = await load(memory, tmp_path / "a.mbox")
    assert (report.added, [each.where for each in report.bad]) == (2, ["message 2"])


@pytest.mark.parametrize("depth", [500, 2_000, 100_000])
async def test_deep_json_is_listed_and_the_rest_is_stored(memory: Memory, tmp_path: Path, depth: int) -> None:
    deep = "[" * depth + "]" * depth
    lines = ['{"role": "user", "content": "One"}', f'{{"role": "user", "content": "Two", "name": {deep}}}']
    (tmp_path / "a.jsonl").write_text("\n".join([*lines, '{"role": "user", "content": "Three"}']))
    table = tmp_path / "b.md"
    table.write_text("Four")
    report = await load(memory, tmp_path)
    assert (report.added, [each.where for each in report.bad]) == (3, ["line 2"])


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ("<p>Hello<br>there</p><p>you</p>", "Hello\nthere\n\nyou"),
        ("<ul><li>a</li><li>b</li></ul>", "- a\n- b"),
        ('a <b title="x > y">b</b> <i title=\'>\'>c</i>', "a b c"),
        ("a<!-- <p> -->b", "ab"),
        ("<head><title>t</title></head>a<style>p < b {}</style>b<script>if (a<b) {'</p>'}</script>c", "abc"),
        ("1 < 2 &amp; 3 > 2 &#" + "1" * 5_000 + ";", None),
        ("<!DOCTYPE html><?xml x?>a", "a"),
        ('<a title="open>a</a>b', "a b"),
        ("a<b", "a"),
        ("<SCRIPT>x</Script>a", "a"),
    ],
)  # fmt: skip
def test_the_text_of_html(given: str, text: str | None) -> None:
    found = html_text(given)
    assert re.sub(r"\s+", "", found) == re.sub(r"\s+", "", text) if text is not None else "1 < 2" in found


async def test_what_cannot_be_read_is_bad_and_no_more(tmp_path: Path) -> None:
    (tmp_path / "a.mbox").write_text(mail("Subject: =?x?b?" + "A" * 100))
    assert {type(each) for each in read(tmp_path / "a.mbox")} <= {Bad, Item}
