"""The TypeScript client: its own tests at a real server, the package, and the errors that both languages have."""

import inspect
import json
import os
import re
import subprocess
import sys
import tarfile
from pathlib import Path
from typing import Any

import pytest

from memorist import errors
from typescript import built


def test_its_own_tests_pass() -> None:
    client = built()
    env = {**os.environ, "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
    command = ["node", "--test", str(client / "build" / "all.test.js")]
    done = subprocess.run(command, capture_output=True, text=True, env=env, timeout=280)
    assert done.returncode == 0, done.stdout + done.stderr


def evaluated(expression: str) -> Any:
    """Return the value of an expression in JavaScript that may name what the package exports."""
    script = f'import * as memorist from "memorist"; console.log(JSON.stringify({expression}));'
    command = ["node", "--input-type=module", "--eval", script]
    return json.loads(subprocess.run(command, cwd=built(), capture_output=True, text=True, check=True).stdout)


def test_every_operation_of_the_server_is_a_method() -> None:
    pinned = (Path(__file__).parents[1] / "serve" / "openapi.txt").read_text("utf-8")
    operations = set(re.findall(r'"operationId": "(\w+)"', pinned)) - {"health", "ready", "metrics"}
    others = {"forget_one": "forget", "list_records": "browse"}
    kinds = "[memorist.Memory, memorist.Admin]"
    methods = set(evaluated(f"{kinds}.flatMap(({{ prototype }}) => Object.getOwnPropertyNames(prototype))"))
    assert len(operations) > 30
    assert {others.get(name, name) for name in operations} - methods == set()


def test_its_errors_are_those_of_python() -> None:
    """Each class stands in the tree below the one that it stands below in Python."""
    classes = "Object.values(memorist).filter((each) => each.prototype instanceof Error)"
    pairs = f"{classes}.map(({{ prototype }}) => [prototype.name, Object.getPrototypeOf(prototype).name])"
    told = evaluated(f"Object.fromEntries({pairs})")
    kinds = {name: kind for name in errors.__all__ if inspect.isclass(kind := getattr(errors, name))}
    assert told.pop("MemoristError") == "Error"
    del kinds["MemoristError"]
    assert told == {name: kind.__bases__[0].__name__ for name, kind in kinds.items()}


def test_its_package_holds_what_is_used_and_no_more() -> None:
    package = built() / "memorist-0.0.0.tgz"
    if not package.exists() and "MEMORIST_TEST_TYPESCRIPT" not in os.environ:
        pytest.skip("the package of the TypeScript client is not made: npm pack")
    with tarfile.open(package) as packed:
        names = sorted(packed.getnames())
    assert {"package/README.md", "package/LICENSE", "package/dist/index.d.ts", "package/dist/ai-sdk.js"} <= set(names)
    others = [name for name in names if not name.startswith("package/dist/")]
    assert others == ["package/LICENSE", "package/README.md", "package/package.json"]
