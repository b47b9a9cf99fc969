"""The memory service, as LoCAL2 describes it: exact topics, similar episodes, two kinds that never mix."""

import json
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from memorist.adapters.local2 import MemoryConfig, MemoryService
from memorist.errors import (
    EmbedderUnavailableError,
    FormatError,
    InvalidInputError,
    MissingExtraError,
    NotFoundError,
)
from memorist.sync import Memory
from memorist.testing import HashEmbedder


@pytest.fixture(params=["chroma", "sqlite"])
def settings(request: pytest.FixtureRequest, tmp_path: Path) -> dict[str, Any]:
    """Settings of the documented Chroma folder, and of a store of this package."""
    if request.param == "sqlite":
        return {"store": str(tmp_path / "local2.db"), "embedding_model": "hash"}
    pytest.importorskip("chromadb")
    return {"chroma_path": str(tmp_path / ".chroma"), "embedding_model": "hash"}


@pytest.fixture
def service(settings: dict[str, Any]) -> Iterator[MemoryService]:
    with MemoryService(settings) as service:
        yield service


# --- topics --------------------------------------------------------------------------------------------


def test_a_topic_is_recalled_exactly(service: MemoryService) -> None:
    service.write_topic("user.language_preference", "Elixir")
    assert service.recall_topic("user.language_preference") == "Elixir"
    for near in ("user.language", "user.language_preferences", "User.language_preference", "language_preference", ""):
        assert service.recall_topic(near) is None


@pytest.mark.parametrize("topic", [None, 5, ["user.name"]])
def test_a_key_that_is_no_text_is_refused(service: MemoryService, topic: Any) -> None:
    with pytest.raises(InvalidInputError, match="topic must be a string"):
        service.recall_topic(topic)


def test_a_topic_has_one_row_which_is_replaced_in_place(service: MemoryService) -> None:
    first = service.write_topic("project.deadline", "Friday")
    second = service.write_topic("project.deadline", "Monday")
    assert first == second
    assert service.recall_topic("project.deadline") == "Monday"


def test_topics_are_never_embedded_in_a_store_of_ours(tmp_path: Path) -> None:
    settings = {"store": str(tmp_path / "local2.db")}

    def refuse(texts: list[str]) -> list[list[float]]:
        raise AssertionError(f"embedded {texts}")

    with MemoryService(settings, embedder=refuse) as service:
        service.write_topic("user.name", "Richard")
        assert service.recall_topic("user.name") == "Richard"


@pytest.mark.parametrize("topic", ["", " ", "name", "users.name", "user", "user.", "user. ", "USER.name", " user.name"])
def test_a_key_that_starts_with_no_prefix_is_refused_with_a_text_that_says_so(
    service: MemoryService, topic: str
) -> None:
    with pytest.raises(ValueError, match=r"start with user\., project\. or constraint\."):
        service.write_topic(topic, "x")
    assert service.recall_topic(topic) is None


def test_the_prefixes_can_be_chosen(settings: dict[str, Any]) -> None:
    with MemoryService(settings, topic_prefixes=["team."]) as service:
        service.write_topic("team.motto", "Ship it")
        with pytest.raises(InvalidInputError, match=r"start with team\. followed"):
            service.write_topic("user.name", "Richard")


def test_a_blank_value_is_refused(service: MemoryService) -> None:
    with pytest.raises(InvalidInputError, match="content must not be blank"):
        service.write_topic("user.name", " ")


# --- episodes ------------------------------------------------------------------------------------------


def test_an_episode_is_found_by_similarity_with_its_metadata(service: MemoryService) -> None:
    entry = service.write_episodic(
        "Q: What is the capital of France?\nA: Paris.", {"session_id": "s-1", "tool_calls": 2}
    )
    [hit] = service.search_episodic("the capital of France")
    assert hit["id"] == entry
    assert hit["content"] == "Q: What is the capital of France?\nA: Paris."
    assert 0.3 <= hit["score"] <= 1
    assert hit["metadata"] == {"session_id": "s-1", "tool_calls": 2, "type": "episodic"}
    assert set(hit) == {"id", "content", "score", "metadata"}


def test_a_cold_memory_finds_nothing(service: MemoryService) -> None:
    assert service.search_episodic("anything at all") == []
    assert service.search_episodic("") == []


def test_no_more_than_top_k_best_first_and_none_below_the_least_score(settings: dict[str, Any]) -> None:
    with MemoryService(settings, top_k=3) as service:
        for n in range(6):
            service.write_episodic("capital of France" + f" and number {n}" * n)
        service.write_episodic("zebra quilt")
        hits = service.search_episodic("capital of France")
        scores = [hit["score"] for hit in hits]
        assert len(hits) == 3 and scores == sorted(scores, reverse=True)
        assert hits[0]["content"] == "capital of France" and scores[0] == pytest.approx(1, abs=1e-5)
        assert len(service.search_episodic("capital of France", top_k=2)) == 2
        assert all(hit["score"] >= 0.3 for hit in service.search_episodic("capital of France", top_k=50))
    with MemoryService(settings, min_score=1.0) as service:
        assert service.search_episodic("capital of Spain") == []


def test_the_least_score_is_inclusive(tmp_path: Path) -> None:
    def embed(texts: list[str]) -> list[list[float]]:
        return [[1.0, 0.0] if "query" in text else [0.5, 0.75**0.5] for text in texts]

    with MemoryService(store=str(tmp_path / "m.db"), embedding_model="plain", embedder=embed, min_score=0.5) as service:
        service.write_episodic("half as near")
        assert [hit["score"] for hit in service.search_episodic("query")] == [pytest.approx(0.5)]


def test_topics_are_not_among_the_episodes_nor_episodes_among_the_topics(service: MemoryService) -> None:
    service.write_topic("user.city", "lives in Oslo")
    service.write_episodic("lives in Oslo", {"topic": "user.town", "type": "topic"})
    [hit] = service.search_episodic("lives in Oslo")
    assert hit["metadata"]["type"] == "episodic"
    assert service.recall_topic("user.town") is None


def test_the_same_episode_twice_is_two_episodes(service: MemoryService) -> None:
    assert service.write_episodic("hello") != service.write_episodic("hello")


def test_an_episode_has_the_day_it_happened(service: MemoryService) -> None:
    at = service.write_episodic("a", {"timestamp_utc": "2026-05-30T23:59:59+00:00"})
    before = service.now()
    unknown = service.write_episodic("b", {"timestamp_utc": "once upon a time"})
    times = {each.id: each.at for text in ("a", "b") for each in service.episodes(text)}
    assert f"{times[at]:%Y-%m-%d}" == "2026-05-30"
    assert before <= times[unknown] <= service.now()


def test_what_cannot_be_kept_is_refused(service: MemoryService) -> None:
    with pytest.raises(InvalidInputError, match="blank"):
        service.write_episodic("  ")
    with pytest.raises(InvalidInputError):
        service.write_episodic("text", {"a": object()})
    with pytest.raises(InvalidInputError, match="metadata must be a mapping, not list"):
        service.write_episodic("text", ["a"])  # type: ignore[arg-type]
    with pytest.raises(InvalidInputError, match="metadata is not JSON"):
        service.write_episodic("text", {"a": float("nan")})
    assert service.search_episodic("text") == []


def test_half_a_character_is_kept_with_a_mark(service: MemoryService) -> None:
    ids = [service.write_episodic("half a \ud800", {"a": "\ud800"}, message_id=half) for half in ("\ud83d", "\ud83e")]
    service.write_topic("user.\ud83d", "one \ud83d")
    service.write_topic("user.\ud83e", "other")
    assert len({*ids}) == 2
    assert [each["content"] for each in service.search_episodic("half a \ud800")] == ["half a \ufffd"] * 2
    assert (service.recall_topic("user.\ud83d"), service.recall_topic("user.\ud83e")) == ("one \ufffd", "other")


# --- prefixes ------------------------------------------------------------------------------------------


class Recorder:
    """An embedding function that keeps the texts it gets."""

    def __init__(self) -> None:
        self.texts: list[str] = []

    def __call__(self, texts: list[str]) -> list[list[float]]:
        self.texts += texts
        return [[1.0, float(len(text))] for text in texts]


def test_nomic_gets_its_prefixes_exactly_once(tmp_path: Path) -> None:
    recorder = Recorder()
    with MemoryService(store=str(tmp_path / "m.db"), embedder=recorder) as service:
        service.write_episodic("Paris is in France")
        service.write_episodic("search_document: given already")
        service.search_episodic("where is Paris?")
    asked = [text for text in recorder.texts if "Paris" in text or "given" in text]
    assert asked == [
        "search_document: Paris is in France",
        "search_document: given already",
        "search_query: where is Paris?",
    ]


def test_a_model_that_needs_no_prefixes_gets_none(tmp_path: Path) -> None:
    recorder = Recorder()
    with MemoryService(store=str(tmp_path / "m.db"), embedding_model="all-minilm", embedder=recorder) as service:
        service.write_episodic("Paris is in France")
        service.search_episodic("where is Paris?")
    assert recorder.texts[-2:] == ["Paris is in France", "where is Paris?"]


def test_what_is_stored_and_found_is_without_the_prefix(tmp_path: Path) -> None:
    with MemoryService(store=str(tmp_path / "m.db"), embedder=Recorder()) as service:
        service.write_episodic("Paris is in France")
        assert service.search_episodic("Paris")[0]["content"] == "Paris is in France"


@pytest.fixture
def ollama() -> Iterator[tuple[str, list[str]]]:
    """A server with Ollama's embeddings API: its URL, and the texts it was sent."""
    sent: list[str] = []

    class Embeddings(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            sent.extend(asked["input"])
            rows = [{"index": n, "embedding": [1.0, float(len(text))]} for n, text in enumerate(asked["input"])]
            answer = json.dumps({"data": rows, "model": asked["model"]}).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

        def log_message(self, *args: object) -> None: ...

    with ThreadingHTTPServer(("127.0.0.1", 0), Embeddings) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/v1", sent
        server.shutdown()


def test_nomic_at_an_endpoint_gets_its_prefixes_exactly_once(tmp_path: Path, ollama: tuple[str, list[str]]) -> None:
    pytest.importorskip("openai")
    url, sent = ollama
    with MemoryService(store=str(tmp_path / "m.db"), embedding_model=f"{url}#nomic-embed-text") as service:
        service.write_topic("user.name", "Richard")
        service.write_episodic("Paris is in France")
        assert service.search_episodic("where is Paris?")[0]["content"] == "Paris is in France"
    assert sent[-2:] == ["search_document: Paris is in France", "search_query: where is Paris?"]
    assert not any("Richard" in text for text in sent)


# --- feedback ------------------------------------------------------------------------------------------


def test_feedback_joins_the_metadata_and_loses_nothing_of_it(service: MemoryService) -> None:
    entry = service.write_episodic("the answer", {"query_id": "q-1", "tool_calls": 1})
    service.add_feedback(entry, 0.9)
    [hit] = service.search_episodic("the answer")
    assert hit["metadata"] == {"query_id": "q-1", "tool_calls": 1, "type": "episodic", "score": 0.9}
    service.add_feedback(entry, -0.5)
    assert service.search_episodic("the answer")[0]["metadata"]["score"] == -0.5


def test_feedback_leaves_the_episode_s_source(tmp_path: Path) -> None:
    with Memory.open(str(tmp_path / "m.db"), embedder="hash") as memory:
        id = memory.episodes.add(question="Capital of France?", answer="Paris.", source="mango").id
        MemoryService(memory=memory).add_feedback(id, 1)
        record = memory.get(id)
        assert record is not None and (record.source, record.rating) == ("mango", 1)


def test_well_rated_episodes_come_first_among_similar_ones_with_the_same_similarity(service: MemoryService) -> None:
    entries = [service.write_episodic(f"how to sort a list in Python: way {n}") for n in "abc"]
    before = {hit["id"]: hit["score"] for hit in service.search_episodic("how to sort a list in Python")}
    service.add_feedback(entries[1], 1)
    service.add_feedback(entries[0], -1)
    hits = service.search_episodic("how to sort a list in Python")
    assert [hit["id"] for hit in hits] == [entries[1], entries[2], entries[0]]
    assert {hit["id"]: hit["score"] for hit in hits} == before


def test_good_feedback_does_not_lift_an_episode_over_a_nearer_one(service: MemoryService) -> None:
    near = service.write_episodic("the capital of France is Paris")
    far = service.write_episodic("the capital gains of a fund in France rose")
    service.add_feedback(far, 1)
    assert service.search_episodic("the capital of France is Paris")[0]["id"] == near


def test_a_score_beyond_the_range_counts_as_its_end_and_is_kept_as_given(service: MemoryService) -> None:
    entry = service.write_episodic("the answer")
    service.add_feedback(entry, 5)
    assert service.search_episodic("the answer")[0]["metadata"]["score"] == 5


def test_feedback_that_fits_no_episode_is_refused(service: MemoryService) -> None:
    topic = service.write_topic("user.name", "Richard")
    for missing in ("no such", topic):
        with pytest.raises(NotFoundError):
            service.add_feedback(missing, 1)
    entry = service.write_episodic("the answer")
    for score in (float("nan"), None, True, "good"):
        with pytest.raises(InvalidInputError, match="score"):
            service.add_feedback(entry, score)  # type: ignore[arg-type]


# --- threads, restarts, stores -------------------------------------------------------------------------


def test_threads_share_one_service(service: MemoryService) -> None:
    start = threading.Barrier(8)

    def work(lane: int) -> None:
        start.wait(60)
        for n in range(10):
            entry = service.write_episodic(f"lane {lane} number {n}", {"lane": lane, "n": n})
            service.add_feedback(entry, n / 10)
            service.write_topic(f"user.lane{lane}", str(n))
            assert service.recall_topic(f"user.lane{lane}") == str(n)
            assert service.search_episodic(f"lane {lane} number {n}")

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(work, range(8)))
    assert len(service.search_episodic("lane number", top_k=100)) == 80
    assert [service.recall_topic(f"user.lane{lane}") for lane in range(8)] == ["9"] * 8


def test_everything_is_there_after_a_restart(settings: dict[str, Any]) -> None:
    with MemoryService(settings) as service:
        topic = service.write_topic("user.name", "Richard")
        entry = service.write_episodic("Q: Who?\nA: Richard.", {"query_id": "q-7"})
        service.add_feedback(entry, 1)
    with MemoryService(settings) as service:
        assert service.recall_topic("user.name") == "Richard"
        assert service.write_topic("user.name", "Rich") == topic
        [hit] = service.search_episodic("Who? Richard")
        assert (hit["id"], hit["metadata"]["score"]) == (entry, 1)
        assert service.find_episode("q-7") == entry and service.find_episode("q-8") is None


def test_collections_and_users_are_walls(settings: dict[str, Any]) -> None:
    with MemoryService(settings) as mine, MemoryService(settings, collection="other") as other:
        mine.write_topic("user.name", "Richard")
        mine.write_episodic("a secret")
        assert other.recall_topic("user.name") is None and other.search_episodic("a secret") == []
    with MemoryService(settings, user="ada") as ada:
        assert ada.recall_topic("user.name") is None


def test_a_memory_that_is_open_can_be_shared_and_stays_open(tmp_path: Path) -> None:
    with Memory.open(tmp_path / "m.db", user="ada", embedder=HashEmbedder()) as memory:
        with MemoryService(memory=memory) as service:
            service.write_topic("user.name", "Ada")
        assert memory.topics.get("user.name") == "Ada"


# --- the documented folder ------------------------------------------------------------------------------


def rows_in(folder: Path, collection: str = "local2.memory") -> Any:
    chromadb = pytest.importorskip("chromadb")
    client = chromadb.PersistentClient(str(folder), chromadb.config.Settings(anonymized_telemetry=False))
    return client, client.get_or_create_collection(collection, embedding_function=None)


def test_one_collection_holds_topics_and_episodes_found_by_type_and_topic(tmp_path: Path) -> None:
    pytest.importorskip("chromadb")
    with MemoryService(chroma_path=str(tmp_path), embedding_model="hash") as service:
        topic = service.write_topic("user.name", "Richard")
        service.write_topic("user.name", "Rich")
        entry = service.write_episodic("Q: Who?\nA: Rich.", {"session_id": "s", "query_id": "q-1", "tool_calls": 0})
    client, rows = rows_in(tmp_path)
    assert [each.name for each in client.list_collections()] == ["local2.memory"]
    found = rows.get(where={"$and": [{"topic": "user.name"}, {"type": "topic"}]})
    assert (found["ids"], found["documents"]) == ([topic], ["Rich"])
    found = rows.get(where={"type": "episodic"})
    assert (found["ids"], found["documents"]) == ([entry], ["Q: Who?\nA: Rich."])
    assert found["metadatas"][0].items() >= {"session_id": "s", "query_id": "q-1", "tool_calls": 0}.items()
    client.close()


def test_a_folder_that_local2_wrote_itself_is_read_on(tmp_path: Path) -> None:
    client, rows = rows_in(tmp_path)
    rows.add(
        ids=["t", "e"],
        documents=["Richard", "Paris is in France"],
        embeddings=[[1.0, 0.0], [0.0, 1.0]],
        metadatas=[
            {"type": "topic", "topic": "user.name"},
            {"type": "episodic", "query_id": "q-1", "timestamp_utc": "2026-05-30T10:00:00"},
        ],
    )
    client.close()
    with MemoryService(chroma_path=str(tmp_path), embedder=lambda texts: [[0.0, 1.0]] * len(texts)) as service:
        assert service.recall_topic("user.name") == "Richard"
        assert service.write_topic("user.name", "Rich") == "t"
        [hit] = service.episodes("France")
        assert (hit.id, f"{hit.at:%Y-%m-%d}") == ("e", "2026-05-30")
        service.add_feedback("e", 1)
        [found] = service.search_episodic("France")
        assert found["metadata"]["score"] == 1 and found["metadata"]["query_id"] == "q-1"
        assert service.find_episode("q-1") == "e"


def test_metadata_of_any_json_comes_back_as_it_was(settings: dict[str, Any]) -> None:
    given = {"tags": ["a", {"b": None}], "none": None, "n": 1, "x": 0.5, "ok": True, "text": "t", "two words": "t"}
    given |= {"memorist": "a name of ours", "chroma:document": "one of Chroma's", "#": 1, "": 2, "large": 2**70}
    with MemoryService(settings) as service:
        service.write_episodic("the answer", given)
        [hit] = service.search_episodic("the answer")
    assert hit["metadata"] == {**given, "type": "episodic"}


def test_chromadb_missing_is_an_error_that_names_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "chromadb", None)
    with pytest.raises(ImportError, match="pip install "):
        MemoryService(embedding_model="hash")


@pytest.mark.parametrize("top_k", [0, -1, True, "3"])
def test_a_count_that_is_none_is_refused(service: MemoryService, top_k: Any) -> None:
    with pytest.raises(InvalidInputError, match="top_k"):
        service.search_episodic("anything", top_k=top_k)


def test_the_check_tells_what_the_embedder_lacks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with MemoryService(store=str(tmp_path / "m.db"), embedding_model="http://127.0.0.1:1/v1#nomic") as service:
        service.write_topic("user.name", "Richard")
        with pytest.raises(EmbedderUnavailableError, match="nomic"):
            service.check()
        monkeypatch.setitem(__import__("sys").modules, "openai", None)
    service = MemoryService(store=str(tmp_path / "n.db"), embedding_model="http://127.0.0.1:1/v1#nomic")
    with service, pytest.raises(MissingExtraError, match="openai"):
        service.check()
    with MemoryService(store=str(tmp_path / "m.db"), embedding_model="hash") as service:
        service.check()


# --- memory.yaml ---------------------------------------------------------------------------------------


def test_the_defaults_are_those_of_the_document() -> None:
    config = MemoryConfig()
    assert (config.chroma_path, config.collection) == (".chroma", "local2.memory")
    assert (config.embedding_model, config.top_k, config.min_score) == ("nomic-embed-text", 5, 0.3)
    assert config.embedder == "ollama:nomic-embed-text"


@pytest.mark.parametrize(
    ("model", "embedder"),
    [
        ("nomic-embed-text:latest", "ollama:nomic-embed-text:latest"),
        ("default", "default"),
        ("hash", "hash"),
        ("hash:32", "hash:32"),
        ("openai:text-embedding-3-small", "openai:text-embedding-3-small"),
        ("http://localhost:8080/v1#nomic-embed-text", "http://localhost:8080/v1#nomic-embed-text"),
    ],
)
def test_a_plain_model_is_one_that_ollama_serves(model: str, embedder: str) -> None:
    assert MemoryConfig(embedding_model=model).embedder == embedder


def test_a_file_overrides_the_defaults_and_arguments_override_the_file(tmp_path: Path) -> None:
    pytest.importorskip("yaml")
    path = tmp_path / "memory.yaml"
    path.write_text(
        f"store: {tmp_path}/m.db\nembedding_model: hash\ntop_k: 2\nmin_score: 0.1 # low\n", encoding="utf-8"
    )
    with MemoryService(path, min_score=0.2) as service:
        assert (service.config.top_k, service.config.min_score) == (2, 0.2)
        service.write_topic("user.name", "Richard")
    assert (tmp_path / "m.db").exists()
    assert MemoryConfig.load(path, top_k=None).top_k == 2


def test_a_bare_service_reads_the_file_that_the_tools_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("yaml")
    (tmp_path / "config").mkdir()
    (tmp_path / "config" / "memory.yaml").write_text(f"store: {tmp_path}/m.db\nembedding_model: hash\ntop_k: 2\n")
    monkeypatch.chdir(tmp_path)
    with MemoryService() as service, MemoryService(top_k=3) as other:
        assert (service.config.store, service.config.top_k, other.config.top_k) == (f"{tmp_path}/m.db", 2, 3)


def test_an_empty_file_means_the_defaults(tmp_path: Path) -> None:
    pytest.importorskip("yaml")
    (tmp_path / "memory.yaml").write_text("# nothing yet\n", encoding="utf-8")
    assert MemoryConfig.load(tmp_path / "memory.yaml") == MemoryConfig()


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("top_q: 3", "no setting 'top_q'; available: chroma_path"),
        ("top_k: many", "top_k must be a whole number"),
        ("top_k: 0", "top_k must be a whole number"),
        ("min_score: 3", "min_score must be a number from 0 to 1"),
        ("collection: ''", "collection must be a string"),
        ("store: 5", "store must be a string"),
        ("topic_prefixes: user.", "topic_prefixes must be a list"),
    ],
)
def test_a_wrong_setting_is_an_error_that_names_the_file_and_the_setting(
    tmp_path: Path, text: str, reason: str
) -> None:
    pytest.importorskip("yaml")
    path = tmp_path / "memory.yaml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(InvalidInputError, match=f"memory.yaml: .*{reason}"):
        MemoryService(path)


@pytest.mark.parametrize("text", ["- a\n- b\n", "top_k: [", "just words"])
def test_what_is_no_settings_file_is_an_error(tmp_path: Path, text: str) -> None:
    pytest.importorskip("yaml")
    path = tmp_path / "memory.yaml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(FormatError, match=r"memory\.yaml"):
        MemoryConfig.load(path)


def test_pyyaml_missing_is_an_error_that_names_the_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "yaml", None)
    with pytest.raises(ImportError, match=r"pip install .*\[local2\]'"):
        MemoryConfig.load(tmp_path / "memory.yaml")
