"""Serve a model in GGUF to bench/answers/run.py on this machine, until it is stopped.

pip install xllamacpp
python bench/answers/serve.py MODEL.gguf [--port 8099] [--threads 2]
"""

import argparse
import threading
from pathlib import Path

import xllamacpp


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", type=Path)
    parser.add_argument("--port", type=int, default=8099)
    parser.add_argument("--threads", type=int, default=2)
    given = parser.parse_args()
    params = xllamacpp.CommonParams()
    params.model.path = str(given.model)
    params.port, params.n_ctx, params.n_parallel = given.port, 4096, 1
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = given.threads
    server = xllamacpp.Server(params)
    print(f"--model openai:{given.model.stem}@{server.listening_address}/v1", flush=True)
    threading.Event().wait()


if __name__ == "__main__":
    main()
