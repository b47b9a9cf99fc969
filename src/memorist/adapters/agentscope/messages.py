"""Checks that both buffers share: of messages, positions, marks and states."""

from collections.abc import Iterable, Mapping, Sequence
from copy import deepcopy
from typing import Any, TypeAlias

from memorist.adapters.agentscope.reading import RECALLED
from memorist.adapters.agentscope.types import Msg

Marks: TypeAlias = str | list[str] | None
Index: TypeAlias = int | Iterable[int] | Iterable[str]

SUMMARY = "_compressed_summary"
"""Where a state has the summary."""


def checked_marks(given: object) -> list[str]:
    """Return the marks as a list; None is an empty list."""
    marks = [] if given is None else [given] if isinstance(given, str) else given
    if not isinstance(marks, list) or not all(isinstance(mark, str) for mark in marks):
        raise TypeError(f"The mark should be a string, a list of strings, or None, but got {type(given)}.")
    return list(marks)


def checked_positions(index: Index | None, msg_ids: Iterable[str] | None, ids: Sequence[str]) -> set[int]:
    """Return the positions of the messages that `delete` is asked for: numbers, or ids of messages.

    Raises:
        IndexError: a number is out of range.
        TypeError: neither positions nor ids are given.
    """
    if index is None and msg_ids is None:
        raise TypeError("delete needs the index or the msg_ids of the messages to be deleted")
    asked = index if msg_ids is None else msg_ids
    given = [asked] if isinstance(asked, int | str) else list(asked or ())
    if given and all(isinstance(each, str) for each in given):
        return {position for position, id in enumerate(ids) if id in given}
    bad = [each for each in given if not isinstance(each, int) or not 0 <= each < len(ids)]
    if bad:
        raise IndexError(f"The index {bad} does not exist.")
    return {each for each in given if isinstance(each, int)}


def chosen(labels: Iterable[str], mark: str | None, exclude_mark: str | None) -> bool:
    """Return whether a message with these labels has the mark asked for, and not the excluded one."""
    for name, given in (("mark", mark), ("exclude_mark", exclude_mark)):
        if given is not None and not isinstance(given, str):
            raise TypeError(f"The {name} should be a string or None, but got {type(given)}.")
    return (mark is None or mark in labels) and (exclude_mark is None or exclude_mark not in labels)


def renamed(labels: list[str], new: str | None, old: str | None) -> list[str]:
    """Return the labels with `new` in the place of `old`; without `old`, with `new` added."""
    if old is not None and old not in labels:
        return labels
    kept = [label for label in labels if label not in (old, new)]
    if new is None:
        return kept
    return labels if old is None and new in labels else [*kept, new]


def summary_message(summary: str) -> Msg:
    """Return the message that stands for what was summarised."""
    return Msg("user", summary, "user", metadata={RECALLED: "summary"})  # so that it is not recorded again


def read_state(state: Mapping[str, Any], strict: bool) -> tuple[list[Msg], dict[str, list[str]], str] | None:
    """Return messages, marks and summary of a state; None if the state has no content and `strict` is False.

    Raises:
        KeyError: the state has no "content", and `strict` is True.
    """
    if "content" not in state:
        if strict:
            raise KeyError("The state_dict has no 'content', which a memory's state needs.")
        return None
    state = deepcopy(dict(state))
    messages: list[Msg] = []
    marks: dict[str, list[str]] = {}
    for item in state["content"]:
        fields, labels = (item, []) if isinstance(item, Mapping) else item
        messages.append(Msg.from_dict(fields))
        if labels:
            marks[messages[-1].id] = list(labels)
    return messages, marks, state.get(SUMMARY, "")
