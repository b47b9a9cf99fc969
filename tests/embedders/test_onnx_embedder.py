"""The bundled model and any other folder with an ONNX model, run for real."""

import asyncio
import json
import subprocess
import sys
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from memorist.embedders import OnnxEmbedder, Role
from memorist.embedders.onnx import BUNDLED
from memorist.embedders.registry import open_ahead, open_embedder
from memorist.errors import EmbedderError

TEXTS = [
    "Prefers homestays when she travels",
    "The invoice was paid on Friday",
    "Ja, " + "sehr " * 40 + "gern.",
    "ok",
    "He plays the clarinet in an orchestra, mostly Brahms and some Mozart.",
]


def embed(embedder: Any, texts: Sequence[str], role: Role = Role.DOCUMENT) -> Any:
    return asyncio.run(embedder.embed(texts, role))


@pytest.fixture(scope="module")
def bundled() -> Any:
    return OnnxEmbedder()


@pytest.fixture
def folder(tmp_path: Path) -> Any:
    """A folder with the bundled weights and tokenizer and no word on how to use them."""
    path = tmp_path / "model"
    path.mkdir()
    for name in ("model.onnx", "tokenizer.json"):
        (path / name).symlink_to(BUNDLED / name)
    return path


def test_the_bundled_model_works_out_of_the_box(bundled: Any) -> None:
    rows = embed(bundled, TEXTS)
    assert rows.shape == (5, bundled.dimensions) == (5, 384)
    assert rows.dtype == np.float32
    assert np.allclose(np.linalg.norm(rows, axis=1), 1)
    assert bundled.fingerprint.startswith("bge-small-en-v1.5-int8@")


def test_a_question_finds_the_text_that_answers_it(bundled: Any) -> None:
    rows = embed(bundled, TEXTS)
    query = embed(bundled, ["where does she like to stay on holiday?"], Role.QUERY)[0]
    assert int(np.argmax(rows @ query)) == 0


def test_a_texts_vector_is_the_same_to_the_bit_whatever_is_embedded_with_it(bundled: Any) -> None:
    together = embed(bundled, TEXTS)
    alone = np.vstack([embed(bundled, [text]) for text in TEXTS])
    assert np.array_equal(together, alone)
    assert np.array_equal(embed(bundled, TEXTS[::-1])[::-1], alone)


def test_a_query_is_embedded_with_its_prefix_and_never_with_two(bundled: Any) -> None:
    prefix = json.loads((BUNDLED / "memorist.json").read_text())["prefixes"]["query"]
    plain, query = embed(bundled, ["tea?"]), embed(bundled, ["tea?"], Role.QUERY)
    assert not np.array_equal(plain, query)
    assert np.array_equal(embed(bundled, [prefix + "tea?"], Role.QUERY), query)


@pytest.mark.parametrize("text", ["", " \n", "\x00", "\u200b", "\ud800", "🫖" * 2000, "x" * 100_000, "a b " * 50_000])
def test_odd_texts_do_not_crash(bundled: Any, text: Any) -> None:
    row = embed(bundled, [text])[0]
    assert np.linalg.norm(row) == pytest.approx(1 if text.strip() else 0, abs=1e-5)


def test_what_lies_behind_the_models_length_changes_nothing(bundled: Any) -> None:
    rows = embed(bundled, ["tea " * 600, "tea " * 600 + "coffee"])
    assert np.array_equal(rows[0], rows[1])


@pytest.fixture
def go_on(bundled: Any, monkeypatch: pytest.MonkeyPatch) -> threading.Event:
    """What documents wait for on their way into the model; a question goes in at once."""
    asyncio.run(bundled.embed(["warm"]))
    embed_one, event = bundled._model.run, threading.Event()

    def run(text: str) -> Any:
        assert text.endswith("?") or event.wait(60)
        return embed_one(text)

    monkeypatch.setattr(bundled._model, "run", run)
    return event


def test_the_event_loop_goes_on_while_a_batch_is_embedded(bundled: Any, go_on: threading.Event) -> None:
    async def scenario() -> Any:
        work = asyncio.create_task(bundled.embed(TEXTS))
        for _ in range(20):
            await asyncio.sleep(0)
        assert not work.done()
        go_on.set()
        return await work

    assert asyncio.run(scenario()).shape == (5, 384)


def test_a_question_does_not_wait_for_a_long_import(bundled: Any, go_on: threading.Event) -> None:
    async def scenario() -> None:
        long = asyncio.create_task(bundled.embed(TEXTS * 10))
        await asyncio.sleep(0)  # until it is under way
        await bundled.embed(["where?"], Role.QUERY)
        assert not long.done()
        go_on.set()
        await long

    asyncio.run(scenario())


def test_several_event_loops_in_several_threads_share_one_embedder(bundled: Any) -> None:
    expected = embed(bundled, TEXTS)
    with ThreadPoolExecutor(4) as pool:
        for rows in pool.map(lambda _: embed(bundled, TEXTS), range(8)):
            assert np.array_equal(rows, expected)


def test_a_cancelled_call_leaves_the_embedder_in_order(bundled: Any) -> None:
    async def scenario() -> Any:
        for turns in (0, 1, 5, 50):
            task = asyncio.create_task(bundled.embed(TEXTS * 20))
            for _ in range(turns):
                await asyncio.sleep(0)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
        return await bundled.embed(TEXTS)

    assert np.array_equal(asyncio.run(scenario()), embed(bundled, TEXTS))


@pytest.mark.posix
def test_a_forked_child_can_embed() -> None:
    code = (
        "import asyncio, os\n"
        "from memorist.embedders import OnnxEmbedder\n"
        "e = OnnxEmbedder()\n"
        "asyncio.run(e.embed(['a', 'b']))\n"
        "child = os.fork()\n"
        "if child == 0:\n"
        "    os._exit(0 if asyncio.run(e.embed(['a', 'b'])).shape == (2, 384) else 3)\n"
        "raise SystemExit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))\n"
    )
    assert subprocess.run([sys.executable, "-c", code], timeout=240, check=False).returncode == 0


def test_a_closed_embedder_says_so() -> None:
    async def scenario() -> None:
        embedder = OnnxEmbedder()
        await embedder.embed(["tea"])
        await embedder.close()
        await embedder.close()
        await embedder.embed(["tea"])

    with pytest.raises(EmbedderError, match="closed"):
        asyncio.run(scenario())


def test_ready_tells_the_dimensions_without_loading_the_model(bundled: Any) -> None:
    code = (
        "import asyncio, sys\n"
        "from memorist.embedders import OnnxEmbedder\n"
        "e = OnnxEmbedder()\n"
        "asyncio.run(e.ready())\n"
        "print(e.dimensions, e.fingerprint, 'onnxruntime' in sys.modules)"
    )
    asyncio.run(bundled.ready())
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["384", bundled.fingerprint, "False"]


class TestFolder:
    def test_a_bare_folder_is_pooled_by_the_mean_and_its_dimensions_found_out(self, folder: Any) -> None:
        embedder = OnnxEmbedder(folder)
        assert embed(embedder, TEXTS).shape == (5, 384)
        assert embedder.dimensions == 384

    def test_sentence_transformers_own_files_are_understood(self, folder: Any, bundled: Any) -> None:
        (folder / "1_Pooling").mkdir()
        (folder / "1_Pooling" / "config.json").write_text(
            json.dumps({"word_embedding_dimension": 384, "pooling_mode_cls_token": True, "include_prompt": True})
        )
        (folder / "config.json").write_text(json.dumps({"_name_or_path": "BAAI/bge-small-en", "hidden_size": 384}))
        embedder = OnnxEmbedder(folder)
        for role in Role:
            assert np.array_equal(embed(embedder, TEXTS, role), embed(bundled, TEXTS, role))

    def test_the_fingerprint_is_that_of_the_contents_not_of_the_place(self, folder: Any, tmp_path: Path) -> None:
        here = OnnxEmbedder(folder)
        asyncio.run(here.ready())
        moved = OnnxEmbedder(folder.rename(tmp_path / "elsewhere"))
        asyncio.run(moved.ready())
        assert here.fingerprint == moved.fingerprint
        assert str(tmp_path) not in here.fingerprint

    @pytest.mark.parametrize(
        "card",
        [{"pooling": "cls"}, {"max_tokens": 64}, {"prefixes": {"query": "q: "}}, {"prefixes": {"document": "q: "}}],
    )
    def test_whatever_changes_the_vectors_changes_the_fingerprint(self, folder: Any, card: Any) -> None:
        before = OnnxEmbedder(folder)
        asyncio.run(before.ready())
        (folder / "memorist.json").write_text(json.dumps(card))
        after = OnnxEmbedder(folder)
        asyncio.run(after.ready())
        assert before.fingerprint != after.fingerprint

    @pytest.mark.parametrize("pooling", ["cls", "mean", "max", "last"])
    def test_each_pooling_gives_another_vector(self, folder: Any, pooling: Any) -> None:
        (folder / "memorist.json").write_text(json.dumps({"pooling": pooling}))
        rows = embed(OnnxEmbedder(folder), ["some tea"])
        (folder / "memorist.json").write_text(json.dumps({"pooling": "mean" if pooling != "mean" else "cls"}))
        assert not np.allclose(rows, embed(OnnxEmbedder(folder), ["some tea"]))

    def test_a_missing_folder_says_what_is_needed(self, tmp_path: Path) -> None:
        with pytest.raises(EmbedderError, match=r"no model folder .* needs model\.onnx and tokenizer\.json"):
            embed(OnnxEmbedder(tmp_path / "nowhere"), ["tea"])

    @pytest.mark.parametrize(
        ("missing", "complaint"), [("model.onnx", r"no model\.onnx; export"), ("tokenizer.json", r"no tokenizer\.json")]
    )
    def test_an_incomplete_folder_names_the_missing_file(self, folder: Any, missing: Any, complaint: Any) -> None:
        (folder / missing).unlink()
        with pytest.raises(EmbedderError, match=complaint):
            embed(OnnxEmbedder(folder), ["tea"])

    @pytest.mark.parametrize("opening", [open_embedder, open_ahead])
    @pytest.mark.parametrize(("name", "content"), [("model.onnx", b"no model"), ("tokenizer.json", b"{}")])
    def test_a_damaged_file_is_named(self, folder: Any, name: Any, content: Any, opening: Any) -> None:
        (folder / name).unlink()
        (folder / name).write_bytes(content)
        with pytest.raises(EmbedderError, match=name):
            embed(opening(folder), ["tea"])

    @pytest.mark.parametrize("brief", [False, True])
    def test_a_model_loaded_ahead_gives_the_same_vectors(self, folder: Any, brief: bool) -> None:
        assert np.array_equal(embed(open_ahead(folder, brief=brief), TEXTS), embed(open_embedder(folder), TEXTS))

    def test_a_file_cut_short_is_found_before_it_is_used(self, folder: Any) -> None:
        (folder / "memorist.json").write_text(json.dumps({"files": {"model.onnx": {"bytes": 99}}}))
        with pytest.raises(EmbedderError, match="instead of 99: install or download it again"):
            embed(OnnxEmbedder(folder), ["tea"])

    @pytest.mark.parametrize(
        ("card", "complaint"),
        [
            ('{"pooling": "sum"}', "'sum' pooling; known are cls"),
            ("{", r"cannot read .*memorist\.json"),
            ("[]", "JSON object"),
        ],
    )
    def test_settings_that_make_no_sense_are_refused(self, folder: Any, card: Any, complaint: Any) -> None:
        (folder / "memorist.json").write_text(card)
        with pytest.raises(EmbedderError, match=complaint):
            embed(OnnxEmbedder(folder), ["tea"])

    def test_an_embedder_recovers_once_its_folder_is_complete(self, folder: Any) -> None:
        embedder = OnnxEmbedder(folder)
        tokenizer = (folder / "tokenizer.json").rename(folder / "away.json")
        with pytest.raises(EmbedderError):
            embed(embedder, ["tea"])
        Path(tokenizer).rename(folder / "tokenizer.json")
        assert embed(embedder, ["tea"]).shape == (1, 384)
