"""Reads Google-style docstrings."""

import re

_SECTION = re.compile(r"(Args|Arguments|Parameters|Returns?|Raises|Yields?|Examples?|Notes?)(?: \(.*\))?:\s*$")
_ARGUMENT = re.compile(r"(\s*)\*{0,2}(\w+)\s*(?:\([^)]*\))?:\s*(.*)$")


def read_docstring(text: str) -> tuple[str, dict[str, str]]:
    """Return the description of a function and of each of its arguments.

    Args:
        text: a docstring without its indentation, as `inspect.getdoc` returns it.

    Returns:
        The description, with blank lines between its paragraphs and each list item on a line of its own; and a
        text for each argument, in one line.
    """
    section = ""
    described: list[str] = []
    arguments: list[str] = []
    for line in text.splitlines():
        heading = _SECTION.match(line)
        if heading is not None:
            section = heading[1]
        elif not section:
            described.append(line)
        elif section in ("Args", "Arguments", "Parameters"):
            arguments.append(line)
    paragraphs = re.split(r"\n\s*\n", "\n".join(described))
    summary = "\n\n".join(joined for each in paragraphs if (joined := _joined(each)))
    return summary, _argument_texts(arguments)


def _joined(paragraph: str) -> str:
    items = re.split(r"\n(?=\s*- )", paragraph)
    return "\n".join(" ".join(item.split()) for item in items)


def _argument_texts(lines: list[str]) -> dict[str, str]:
    texts: dict[str, list[str]] = {}
    depth = next((len(line) - len(line.lstrip()) for line in lines if line.strip()), 0)
    name = None
    for line in lines:
        found = _ARGUMENT.match(line)
        if found is not None and len(found[1]) == depth:
            name = found[2]
            texts[name] = [found[3]]
        elif name is not None:
            texts[name].append(line)
    return {name: " ".join(" ".join(parts).split()) for name, parts in texts.items()}
