"""Prefixes: the right one for a model, and exactly once."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memorist.embedders import Prefixes, Role, prefixes_for

BGE = "Represent this sentence for searching relevant passages: "


@pytest.mark.parametrize(
    ("model", "document", "query"),
    [
        ("BAAI/bge-small-en-v1.5", "", BGE),
        ("bge-large-en-v1.5-int8", "", BGE),
        ("bge-large", "", BGE),
        ("BAAI/bge-m3", "", ""),
        ("mixedbread-ai/mxbai-embed-large-v1", "", BGE),
        ("snowflake-arctic-embed:33m", "", BGE),
        ("snowflake-arctic-embed2", "", "query: "),
        ("Snowflake/snowflake-arctic-embed-l-v2.0", "", "query: "),
        ("nomic-embed-text", "search_document: ", "search_query: "),
        ("nomic-ai/nomic-embed-text-v1.5", "search_document: ", "search_query: "),
        ("intfloat/multilingual-e5-small", "passage: ", "query: "),
        ("intfloat/e5-base-v2", "passage: ", "query: "),
        ("intfloat_e5-base-v2", "passage: ", "query: "),
        ("intfloat/multilingual-e5-large-instruct", "", ""),
        ("sentence-transformers/all-MiniLM-L6-v2", "", ""),
        ("text-embedding-3-small", "", ""),
        ("somebodys-model", "", ""),
    ],
)
def test_a_known_model_gets_the_prefixes_it_was_trained_with(model: Any, document: Any, query: Any) -> None:
    assert prefixes_for(model) == Prefixes(document, query)


@given(st.text(), st.text(max_size=12), st.text(max_size=12), st.sampled_from(Role))
def test_a_prefix_is_applied_exactly_once(text: Any, document: Any, query: Any, role: Role) -> None:
    prefixes = Prefixes(document, query)
    prefix = query if role is Role.QUERY else document
    once = prefixes.apply(text, role)
    assert once.startswith(prefix)
    assert once in (text, prefix + text)
    assert prefixes.apply(once, role) == once


def test_only_the_prefix_of_its_own_role_keeps_a_text_as_it_is() -> None:
    e5 = prefixes_for("e5-small")
    assert e5.apply("query: select all", Role.DOCUMENT) == "passage: query: select all"
