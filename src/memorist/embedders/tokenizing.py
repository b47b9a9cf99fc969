"""Texts to token ids, by the `tokenizer.json` of a model."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from memorist.errors import EmbedderError

if TYPE_CHECKING:
    import kitoken


class Tokenizer:
    """The tokenizer of a model's folder; safe to use from several threads.

    What looks like a special token in a text, such as "[SEP]", is taken as the plain text that it is.

    Args:
        path: a `tokenizer.json`.
        most: tokens at most, those that frame the text included; longer texts are cut.

    Raises:
        EmbedderError: the file is none, or frames texts in a way that is not known.
    """

    def __init__(self, path: Path, most: int) -> None:
        # The tokenizers package would bring a model hub's client and thirteen packages more.
        from kitoken import Kitoken

        try:
            self._before, self._after = _frame(json.loads(path.read_text(encoding="utf-8")))
            self._kitoken: kitoken.Kitoken = Kitoken.from_tokenizers_file(str(path))
        except Exception as error:  # the library raises nothing narrower
            raise EmbedderError(f"cannot read {path}: {error}") from error
        self._room = most - len(self._before) - len(self._after)

    def encode(self, text: str) -> list[int]:
        """Return the ids of a text's tokens, framed as the model wants it."""
        return [*self._before, *list(self._kitoken.encode(text, False))[: self._room], *self._after]


def _frame(definition: dict[str, Any]) -> tuple[list[int], list[int]]:
    """Return the ids that stand before and after every text."""
    processor = definition.get("post_processor")
    steps = processor["processors"] if processor and processor["type"] == "Sequence" else [processor]
    for step in steps:
        match step:
            case {"type": "TemplateProcessing", "single": pieces, "special_tokens": tokens}:
                place = next(index for index, piece in enumerate(pieces) if "Sequence" in piece)
                before, after = (
                    [id for piece in part for id in tokens[piece["SpecialToken"]["id"]]["ids"]]
                    for part in (pieces[:place], pieces[place + 1 :])
                )
                return before, after
            case {"type": "BertProcessing" | "RobertaProcessing", "cls": [_, first], "sep": [_, last]}:
                return [first], [last]
            case None | {"type": "ByteLevel"}:
                continue
            case _:
                raise EmbedderError(f"texts are framed by a {step['type']!r}, which is not known")
    return [], []
