"""The prompts: one text file each, which a folder of the user's own may take the place of."""

import os
import re
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

from memorist.errors import InvalidInputError

__all__ = ["NAMES", "Prompts"]

NAMES = ("facts", "reconcile", "experiences", "judge", "guidelines", "summary", "reflection")
"""What the files are called, without ``.md``."""

_SAME_LANGUAGE = "the language that the texts given are in"


@dataclass(frozen=True, slots=True, kw_only=True)
class Prompts:
    """Where the prompts come from.

    Args:
        folder: a folder of `NAME.md` files that take the bundled ones' place; those it lacks are the bundled
            ones. By default the folder in MEMORIST_PROMPTS, if that is set.
        language: what language the answers are to be in, such as "English"; by default that of the texts, and
            then an answer in another is refused.
    """

    folder: str | os.PathLike[str] | None = None
    language: str | None = None

    def get(self, name: str) -> str:
        """Return a prompt, with ``{{language}}`` filled in.

        Raises:
            InvalidInputError: the folder does not exist, or its file is not UTF-8 or is blank.
        """
        text = self._own(name)
        if text is None:
            text = (files("memorist.language") / "prompts" / f"{name}.md").read_text(encoding="utf-8")
        return re.sub(r"\{\{\s*language\s*\}\}", lambda _: self.language or _SAME_LANGUAGE, text).strip()

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
