"""The bundled model's tokens are those that its authors' own tokenizer gives."""

import json
from pathlib import Path

import pytest
import tokenizers
from hypothesis import given, settings
from hypothesis import strategies as st

from memorist.embedders.onnx import BUNDLED
from memorist.embedders.tokenizing import open_tokenizer
from memorist.errors import EmbedderError

FILE = BUNDLED / "tokenizer.json"
OURS = open_tokenizer(FILE, 512)
THEIRS = tokenizers.Tokenizer.from_file(str(FILE))
THEIRS.enable_truncation(512)


@pytest.mark.parametrize(
    "text",
    [
        "Hello, wörld!",
        "don't",
        "東京タワーに行った",
        "ПРИВЕТ мир",
        "a" * 300,
        "word " * 2000,
        "🙂 tabs\tand\nlines",
        "naïve café №5",
    ],
)
def test_a_text_has_the_tokens_of_the_reference(text: str) -> None:
    assert OURS.encode(text) == THEIRS.encode(text).ids


@given(st.text(st.characters(max_codepoint=0x24F, exclude_categories=["Cs", "Cc"]), max_size=60))
@settings(max_examples=300)
def test_any_latin_text_has_the_tokens_of_the_reference(text: str) -> None:
    if "[" not in text:
        assert OURS.encode(text) == THEIRS.encode(text).ids


def test_a_special_token_in_a_text_is_plain_text() -> None:
    assert OURS.encode("a [SEP] b").count(102) == 1


def test_a_long_text_is_cut_within_its_frame() -> None:
    ids = open_tokenizer(FILE, 8).encode("one two three four five six seven eight nine")
    assert len(ids) == 8
    assert (ids[0], ids[-1]) == (101, 102)


@pytest.mark.parametrize(
    ("processor", "frame"),
    [
        (None, ([], [])),
        ({"type": "BertProcessing", "sep": ["[SEP]", 102], "cls": ["[CLS]", 101]}, ([101], [102])),
    ],
)
def test_each_way_of_framing_is_understood(
    tmp_path: Path, processor: object, frame: tuple[list[int], list[int]]
) -> None:
    path = tmp_path / "tokenizer.json"
    path.write_text(json.dumps(json.loads(FILE.read_text()) | {"post_processor": processor}))
    before, after = frame
    assert open_tokenizer(path, 512).encode("hello") == [*before, 7592, *after]


@pytest.mark.parametrize("content", ["", "{}", "not json", '{"post_processor": {"type": "Magic"}}'])
def test_a_file_that_is_no_tokenizer_is_named(tmp_path: Path, content: str) -> None:
    path = tmp_path / "tokenizer.json"
    path.write_text(content)
    with pytest.raises(EmbedderError, match=r"tokenizer\.json"):
        open_tokenizer(path, 512)
