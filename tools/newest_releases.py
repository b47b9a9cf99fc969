"""Say which of the extras' packages have a newest release that the bounds in pyproject.toml leave out.

    python tools/newest_releases.py

It asks the package index, and ends with 1 where a bound is to be opened, after the tests of what it concerns have run
with that release.
"""

import json
import sys
import tomllib
import urllib.request
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from packaging.requirements import Requirement

_INDEX = "https://pypi.org/pypi/{}/json"
_BEHIND = frozenset(("agentscope1",))
"""Extras that are for an older release."""


def left_out(extras: Mapping[str, Iterable[str]], newest: Callable[[str], str]) -> list[str]:
    """Return a sentence for each requirement with an upper bound that does not take the newest release.

    Args:
        extras: the requirements of each extra.
        newest: returns a package's newest release that is no pre-release.
    """
    found = list[str]()
    for extra, requirements in extras.items():
        for text in () if extra in _BEHIND else requirements:
            requirement = Requirement(text)
            if not any(each.operator in ("<", "<=", "==", "~=") for each in requirement.specifier):
                continue
            release = newest(requirement.name)
            if release not in requirement.specifier:
                found.append(f"{extra}: {requirement.name} {release} is out, and {text!r} leaves it out")
    return found


def _newest(name: str) -> str:
    with urllib.request.urlopen(_INDEX.format(name), timeout=60) as answer:
        return str(json.load(answer)["info"]["version"])


def main() -> int:
    """Print what is left out, and return the status to end with."""
    project = tomllib.loads(Path(__file__).parent.parent.joinpath("pyproject.toml").read_text())["project"]
    sentences = left_out(project["optional-dependencies"], _newest)
    print("\n".join(sentences) or "Every bound takes the newest release")
    return 1 if sentences else 0


if __name__ == "__main__":
    sys.exit(main())
