"""Files made to do harm: nothing in them is run, and none stops the rest of an import."""

import io
import json
import os
import pickle
import sqlite3
import sys
import zipfile
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from imported import Write, bad, items
from memorist.errors import FormatError, InvalidInputError
from memorist.files.qdrant import points
from memorist.imports import Bad, Source, load, survey
from memorist.memory import Memory

pytestmark = pytest.mark.anyio


class Runs:
    """Makes a file when it is unpickled."""

    def __init__(self, mark: Path) -> None:
        self.mark = mark

    def __reduce__(self) -> tuple[Any, ...]:
        return Path.touch, (self.mark,)


class PointStruct:
    """Pickled under the name of the client's class."""

    def __init__(self, id: Any, payload: Any) -> None:
        self.__dict__ = {"id": id, "vector": [1.0], "payload": payload}


PointStruct.__module__ = "qdrant_client.http.models.models"


def pickled(id: Any, payload: Any, protocol: int = 4) -> bytes:
    stream = io.BytesIO()
    with pytest.MonkeyPatch.context() as patch:  # which a pickler looks up
        models = type(sys)("qdrant_client.http.models.models")
        models.PointStruct = PointStruct  # type: ignore[attr-defined]
        for name in ("qdrant_client", "qdrant_client.http", "qdrant_client.http.models"):
            patch.setitem(sys.modules, name, type(sys)(name))
        patch.setitem(sys.modules, models.__name__, models)
        pickle.Pickler(stream, protocol).dump(PointStruct(id, payload))
    return stream.getvalue()


def store(folder: Path, *rows: bytes, collection: str = "docs") -> Path:
    """Make a folder as Qdrant's local client keeps it."""
    (folder / "collection" / collection).mkdir(parents=True)
    (folder / "meta.json").write_text(json.dumps({"collections": {collection: {}}, "aliases": {}}))
    with closing(sqlite3.connect(folder / "collection" / collection / "storage.sqlite")) as connection, connection:
        connection.execute("CREATE TABLE points (id TEXT PRIMARY KEY, point BLOB)")
        connection.executemany("INSERT INTO points VALUES (?, ?)", enumerate(rows))
    return folder


def by_hand(*parts: bytes) -> bytes:
    return b"\x80\x04" + b"".join(parts) + b"."


HARMFUL: dict[str, Callable[[Path], bytes]] = {
    "a call": lambda mark: pickle.dumps(Runs(mark), 4),
    "a call, protocol 0": lambda mark: pickle.dumps(Runs(mark), 0),
    "in a payload": lambda mark: pickled(1, {"text": Runs(mark)}),
    "as an id": lambda mark: pickled(Runs(mark), {"text": "x"}),
    "an object of another class": lambda mark: by_hand(b"cos\nsystem\n)\x81"),
    "an object made with arguments": lambda mark: by_hand(b"cqdrant_client.http.models.models\nPointStruct\nN\x85\x81"),
    "another class of the module": lambda mark: by_hand(b"cqdrant_client.http.models.models\nField\n)\x81"),
    "a name with dots": lambda mark: by_hand(b"cqdrant_client.http.models.models\nPointStruct.__init__\n)\x81"),
    "an extension": lambda mark: by_hand(b"\x82\x01"),
    "a persistent id": lambda mark: by_hand(b"N\x51"),
    "an instance": lambda mark: by_hand(b"(ios\nsystem\n"),
    "a place far off in the memo": lambda mark: by_hand(b"}r\xff\xff\xff\x7f", b"0h\x00"),
    "an unending list": lambda mark: pickled(1, {"a": endless()}),
    "one list shared a billion times": lambda mark: pickled(1, {"a": shared()}),
    "one text shared a thousand times": lambda mark: pickled(1, {"a": ["x" * 1_000_000] * 1_000}),
    "lists in lists": lambda mark: by_hand(b"]" * 5_000 + b"a" * 4_999),
    "no pickle": lambda mark: b"\x80\x04hello",
    "half a pickle": lambda mark: pickled(1, {"text": "x"})[:40],
    "nothing": lambda mark: b"",
    "a text": lambda mark: by_hand(b"\x8c\x01x"),
    "a set as a payload": lambda mark: pickled(1, {"a": {1, 2}}),
}


def endless() -> list[Any]:
    made: list[Any] = []
    made.append(made)
    return made


def shared() -> list[Any]:
    made: list[Any] = ["x"]
    for _ in range(30):
        made = [made, made]
    return made


@pytest.mark.parametrize("form", HARMFUL)
def test_nothing_in_a_qdrant_store_is_run(tmp_path: Path, form: str) -> None:
    mark = tmp_path / "run"
    given = store(tmp_path / "store", HARMFUL[form](mark), pickled(2, {"text": "A hill"}))
    [told] = bad(given)
    assert "row 1" in told.where
    assert [item.content for item in (survey(given), *items_of(given))[1:]] == ["A hill"]
    assert not mark.exists()


def items_of(given: Path) -> list[Any]:
    from memorist.imports import Item, read

    return [each for each in read(given) if isinstance(each, Item)]


@pytest.mark.parametrize("protocol", [2, 3, 4, 5])
def test_points_of_any_protocol_are_read(tmp_path: Path, protocol: int) -> None:
    payload: dict[str, Any] = {
        "text": "A hill",
        "n": [1, -2, 2**70, 0.5, True, None],
        "in": {"a": ["é", ""]},
        "empty": [{}, []],
    }
    given = store(tmp_path / "store", pickled(1, payload, protocol), pickled("b" * 300, None, protocol))
    assert [(each.id, each.payload) for each in points(given)] == [(1, payload), ("b" * 300, {})]


def test_points_that_the_client_wrote_are_read(tmp_path: Path) -> None:
    qdrant = pytest.importorskip("qdrant_client")
    models = qdrant.models
    payload = {"text": "A hill", "n": [1, 2.5, None, True], "in": {"a": "é"}}
    with closing(qdrant.QdrantClient(path=str(tmp_path / "store"))) as client:
        client.create_collection("plain", models.VectorParams(size=2, distance=models.Distance.COSINE))
        client.upsert("plain", [models.PointStruct(id=number, vector=[1, 0], payload=payload) for number in range(450)])
        client.create_collection("sparse", {}, sparse_vectors_config={"t": models.SparseVectorParams()})
        sparse = models.SparseVector(indices=[1], values=[0.5])
        client.upsert("sparse", [models.PointStruct(id=7, vector={"t": sparse}, payload=payload)])
        found = list(points(tmp_path / "store"))  # while it is open
    assert [each.id for each in found] == [*range(450), 7]
    assert {json.dumps(each.payload) for each in found} == {json.dumps(payload)}
    assert {each.problem for each in found} == {None}


def test_a_store_further_in_is_read_only_if_it_is_asked_for(tmp_path: Path, write: Write) -> None:
    outer = tmp_path / "given"
    store(outer / "cache" / "x", pickled(1, {"text": "A hill"}))
    with pytest.raises(
        FormatError,
        match=r"cache/x/meta.json is of Qdrant: give its folder itself, or pass --as "
        r"qdrant",
    ):
        survey(outer)
    write("a.md", "Hello")
    assert "cache/x/meta.json" in survey(outer).unknown
    assert survey(outer, format="qdrant").notes == 1
    assert survey(outer / "cache" / "x").notes == 1


def test_mem0s_history_is_not_read_beside_its_store(tmp_path: Path) -> None:
    outer = tmp_path / "mem0"
    store(outer / "qdrant", pickled("m1", {"data": "A hill", "user_id": "anna"}), collection="mem0")
    with closing(sqlite3.connect(outer / "history.db")) as connection, connection:
        columns = "id, memory_id, old_memory, new_memory, event, created_at, updated_at, is_deleted, actor_id, role"
        connection.execute(f"CREATE TABLE history ({columns})")
    with pytest.raises(FormatError, match="or pass --as mem0"):
        survey(outer)
    assert survey(outer, format="mem0").notes + survey(outer, format="mem0").messages == 1


@pytest.mark.parametrize("name", ["../x", "/tmp", "..", "a/../../x"])
def test_a_collection_lies_in_its_store(tmp_path: Path, name: str) -> None:
    inner = store(tmp_path / "a" / "store")
    store(tmp_path / "x", pickled(1, {"text": "secret"}))
    (inner / "meta.json").write_text(json.dumps({"collections": {name: {}}, "aliases": {}}))
    assert list(points(inner)) == []


@pytest.mark.posix
def test_a_store_does_not_lead_out_of_its_folder(tmp_path: Path) -> None:
    store(tmp_path / "private", pickled(1, {"text": "secret"}))
    inner = store(tmp_path / "store")
    file = inner / "collection" / "docs" / "storage.sqlite"
    file.unlink()
    file.symlink_to(tmp_path / "private" / "collection" / "docs" / "storage.sqlite")
    with pytest.raises(FormatError, match="is a link out of the folder"):
        list(points(inner))


# --- databases ---------------------------------------------------------------------------------------------

ENDLESS = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) "
LANGGRAPH = "prefix TEXT, key TEXT, value TEXT, created_at TEXT"
SCHEMAS = {
    "a view": f"CREATE VIEW store AS {ENDLESS} SELECT 'a' AS prefix, x AS key, '1' AS value, '' AS created_at FROM n",
    "a view that loads": "CREATE VIEW store AS SELECT load_extension('/tmp/x') AS prefix, 1 AS key, 2 AS value, "
    "3 AS created_at",
    "a virtual table": "CREATE VIRTUAL TABLE store USING fts5(prefix, key, value, created_at)",
    "a value out of nothing": f"CREATE TABLE store ({LANGGRAPH} AS (hex(zeroblob(100000000)))); "
    "INSERT INTO store (prefix, key, value) VALUES ('a', 'b', '{\"text\": \"x\"}')",
}


def database(path: Path, schema: str) -> Path:
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(f"{schema}; CREATE TABLE store_migrations (v INTEGER PRIMARY KEY)")
    return path


@pytest.mark.parametrize("form", SCHEMAS)
def test_a_database_runs_nothing_of_its_own(tmp_path: Path, form: str) -> None:
    path = database(tmp_path / "store.db", SCHEMAS[form])
    [told] = bad(path, "langgraph")
    assert any(word in told.reason for word in ("not authorized", "prohibited", "too big", "cannot be read"))


def test_a_trigger_in_a_database_is_let_be(tmp_path: Path) -> None:
    schema = (
        f"CREATE TABLE store ({LANGGRAPH}); INSERT INTO store VALUES ('a', 'b', '{{\"text\": \"x\"}}', '');"
        "CREATE TRIGGER t AFTER INSERT ON store BEGIN SELECT load_extension('/tmp/x'); END"
    )
    assert [each.content for each in items(database(tmp_path / "store.db", schema))] == ["x"]


def test_text_that_is_no_utf8_costs_one_character(tmp_path: Path) -> None:
    value = "CAST(x'7b2274657874223a2278ff227d' AS TEXT)"
    schema = f"CREATE TABLE store ({LANGGRAPH}); INSERT INTO store VALUES ('a', 'b', {value}, '')"
    assert [each.content for each in items(database(tmp_path / "store.db", schema))] == ["x\ufffd"]


async def test_an_import_lists_what_would_run(memory: Memory, tmp_path: Path) -> None:
    mark = tmp_path / "run"
    given = store(tmp_path / "store", pickle.dumps(Runs(mark), 4), pickled(2, {"text": "A hill"}))
    report = await load(memory, given)
    assert (report.added, report.failed) == (1, 1)
    assert isinstance(report.bad[0], Bad)
    assert "would run code" in report.bad[0].reason
    assert not mark.exists()


# --- folders and zips --------------------------------------------------------------------------------------


def folder_with_links(tmp_path: Path) -> Path:
    """Make a folder with a note of its own, and links out of it, into it and in a circle."""
    (tmp_path / "private").mkdir()
    (tmp_path / "private" / "key.md").write_text("secret")
    given = tmp_path / "given"
    (given / "in").mkdir(parents=True)
    (given / "in" / "a.md").write_text("Hello")
    (given / "b.md").symlink_to(given / "in" / "a.md")
    (given / "c.md").symlink_to("../private/key.md")
    (given / "d").symlink_to(tmp_path / "private")
    (given / "in" / "e").symlink_to(given)
    (given / "f.md").symlink_to("nowhere")
    os.mkfifo(given / "g.md")
    return given


def test_links_are_not_followed_out_of_a_folder(tmp_path: Path) -> None:
    told = survey(folder_with_links(tmp_path))
    assert (told.notes, sorted(told.links)) == (2, ["c.md", "d"])


def test_links_are_followed_where_that_is_asked_for(tmp_path: Path) -> None:
    with Source(folder_with_links(tmp_path), follow_links=True) as source:
        assert [part.name for part in source.parts] == ["b.md", "c.md", "d/key.md", "in/a.md"]


@pytest.mark.posix
def test_a_folder_of_links_alone_is_said_to_be_one(tmp_path: Path) -> None:
    (tmp_path / "given").mkdir()
    (tmp_path / "given" / "a.md").symlink_to("/etc/hostname")
    with pytest.raises(FormatError, match=r"only links that lead out of it, such as a\.md; pass --follow-links"):
        survey(tmp_path / "given")


@pytest.mark.posix
@pytest.mark.parametrize("what", ["pipe", "device"])
def test_only_regular_files_are_read(tmp_path: Path, what: str) -> None:
    path = tmp_path / "a.md" if what == "pipe" else Path("/dev/zero")
    if what == "pipe":
        os.mkfifo(path)
    for format in (None, "markdown"):
        with pytest.raises(InvalidInputError, match="not a regular file; give the output of a pipe"):
            survey(path, format=format)


def test_a_zip_reads_nothing_and_writes_nothing_outside(tmp_path: Path, pack: Write) -> None:
    link = zipfile.ZipInfo("b.md")
    link.external_attr = 0o120777 << 16
    path = pack("a.zip", {"../../out.md": "One", "/etc/out.md": "Two"})
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr(link, "/etc/hostname")
    found = {each.content.partition("\n\n")[2] for each in items(path, "markdown")}
    assert found == {"/etc/hostname", "Two"}  # what begins with a dot is hidden
    assert list(tmp_path.rglob("out.md")) == []


def test_a_zip_that_unpacks_to_far_more_is_left_out(tmp_path: Path) -> None:
    path = tmp_path / "a.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        with archive.open("bomb.md", "w") as stream:
            for _ in range(110):
                stream.write(b"a" * 1_000_000)
        archive.writestr("a.md", "Hello")
    told = survey(path)
    assert (told.notes, told.unknown) == (1, ["bomb.md"])
    assert [each.reason for each in bad(path, "markdown")] == []


def test_a_zip_of_overlapping_files_is_damaged(pack: Write) -> None:
    path = pack("a.zip", {"a.md": "Hello " * 50, "b.md": "Hello " * 50})
    data = path.read_bytes()
    first, second = (data.index(b"PK\x01\x02"), data.rindex(b"PK\x01\x02"))
    size = (10_000).to_bytes(4, "little")
    for at in (first, second):
        data = data[: at + 20] + size + data[at + 24 :]
    path.write_bytes(data)
    with pytest.raises(FormatError, match="damaged zip: its files overlap"):
        survey(path)


def test_a_zip_packed_so_that_it_takes_any_memory_is_not_unpacked(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "a.zip", "w", zipfile.ZIP_LZMA) as archive:
        archive.writestr("a.md", "Hello")
    with pytest.raises(FormatError, match="pack it as an ordinary zip"):
        survey(tmp_path / "a.zip")
