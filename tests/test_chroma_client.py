"""Clients of a folder that the host program opens too, and queries of a collection that others write to."""

from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from memorist.clients.chroma import connect, query

pytest.importorskip("chromadb", reason="the extra chroma is not installed")
RACED = "Error executing plan: Internal error: Error finding id"


class Raced:
    """A real collection whose first queries fail as Chroma's do now and then beside a write."""

    def __init__(self, collection: Any, failures: int, message: str = RACED) -> None:
        self.collection, self.failures, self.message, self.asked = collection, failures, message, 0

    def query(self, **asked: Any) -> Any:
        self.asked += 1
        if self.asked <= self.failures:
            raise import_module("chromadb.errors").InternalError(self.message)
        return self.collection.query(**asked)


@pytest.fixture
def collection() -> Iterator[Any]:
    client, release = connect(None)
    made = client.create_collection("calls", embedding_function=None)
    made.add(ids=["a"], embeddings=[[1.0, 0.0]])
    yield made
    release()


@pytest.mark.parametrize("telemetry", [None, "True", "False"])
@pytest.mark.parametrize("settings", [{}, {"anonymized_telemetry": True}, {"allow_reset": True}])
@pytest.mark.parametrize("first", ["ours", "theirs"])
def test_the_host_program_opens_a_folder_with_its_own_settings(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, telemetry: str | None, settings: dict[str, Any], first: str
) -> None:
    if telemetry is None:
        monkeypatch.delenv("ANONYMIZED_TELEMETRY", raising=False)
    else:
        monkeypatch.setenv("ANONYMIZED_TELEMETRY", telemetry)
    chromadb = import_module("chromadb")

    def theirs() -> Any:
        return chromadb.PersistentClient(str(tmp_path), chromadb.Settings(**settings))

    begun = [theirs()] if first == "theirs" else []
    client, release = connect(tmp_path)
    begun.append(theirs())
    client.create_collection("notes", embedding_function=None).add(ids=["a"], embeddings=[[1.0, 0.0]])
    release()
    assert [each.get_collection("notes", embedding_function=None).count() for each in begun] == [1] * len(begun)
    for each in begun:
        each.close()


def test_a_query_beside_a_write_is_asked_again(collection: Any) -> None:
    raced = Raced(collection, failures=2)
    assert query(raced, query_embeddings=[[1.0, 0.0]], n_results=1)["ids"] == [["a"]]
    assert raced.asked == 3


@pytest.mark.parametrize(("message", "asked"), [(RACED, 5), ("disk I/O error", 1)])
def test_what_lasts_is_raised(collection: Any, message: str, asked: int) -> None:
    raced = Raced(collection, failures=100, message=message)
    with pytest.raises(Exception, match=message):
        query(raced, query_embeddings=[[1.0, 0.0]], n_results=1)
    assert raced.asked == asked
