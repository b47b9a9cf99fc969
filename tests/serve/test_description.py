"""What the server tells of its routes: the names and errors in OpenAPI, and the page for people."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from memorist.memory import Memory
from memorist.serve.rest.app import create_api

pytestmark = pytest.mark.anyio


def lines_of(described: Any, *path: str) -> Iterator[str]:
    """Yield a description of the API in lines, one for each operation and each schema, so that a change is seen."""
    for name, value in sorted(described.items()):
        if (*path, name) in (("paths",), ("components",), ("components", "schemas")) or path == ("paths",):
            yield from lines_of(value, *path, name)
        else:
            yield " ".join((*path, name, json.dumps(value, sort_keys=True)))


async def test_the_description_changes_only_deliberately(everyone: Memory) -> None:
    described = create_api(everyone).openapi()
    del described["info"]["version"]
    kept = Path(__file__).with_name("openapi.txt")
    assert list(lines_of(described)) == kept.read_text("utf-8").splitlines(), (
        f"{kept.name} pins the interface; where it is to change, write these lines there, and to CHANGELOG.md why"
    )


async def test_operations_have_the_names_of_verbs_and_the_errors_that_they_can_give(everyone: Memory) -> None:
    paths = create_api(everyone).openapi()["paths"]
    operations = {
        path: {method: found["operationId"] for method, found in each.items()} for path, each in paths.items()
    }
    assert operations["/v1/recall"] == {"post": "recall"}
    assert operations["/v1/records"] == {"post": "remember", "get": "list_records"}
    names = [name for each in operations.values() for name in each.values()]
    assert len(names) == len(set(names))
    errors = {
        path: {status for found in each.values() for status in found["responses"]} for path, each in paths.items()
    }
    assert errors["/health"] == {"200"}
    assert errors["/v1/users"] == {"200", "401", "403", "422", "429", "503"}
    assert "404" in errors["/v1/lookup"] and "415" in errors["/v1/recall"]


async def test_a_page_shows_every_route_and_loads_nothing_from_elsewhere(client: Any) -> None:
    page = await (await client(open=False)).get("/docs")
    assert page.status_code == 200 and "default-src 'none'" in page.headers["content-security-policy"]
    for shown in ("POST /v1/recall", "GET /v1/records/{id}", "min_similarity", "PUT /v1/records/{id}/rating"):
        assert shown in page.text


async def test_users_and_count_agree(http: Any, alice: Memory) -> None:
    old = await alice.remember("Lives in Oslo")
    await alice.remember("Lives in Bergen", supersedes=old.id)
    [listed] = (await http.get("/v1/users")).json()["users"]
    counted = (await http.post("/v1/count", json={}, params={"user": "alice"})).json()
    assert listed == {"user": "alice", **counted} == {"user": "alice", "count": 1}
