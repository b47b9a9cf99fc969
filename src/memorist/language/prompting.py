"""The prompts: one text file each, which a folder of the user's own may take the place of."""

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.resources import files
from pathlib import Path

from memorist.errors import InvalidInputError

__all__ = ["NAMES", "Prompts"]

NAMES = ("facts", "reconcile", "experiences", "judge", "guidelines", "summary", "reflection")
"""What the files are called, without ``.md``."""

_ADDED = "What follows goes before all that is said above, but for the form of the answer.\n\n"
_SAME_LANGUAGE = "the language that the texts given are in"


@dataclass(frozen=True, slots=True, kw_only=True)
class Prompts:
    """Where the prompts come from.

    Args:
        folder: a folder of `NAME.md` files that take the bundled ones' place; those it lacks are the bundled
            ones. By default the folder in MEMORIST_PROMPTS, if that is set.
        language: what language the answers are to be in, such as "English"; by default that of the texts, and
            then an answer in another is refused.
        added: by name, what a prompt is to say besides, as it is. It goes before the rest, but for the form of
            the answer, and may ask for a language, so that none is refused.

    Raises:
        InvalidInputError: there is no prompt of a name in `added`, or what it is to say is no text.
    """

    folder: str | os.PathLike[str] | None = None
    language: str | None = None
    added: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name, text in self.added.items():
            if name not in NAMES:
                raise InvalidInputError(f"there is no prompt {name!r}; there are: {', '.join(NAMES)}")
            if not isinstance(text, str):
                raise InvalidInputError(f"what is added to a prompt is a text, not {type(text).__name__}")

    def get(self, name: str) -> str:
        """Return a prompt, with ``{{language}}`` filled in, and what is added to it.

        Raises:
            InvalidInputError: the folder does not exist, or its file is not UTF-8 or is blank.
        """
        text = self._own(name)
        if text is None:
            text = (files("memorist.language") / "prompts" / f"{name}.md").read_text(encoding="utf-8")
        text = re.sub(r"\{\{\s*language\s*\}\}", lambda _: self.language or _SAME_LANGUAGE, text).strip()
        added = self.added.get(name, "").strip()
        return f"{text}\n\n{_ADDED}{added}" if added else text

    def _own(self, name: str) -> str | None:
        given = self.folder or os.environ.get("MEMORIST_PROMPTS", "").strip()
        if not given:
            return None
        folder = Path(given).expanduser()
        if not folder.is_dir():
            raise InvalidInputError(f"there is no folder of prompts {str(folder)!r}")
        path = folder / f"{name}.md"
        try:
            text = path.read_text(encoding="utf-8")
        except FileNotFoundError:
            return None
        except UnicodeDecodeError as error:
            raise InvalidInputError(f"the prompt {str(path)!r} is not UTF-8") from error
        if not text.strip():
            raise InvalidInputError(f"the prompt {str(path)!r} is blank")
        return text
