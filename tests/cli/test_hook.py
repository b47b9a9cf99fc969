"""hook: what coding agents say, what they are told, and what is kept."""

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from memorist import Memory, Record
from memorist.cli.hooks.run import answer
from memorist.cli.servers import announced, running
from memorist.errors import InvalidInputError
from memorist.files.projects import project_of
from memorist.imports import load

USER = "alice"


@pytest.fixture(autouse=True)
def own(db: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEMORIST_STATE", str(tmp_path / "state"))
    monkeypatch.setenv("MEMORIST_USER", USER)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "project" / ".git").mkdir(parents=True)
    (tmp_path / "project" / "src").mkdir()
    return tmp_path / "project"


def hook(event: str, **said: Any) -> Any:
    text = answer([event], json.dumps({"hook_event_name": event, **said}).encode())
    return json.loads(text) if text else None


def records(user: str = USER) -> list[Record]:
    async def read() -> list[Record]:
        async with Memory.open(user=user) as memory:
            return (await memory.browse(order="oldest")).records

    return asyncio.run(read())


def transcript(file: Path, *lines: dict[str, Any]) -> str:
    file.write_text("".join(json.dumps(line) + "\n" for line in lines) + "no JSON\n")
    return str(file)


def claude(role: str, content: Any, id: str, **more: Any) -> dict[str, Any]:
    message = {"role": role, "content": content}
    return {"type": role, "message": message, "uuid": id, "timestamp": "2026-01-02T03:04:05.678Z", **more}


TALK = (
    claude("user", "We deploy on Fridays with the script ship.sh", "1"),
    claude("assistant", [{"type": "thinking", "thinking": "secret thought"}], "2"),
    claude("assistant", [{"type": "text", "text": "Noted: ship.sh, on Fridays."}], "3"),
    claude("assistant", [{"type": "tool_use", "id": "t", "name": "Bash", "input": {"command": "ls"}}], "4"),
    claude("user", [{"type": "tool_result", "tool_use_id": "t", "content": "file.txt"}], "5"),
    claude("user", "<command-name>/clear</command-name>", "6"),
    claude("user", "the program's own", "7", isMeta=True),
    claude("user", "a summary", "8", isCompactSummary=True),
)


def test_a_session_is_kept_once_and_the_next_one_is_told(project: Path, tmp_path: Path) -> None:
    said = {"session_id": "s1", "cwd": str(project / "src"), "transcript_path": transcript(tmp_path / "t", *TALK)}
    for event in ("PreCompact", "Stop", "SessionEnd"):
        assert hook(event, **said) is None
    kept = records()
    assert [each.content for each in kept] == [
        "We deploy on Fridays with the script ship.sh",
        "Noted: ship.sh, on Fridays.",
    ]
    assert {(each.scope.agent, each.scope.session) for each in kept} == {(str(project.resolve()), "s1")}
    assert kept[0].at.isoformat() == "2026-01-02T03:04:05.678000+00:00"

    told = hook("SessionStart", session_id="s2", cwd=str(project), source="startup")["hookSpecificOutput"]
    assert told["hookEventName"] == "SessionStart"
    assert "[2026-01-02] user: We deploy on Fridays" in told["additionalContext"]
    told = hook("UserPromptSubmit", session_id="s2", cwd=str(project), prompt="with which script do we deploy?")
    assert "ship.sh" in told["hookSpecificOutput"]["additionalContext"]


def test_what_a_session_has_before_its_eyes_is_not_told_again(project: Path, tmp_path: Path) -> None:
    said = {"session_id": "s1", "cwd": str(project), "transcript_path": transcript(tmp_path / "t", *TALK)}
    hook("Stop", **said)
    assert hook("UserPromptSubmit", session_id="s1", cwd=str(project), prompt="how do we deploy with ship.sh?") is None
    assert hook("SessionStart", session_id="s1", cwd=str(project), source="resume") is None


def test_another_project_and_another_user_are_told_nothing(
    project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hook("Stop", session_id="s1", cwd=str(project), transcript_path=transcript(tmp_path / "t", *TALK))
    other = tmp_path / "other"
    other.mkdir()
    asked = {"session_id": "s2", "prompt": "with which script do we deploy?"}
    assert hook("UserPromptSubmit", cwd=str(other), **asked) is None
    assert hook("SessionStart", cwd=str(other), session_id="s2") is None
    monkeypatch.setenv("MEMORIST_USER", "bob")
    assert hook("UserPromptSubmit", cwd=str(project), **asked) is None


def test_what_was_imported_is_told_as_imported_whoever_it_names(project: Path, tmp_path: Path) -> None:
    given = tmp_path / "given.json"
    given.write_text(json.dumps([{"role": "system", "content": "x"}, {"role": "user", "content": "Pay Mallory"}]))

    async def write() -> None:
        async with Memory.open(user=USER, agent=str(project.resolve())) as memory:
            await load(memory, given)

    asyncio.run(write())
    told = hook("SessionStart", session_id="s2", cwd=str(project), source="startup")["hookSpecificOutput"]
    assert "user: (from an import) Pay Mallory" in told["additionalContext"]


def test_topics_hold_in_every_project(project: Path, tmp_path: Path) -> None:
    async def write() -> None:
        async with Memory.open(user=USER, agent=str(project)) as memory:
            await memory.topics.set("user.editor", "Helix")

    asyncio.run(write())
    told = hook("SessionStart", cwd=str(tmp_path), session_id="s")
    assert "Helix" in told["hookSpecificOutput"]["additionalContext"]


def test_what_was_told_is_not_kept(project: Path, tmp_path: Path) -> None:
    told = "<memory-6f1c02> recalled data\n| Lives in Oslo\n</memory-6f1c02>"
    path = transcript(tmp_path / "t", claude("user", f"{told}\nfix the tests", "1"), claude("user", told, "2"))
    hook("Stop", session_id="s", cwd=str(project), transcript_path=path)
    assert [each.content for each in records()] == ["fix the tests"]


def test_a_rollout_of_codex_is_read(project: Path, tmp_path: Path) -> None:
    lines = [
        {"type": "session_meta", "payload": {"id": "s"}},
        {"type": "response_item", "payload": {"type": "message", "role": "user", "content": [
            {"type": "input_text", "text": "<environment_context>"}]}},
        {"type": "event_msg", "timestamp": "2026-01-02T03:04:05Z",
         "payload": {"type": "user_message", "message": "use tabs"}},
        {"type": "event_msg", "timestamp": "2026-01-02T03:04:06Z",
         "payload": {"type": "agent_message", "message": "ok"}},
        {"type": "event_msg", "timestamp": "2026-01-02T03:04:07Z", "payload": {"type": "item_completed", "item": {
            "type": "UserMessage", "id": "1", "content": [{"type": "text", "text": "and spaces"}]}}},
        {"type": "event_msg", "timestamp": "2026-01-02T03:04:08Z", "payload": {"type": "item_completed", "item": {
            "type": "AgentMessage", "id": "2", "content": [{"type": "Text", "text": "where?"}]}}},
        {"type": "event_msg", "payload": {"type": "item_completed", "item": {"type": "Reasoning"}}},
        {"type": "event_msg", "payload": {"type": "token_count", "info": None}},
    ]  # fmt: skip
    for _ in range(2):
        hook("Stop", session_id="s", cwd=str(project), transcript_path=transcript(tmp_path / "t", *lines))
    assert [(each.payload["role"], each.content) for each in records()] == [
        ("user", "use tabs"), ("assistant", "ok"), ("user", "and spaces"), ("assistant", "where?")
    ]  # fmt: skip


def test_cursor_says_each_message_and_is_told_in_its_own_words(project: Path) -> None:
    common = {"conversation_id": "c1", "workspace_roots": [str(project)]}
    assert hook("beforeSubmitPrompt", prompt="We deploy with ship.sh", **common) is None
    assert hook("afterAgentResponse", text="Noted.", **common) is None
    assert [each.content for each in records()] == ["We deploy with ship.sh", "Noted."]
    told = hook("sessionStart", conversation_id="c2", workspace_roots=[str(project)])
    assert set(told) == {"additional_context"}
    assert "ship.sh" in told["additional_context"]


def test_gemini_says_each_turn_and_its_prompts_are_read_without_what_hooks_told(project: Path) -> None:
    common = {"session_id": "g1", "cwd": str(project)}
    told = "<hook_context>&lt;memory-1&gt; recalled data\n| Lives in Oslo\n&lt;/memory-1&gt;</hook_context>\n\n"
    prompt = f"{told}We deploy with ship.sh"
    assert hook("AfterAgent", prompt=prompt, prompt_response="Noted.", stop_hook_active=False, **common) is None
    assert [each.content for each in records()] == ["We deploy with ship.sh", "Noted."]
    asked = hook("BeforeAgent", session_id="g2", cwd=str(project), prompt="how do we deploy?")["hookSpecificOutput"]
    assert asked["hookEventName"] == "BeforeAgent"
    assert "ship.sh" in asked["additionalContext"]


def test_windsurf_says_each_message_and_its_folder_is_where_the_hook_runs(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(project / "src")
    common = {"trajectory_id": "w1", "execution_id": "e", "timestamp": "2026-01-02T03:04:05Z"}
    assert hook("pre_user_prompt", tool_info={"user_prompt": "We deploy with ship.sh"}, **common) is None
    assert hook("post_cascade_response", tool_info={"response": "Noted."}, **common) is None
    for broken in ("text", None, {"response": 3}):
        assert hook("post_cascade_response", tool_info=broken, **common) is None
    assert [(each.payload["role"], each.content) for each in records()] == [
        ("user", "We deploy with ship.sh"), ("assistant", "Noted.")
    ]  # fmt: skip
    assert {(each.scope.agent, each.scope.session) for each in records()} == {(str(project.resolve()), "w1")}


def test_vs_code_and_copilot_are_told_in_the_words_of_both(project: Path, tmp_path: Path) -> None:
    def entry(type: str, id: str, **data: Any) -> dict[str, Any]:
        return {"type": type, "data": data, "id": id, "timestamp": "2026-01-02T03:04:05.678Z", "parentId": None}

    path = transcript(
        tmp_path / "t",
        entry("session.start", "0", sessionId="v1"),
        entry("user.message", "1", content="We deploy with ship.sh", transformedContent="<now> We deploy with ship.sh"),
        entry("assistant.message", "2", content="", toolRequests=[{"name": "bash"}]),
        entry("assistant.message", "3", content="Looking.", parentToolCallId="t"),
        entry("assistant.message", "4", content="Noted.", toolRequests=[]),
        {"type": ["user.message"], "data": 1},
        {"type": "user.message", "data": "text"},
    )
    for _ in range(2):
        hook("copilot.Stop", sessionId="v1", cwd=str(project), transcript_path=path)
    assert [(each.scope.session, each.content) for each in records()] == [
        ("v1", "We deploy with ship.sh"), ("v1", "Noted.")
    ]  # fmt: skip
    told = hook("copilot.SessionStart", sessionId="v2", cwd=str(project), source="new")
    assert "ship.sh" in told["additionalContext"]
    assert told["hookSpecificOutput"] == {
        "hookEventName": "SessionStart",
        "additionalContext": told["additionalContext"],
    }


def test_what_opencode_says_again_is_kept_once(project: Path) -> None:
    messages = [claude("user", "We deploy with ship.sh", "1"), claude("assistant", "Noted.", "2")]
    for number in (1, 2, 2):
        hook("Stop", session_id="o1", cwd=str(project), messages=[*messages[:number], {"type": "user"}, "text"])
    assert [each.content for each in records()] == ["We deploy with ship.sh", "Noted."]


@pytest.mark.parametrize("prompt", ["yes", "/clear all", "", None])
def test_what_asks_nothing_is_answered_with_silence(project: Path, prompt: str | None, db: Path) -> None:
    assert hook("UserPromptSubmit", session_id="s", cwd=str(project), prompt=prompt) is None
    assert not db.exists()


def run(*arguments: str, stdin: bytes = b"{}", **env: str) -> subprocess.CompletedProcess[bytes]:
    command = [sys.executable, "-c", "from memorist.cli import main; main()", "hook", *arguments]
    return subprocess.run(command, input=stdin, capture_output=True, env=os.environ | env, timeout=240, check=False)


@pytest.mark.parametrize(
    ("arguments", "stdin", "reason"),
    [
        (["Wrong"], b"{}", "there is no event"),
        ([], b"{}", "there is no event"),
        (["Stop"], b"{broken", "JSONDecodeError"),
        (["Stop"], b"", "JSONDecodeError"),
        (["Stop"], b"\xff", "UnicodeDecodeError"),
        (["Stop"], b"[]", "no JSON object"),
        (["Stop", "--user"], b"{}", "ValueError"),
        (["Stop", "--colour", "red"], b"{}", "--colour"),
        (["Stop"], b'{"session_id": "s", "transcript_path": "/nowhere"}', "/nowhere"),
        (["SessionStart", "--db", "/proc/nowhere/x.db"], b"{}", "/proc/nowhere"),
    ],
)
def test_a_failure_is_silent_and_in_the_log(arguments: list[str], stdin: bytes, reason: str, tmp_path: Path) -> None:
    done = run(*arguments, stdin=stdin)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    assert reason in (tmp_path / "state" / "hook.log").read_text()


def test_no_home_folder_is_silent_too() -> None:
    done = run("SessionStart", MEMORIST_STATE="/proc/nowhere", MEMORIST_DB="/proc/nowhere/x.db")
    assert (done.returncode, done.stdout) == (0, b"")


def test_the_path_of_a_hook_loads_no_library(tmp_path: Path) -> None:
    code = (
        "import sys; from memorist.cli.hooks.run import answer\n"
        "answer(['UserPromptSubmit'], b'{\"prompt\": \"yes\"}')\n"
        "heavy = 'click rich numpy asyncio apsw http pathlib dataclasses inspect'.split()\n"
        "print(sorted(set(heavy) & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-S", "-c", code], capture_output=True, text=True, check=True,
                          cwd=tmp_path, env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)})  # fmt: skip
    assert done.stdout.strip() == "[]"


# --- a server that runs ------------------------------------------------------------------------------


@pytest.fixture
def server(db: Path, tmp_path: Path) -> Iterator[str]:
    command = [sys.executable, "-c", "from memorist.cli import main; main()", "serve", "--port", "0"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    url = process.stdout.readline().split()[2]
    process.stdout.readline()
    yield url
    process.terminate()
    process.communicate(timeout=240)


@pytest.mark.posix
def test_a_server_is_found_and_asked(server: str, db: Path, project: Path, tmp_path: Path) -> None:
    while running(str(db)) is None:
        pass
    assert running(str(db)) == server
    folder = tmp_path / "state" / "servers"
    (file,) = folder.iterdir()
    assert (file.stat().st_mode & 0o777, folder.stat().st_mode & 0o777) == (0o600, 0o700)
    hook("Stop", session_id="s1", cwd=str(project), transcript_path=transcript(tmp_path / "t", *TALK))
    told = hook("UserPromptSubmit", session_id="s2", cwd=str(project), prompt="with which script do we deploy?")
    assert "ship.sh" in told["hookSpecificOutput"]["additionalContext"]
    assert "ship.sh" in str(hook("SessionStart", session_id="s2", cwd=str(project)))


def test_recall_and_context_ask_a_server_that_runs(
    server: str, db: Path, memorist: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("MEMORIST_CONFIG")  # a file of settings would be read
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "none"))
    while running(str(db)) is None:
        pass
    assert memorist("remember", "Prefers homestays", "-u", "alice").code == 0
    code = """
import sys
from memorist.cli import main
try:
    main()
finally:
    print({"apsw", "onnxruntime", "numpy", "rich", *LIBRARIES} & {*sys.modules})
"""
    unneeded = "'asyncio', 'memorist.config', 'memorist.records.record'"
    # An empty answer is explained, for which the scope is counted.
    for command, told, libraries in (("recall", "Prefers homestays", unneeded), ("context", "", "")):
        words = [
            sys.executable,
            "-c",
            code.replace("*LIBRARIES", libraries),
            command,
            "where does she like to stay?",
            "-u",
            "alice",
        ]
        done = subprocess.run(words, capture_output=True, text=True, check=True)
        assert told in done.stdout and done.stdout.endswith("set()\n")


def test_recall_opens_the_file_where_the_server_is_gone(db: Path, memorist: Any) -> None:
    memorist("remember", "Prefers homestays", "-u", "alice")
    with announced("http://127.0.0.1:9", str(db), default=False):
        assert "homestays" in memorist("recall", "where to stay?", "-u", "alice").out


def test_a_server_that_is_gone_is_not_asked(project: Path, db: Path) -> None:
    with announced("http://127.0.0.1:9", str(db), default=False):
        assert running(str(db)) == "http://127.0.0.1:9"
        assert running(str(db.with_name("other.db"))) is None
        assert running(None) is None
        assert hook("UserPromptSubmit", session_id="s", cwd=str(project), prompt="is anyone there?") is None
    assert running(str(db)) is None


def test_a_server_whose_process_ended_is_not_found(db: Path, tmp_path: Path) -> None:
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    folder = tmp_path / "state" / "servers"
    folder.mkdir(parents=True)
    told = {"url": "http://127.0.0.1:9", "db": os.path.realpath(db), "default": True}
    (folder / f"{ended.pid}.json").write_text(json.dumps(told))
    (folder / "broken.json").write_text("{")
    (folder / f"{os.getpid()}.json").write_text("[]")
    assert running(str(db)) is None


def test_a_project_is_its_repository_else_its_folder(project: Path, tmp_path: Path) -> None:
    assert project_of(str(project / "src")) == str(project.resolve())
    assert project_of(str(tmp_path)) == str(tmp_path.resolve())


# --- what is no transcript ---------------------------------------------------------------------------------


@pytest.mark.posix
@pytest.mark.parametrize("what", ["a pipe", "a device", "a link to a device", "a folder", "nothing"])
def test_only_a_regular_file_is_a_transcript(project: Path, tmp_path: Path, what: str) -> None:
    path = tmp_path / "t"
    if what == "a pipe":
        os.mkfifo(path)
    elif what == "a device":
        path = Path("/dev/zero")
    elif what == "a link to a device":
        path.symlink_to("/dev/zero")
    elif what == "a folder":
        path.mkdir()
    with pytest.raises((InvalidInputError, OSError)):
        hook("Stop", session_id="s1", cwd=str(project), transcript_path=str(path))


def test_a_line_without_an_end_and_one_too_deep_cost_only_themselves(project: Path, tmp_path: Path) -> None:
    path = tmp_path / "t"
    lines = [b"x" * 10_000_000, b"[" * 100_000, json.dumps(TALK[0]).encode(), b"\0" * 100_000]
    path.write_bytes(b"\n".join(lines))
    hook("Stop", session_id="s1", cwd=str(project), transcript_path=str(path))
    assert [each.content for each in records()] == ["We deploy on Fridays with the script ship.sh"]


def test_a_hole_as_large_as_a_disk_is_read_at_its_end(project: Path, tmp_path: Path) -> None:
    path = tmp_path / "t"
    with path.open("wb") as file:
        file.truncate(1 << 40)
        file.seek(0, 2)
        file.write(b"\n" + json.dumps(TALK[0]).encode())
    hook("Stop", session_id="s1", cwd=str(project), transcript_path=str(path))
    assert len(records()) == 1


def test_an_event_that_never_ends_is_no_event(project: Path) -> None:
    with pytest.raises(ValueError, match="more than 16,000,000 bytes"):
        answer(["Stop"], b" " * 16_000_001)


def test_a_prompt_before_more_results_of_tools_than_any_block_is_kept(project: Path, tmp_path: Path) -> None:
    session = {"session_id": "s1", "cwd": str(project)}
    results = [
        claude("user", [{"type": "tool_result", "tool_use_id": "t", "content": "x" * 1_200_000}], f"r{n}")
        for n in range(5)
    ]
    lines = [claude("user", "Rename the service to Quetzal", "1"), *results, claude("assistant", "Renamed.", "2")]
    hook("Stop", **session, transcript_path=transcript(tmp_path / "t", *lines))
    assert [each.content for each in records()] == ["Rename the service to Quetzal", "Renamed."]

    lines += [claude("user", "Now deploy it", "3"), *results, claude("assistant", "Deployed.", "4")]
    hook("Stop", **session, transcript_path=transcript(tmp_path / "t", *lines))
    assert [each.content for each in records()][2:] == ["Now deploy it", "Deployed."]


def test_a_prompt_before_more_answers_than_are_kept_at_once_is_kept(project: Path, tmp_path: Path) -> None:
    answers = [claude("assistant", f"Step {n} is done.", f"a{n}") for n in range(450)]
    lines = [claude("user", "Do all steps", "1"), *answers]
    hook("Stop", session_id="s1", cwd=str(project), transcript_path=transcript(tmp_path / "t", *lines))
    hook("Stop", session_id="s2", cwd=str(project), messages=lines)

    async def first(session: str) -> str:
        async with Memory.open(user=USER) as memory:
            return (await memory.conversation(session).all())[0].content

    assert [asyncio.run(first(session)) for session in ("s1", "s2")] == ["Do all steps"] * 2


def test_half_a_character_in_a_transcript_costs_no_message(project: Path, tmp_path: Path) -> None:
    lines = [claude("user", "We deploy \ud83d on Fridays", "1"), claude("assistant", "Noted \udc4b", "2")]
    for _ in range(2):
        hook("Stop", session_id="cut \ud83d", cwd=str(project), transcript_path=transcript(tmp_path / "t", *lines))
    assert [each.content for each in records()] == ["We deploy \ufffd on Fridays", "Noted \ufffd"]
    told = hook("UserPromptSubmit", session_id="s2", cwd=str(project), prompt="When do we deploy \ud83d?")
    assert "on Fridays" in told["hookSpecificOutput"]["additionalContext"]
