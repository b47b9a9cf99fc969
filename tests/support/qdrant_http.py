"""Qdrant's REST interface over the client's local mode: what the index sends is checked by the client's own models.

It stands in for a server where none can be had. It has no disk, no cluster and no graph of vectors, so it shows that
the requests are right, and nothing of a server's own behaviour.
"""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from qdrant_client import QdrantClient, models

__all__ = ["Server", "running_server"]

_DONE = {"operation_id": 1, "status": "completed"}


class Server(ThreadingHTTPServer):
    """A server on a free port. `made` and `indexes` are the requests that made collections and indexes, by name."""

    daemon_threads = True
    request_queue_size = 100

    def __init__(self, version: str = "1.17.0", api_key: str | None = None) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.version = version
        self.api_key = api_key
        self.lock = threading.Lock()
        self.client = QdrantClient(":memory:")
        self.made: dict[str, models.CreateCollection] = {}
        self.indexes: dict[str, list[models.CreateFieldIndex]] = {}

    @property
    def url(self) -> str:
        return f"qdrant://127.0.0.1:{self.server_port}"

    def answer(self, method: str, path: list[str], body: dict[str, Any]) -> Any:
        client = self.client
        name, what = path[1], path[2:]
        if what == ["exists"]:
            return {"exists": client.collection_exists(name)}
        if not what and method == "DELETE":
            return client.delete_collection(name)
        if not what and method == "GET":
            return _plain(client.get_collection(name))
        if not what:
            self.made[name] = models.CreateCollection(**body)
            return client.create_collection(name, vectors_config=self.made[name].vectors or {})
        if what == ["index"]:
            self.indexes.setdefault(name, []).append(models.CreateFieldIndex(**body))
            return _DONE
        if what == ["points"] and method == "PUT":
            rows = models.PointsList(**body)
            client.upsert(name, points=rows.points, update_mode=rows.update_mode)
            return _DONE
        if what == ["points"]:
            ids = models.PointRequest(**body)
            found = client.retrieve(
                name,
                ids.ids,
                with_payload=True if ids.with_payload is None else ids.with_payload,
                with_vectors=ids.with_vector or False,
            )
            return list(map(_plain, found))
        if what == ["points", "query"]:
            query = models.QueryRequest(**body)
            nearest = client.query_points(
                name,
                query.query,
                query_filter=query.filter,
                limit=query.limit or 10,
                with_payload=query.with_payload or False,
            )
            return {"points": list(map(_plain, nearest.points))}
        if what == ["points", "count"]:
            counted = models.CountRequest(**body)
            return {"count": client.count(name, counted.filter).count}
        if what == ["points", "scroll"]:
            asked = models.ScrollRequest(**body)
            points, following = client.scroll(name, asked.filter, limit=asked.limit or 10, offset=asked.offset)
            return {"points": list(map(_plain, points)), "next_page_offset": following}
        if what == ["points", "delete"]:
            chosen = models.PointIdsList(**body) if "points" in body else models.FilterSelector(**body)
            client.delete(name, chosen)
            return _DONE
        raise AssertionError(path)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Server

    def log_message(self, *_: Any) -> None:
        pass

    def _answer(self) -> None:
        raw = self.rfile.read(int(self.headers.get("content-length") or 0))
        path = self.path.partition("?")[0].strip("/").split("/")
        if self.headers.get("api-key") != self.server.api_key:
            return self._send(401, {"status": {"error": "Invalid API key or JWT"}})
        if path == [""]:
            return self._send(200, {"title": "qdrant", "version": self.server.version})
        try:
            with self.server.lock:
                result = self.server.answer(self.command, path, json.loads(raw) if raw else {})
        except ValueError as error:
            return self._send(404 if "not found" in str(error) else 400, {"status": {"error": str(error)}})
        return self._send(200, {"result": result, "status": "ok", "time": 0})

    do_GET = do_PUT = do_POST = do_DELETE = _answer  # the names that the base class calls

    def _send(self, status: int, body: Any) -> None:
        data = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)


def _plain(point: Any) -> Any:
    return json.loads(point.model_dump_json())


@contextmanager
def running_server(version: str = "1.17.0", api_key: str | None = None) -> Iterator[Server]:
    """Run a server in a thread of its own."""
    with Server(version, api_key) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()
