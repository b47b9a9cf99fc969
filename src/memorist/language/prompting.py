"""The prompts: one text file each, which a file in the user's own folder can replace."""

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.resources import files

from memorist.errors import InvalidInputError
from memorist.system.handles import read_text
from memorist.system.places import expanded

NAMES = ("facts", "reconcile", "experiences", "judge", "guidelines", "summary", "reflection", "questions")
"""The names of the files, without ``.md``."""

_ADDED = "What follows goes before all that is said above, but for the form of the answer.\n\n"
_SAME_LANGUAGE = "the language that the texts given are in"


@dataclass(frozen=True, slots=True, kw_only=True)
class Prompts:
    """The prompts of the steps.

    Args:
        folder: a folder of `NAME.md` files that replace the bundled prompts of the same names. By default the
            folder in MEMORIST_PROMPTS, if that is set.
        language: the language of the answers, such as "English". By default the language of the texts; an answer
            in another language is then rejected.
        added: text to append to a prompt, by the prompt's name. It takes precedence over the prompt, except for the
            form of the answer. It may ask for a language, so answers to that prompt are not rejected for theirs.

    Raises:
        InvalidInputError: `added` has an unknown name, or a value that is not a text.
    """

    folder: str | os.PathLike[str] | None = None
    language: str | None = None
    added: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name, text in self.added.items():
            if name not in NAMES:
                raise InvalidInputError(f"there is no prompt {name!r}; available: {', '.join(NAMES)}")
            if not isinstance(text, str):
                raise InvalidInputError(f"a prompt's addition must be a string, not {type(text).__name__}")

    def get(self, name: str) -> str:
        """Return a prompt, with ``{{language}}`` filled in and the added text.

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
        folder = expanded(given)
        if not folder.is_dir():
            raise InvalidInputError(f"there is no folder of prompts {str(folder)!r}")
        path = folder / f"{name}.md"
        try:
            text = read_text(path)
        except FileNotFoundError:
            return None
        except UnicodeDecodeError as error:
            raise InvalidInputError(f"the prompt {str(path)!r} is not UTF-8") from error
        if not text.strip():
            raise InvalidInputError(f"the prompt {str(path)!r} is blank")
        return text
