"""How long a program that starts, asks once and ends takes: the command and its hooks, cold and where a server runs.

    python bench/speed/cold.py [--records 10000] [--runs 7] [--chroma] [--mem0]

Each row is a new process, and its figures are medians. Its time on the clock depends on what else the machine does;
its processor time, and both as multiples of an interpreter that does nothing, depend on that less. The parts stand
each apart, the one below with the one above. "The limit" is what a cold recall cannot do without: NumPy, onnxruntime,
and the model loaded and run once; the SDK's row is that of an MCP server of one call that answers nothing. Chroma's and
mem0's rows are the same question to a collection of the same texts, with the same model's vectors given, so that they
load none; mem0 searches its default store, a folder of Qdrant's local mode.
"""

import asyncio
import json
import os
import resource
import subprocess
import sys
import time
from argparse import ArgumentParser
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

PROMPT = "With which script is the harbour deployed?"
USER = "bench"
LISTING = b"""{"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": "2025-06-18", \
"capabilities": {}, "clientInfo": {"name": "bench", "version": "1"}}}
{"jsonrpc": "2.0", "method": "notifications/initialized"}
{"jsonrpc": "2.0", "id": 2, "method": "tools/list"}
"""
MAIN = [sys.executable, "-c", "from memorist.cli import main; main()"]
Row = tuple[float, float]
PROTOCOL = """
import anyio
from mcp.server import Server
from mcp.server.stdio import stdio_server
from mcp_types import ListToolsResult

async def listed(context, params):
    return ListToolsResult(tools=[])

async def main():
    server = Server("nothing", on_list_tools=listed)
    async with stdio_server() as (incoming, outgoing):
        await server.run(incoming, outgoing, server.create_initialization_options())

anyio.run(main)
"""
OPENED = """
import asyncio, sys
from memorist.memory import Memory

async def once():
    async with Memory.open() as memory:
        await memory.count()

asyncio.run(once())
"""
LIMIT = """
import asyncio
from memorist.embedders.onnx import OnnxEmbedder

async def once():
    embedder = OnnxEmbedder()
    await embedder.ready()
    await embedder.embed(["With which script is the harbour deployed?"])

asyncio.run(once())
"""
CHROMA = """
import sys, chromadb
from chromadb.config import Settings
client = chromadb.PersistentClient(sys.argv[1] + "/chroma", Settings(anonymized_telemetry=False))
"""
CHROMA_FILL = f"""{CHROMA}
import apsw, numpy
collection = client.create_collection("notes", embedding_function=None)
read = "SELECT id, content, vector FROM records JOIN indexed USING (wall, number)"
rows = apsw.Connection(sys.argv[2]).execute(read).fetchall()
for start in range(0, len(rows), 1000):
    ids, texts, vectors = zip(*rows[start:start + 1000])
    collection.add(list(ids), [numpy.frombuffer(each, numpy.float32) for each in vectors], documents=list(texts))
"""
CHROMA_ASK = f"""{CHROMA}
collection = client.get_collection("notes", embedding_function=None)
print(collection.query([[1.0] * 384], n_results=5)["documents"])
"""

MEM0 = """
import os, sys
os.environ["MEM0_TELEMETRY"] = "False"
from mem0.vector_stores.qdrant import Qdrant
store = Qdrant(collection_name="notes", embedding_model_dims=384, path=sys.argv[1] + "/mem0", on_disk=True)
"""
MEM0_FILL = f"""{MEM0}
import apsw, numpy, uuid
read = "SELECT id, content, vector FROM records JOIN indexed USING (wall, number)"
rows = apsw.Connection(sys.argv[2]).execute(read).fetchall()
for start in range(0, len(rows), 1000):
    ids, texts, vectors = zip(*rows[start:start + 1000])
    notes = [{{"data": each, "user_id": "bench"}} for each in texts]
    given = [numpy.frombuffer(each, numpy.float32).tolist() for each in vectors]
    store.insert(given, notes, [str(uuid.UUID(each)) for each in ids])
"""
MEM0_ASK = f"""{MEM0}
print(store.search("", [1.0] * 384, top_k=5, filters={{"user_id": "bench"}}))
"""


async def fill(records: int, project: str) -> None:
    from common import text

    from memorist import Memory

    async with Memory.open(user=USER, agent=project) as memory:
        for start in range(0, records, 1000):
            await memory.remember([text(number) for number in range(start, min(start + 1000, records))])


def measured(command: Sequence[str], stdin: bytes, runs: int) -> Row:
    """Return the medians of the time on the clock and of the processor time of a process, in seconds.

    A first run, not counted, leaves the modules compiled, as an installation does.
    """
    walls, cpus = [], []
    for _ in range(1 + runs):
        before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
        done = subprocess.run(command, input=stdin, capture_output=True, check=True)
        walls.append(time.perf_counter() - start)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        cpus.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
        assert not done.stderr or command[2] == MEM0_ASK, done.stderr.decode()
    return median(walls[1:]), median(cpus[1:])


def main() -> None:
    arguments = ArgumentParser()
    arguments.add_argument("--records", type=int, default=10_000)
    arguments.add_argument("--runs", type=int, default=7)
    arguments.add_argument("--chroma", action="store_true")
    arguments.add_argument("--mem0", action="store_true")
    given = arguments.parse_args()
    with TemporaryDirectory() as name:
        folder = Path(name).resolve()
        db = os.environ.get("MEMORIST_BENCH_DB", str(folder / "cold.db"))
        os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
        os.environ.update(MEMORIST_DB=db, MEMORIST_STATE=str(folder / "state"), MEMORIST_USER=USER)
        project = folder / "project"
        project.mkdir()
        if not Path(db).exists():
            asyncio.run(fill(given.records, str(project)))
        said = json.dumps({"session_id": "s", "cwd": str(project), "prompt": PROMPT}).encode()
        quiet = json.dumps({"session_id": "s", "cwd": str(project), "prompt": "yes"}).encode()
        rows = {
            "an interpreter that does nothing": measured([sys.executable, "-c", ""], b"", given.runs),
            "import numpy, onnxruntime": measured([sys.executable, "-c", "import numpy, onnxruntime"], b"", given.runs),
            "the limit": measured([sys.executable, "-c", LIMIT], b"", given.runs),
            "import click": measured([sys.executable, "-c", "import click"], b"", given.runs),
            "import memorist.memory": measured([sys.executable, "-c", "import memorist.memory"], b"", given.runs),
            "the store opened and counted": measured([sys.executable, "-c", OPENED], b"", given.runs),
            "memorist --version": measured([*MAIN, "--version"], b"", given.runs),
            "memorist --help": measured([*MAIN, "--help"], b"", given.runs),
            "memorist recall, cold": measured([*MAIN, "recall", PROMPT], b"", given.runs),
            "the SDK of MCP, no tools listed": measured([sys.executable, "-c", PROTOCOL], LISTING, given.runs),
            "memorist mcp, its tools listed": measured([*MAIN, "mcp"], LISTING, given.runs),
            "a hook with nothing to say": measured([*MAIN, "hook", "UserPromptSubmit"], quiet, given.runs),
            "a prompt, cold": measured([*MAIN, "hook", "UserPromptSubmit"], said, given.runs),
            "a session's start, cold": measured([*MAIN, "hook", "SessionStart"], said, given.runs),
        }
        with subprocess.Popen([*MAIN, "serve", "--port", "0"], stdout=subprocess.PIPE) as server:
            while not list((folder / "state").glob("servers/*.json")):
                time.sleep(0.1)
            subprocess.run([*MAIN, "hook", "UserPromptSubmit"], input=said, capture_output=True, check=True)
            rows["a prompt, at a server"] = measured([*MAIN, "hook", "UserPromptSubmit"], said, given.runs)
            rows["a session's start, at a server"] = measured([*MAIN, "hook", "SessionStart"], said, given.runs)
            rows["memorist recall --json, at a server"] = measured([*MAIN, "recall", PROMPT, "--json"], b"", given.runs)
            rows["memorist recall, at a server"] = measured([*MAIN, "recall", PROMPT], b"", given.runs)
            server.terminate()
        if given.chroma:
            subprocess.run([sys.executable, "-c", CHROMA_FILL, str(folder), db], check=True)
            rows["Chroma, cold"] = measured([sys.executable, "-c", CHROMA_ASK, str(folder)], b"", given.runs)
        if given.mem0:
            subprocess.run([sys.executable, "-c", MEM0_FILL, str(folder), db], check=True)
            rows["mem0's store, cold"] = measured([sys.executable, "-c", MEM0_ASK, str(folder)], b"", given.runs)
        log = folder / "state" / "hook.log"
        assert not log.exists(), log.read_text()
        show(rows)


def show(rows: dict[str, Row]) -> None:
    nothing = rows["an interpreter that does nothing"]
    print("| process | ms | processor, ms | × nothing | processor × nothing |\n|---|---:|---:|---:|---:|")
    for name, (wall, cpu) in rows.items():
        ratios = f"{wall / nothing[0]:.1f} | {cpu / nothing[1]:.1f}"
        print(f"| {name} | {wall * 1000:.0f} | {cpu * 1000:.0f} | {ratios} |")


if __name__ == "__main__":
    main()
