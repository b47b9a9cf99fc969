"""The label of a project: the same on every machine, and never another project's; read with real repositories."""

import asyncio
import json
import os
import shutil
import stat
import subprocess
from pathlib import Path
from typing import Any

import pytest

from memorist import Memory
from memorist.agents.personal import PERSON, personal_in
from memorist.cli.hooks.run import answer
from memorist.errors import InvalidInputError
from memorist.files.git import objects
from memorist.files.git.addresses import portable
from memorist.files.projects import project_at, project_of
from memorist.imports import load

needs_git = pytest.mark.skipif(shutil.which("git") is None, reason="there is no git here")
REMOTE = "git@github.com:acme/shop.git"


@pytest.fixture(autouse=True)
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {
        "MEMORIST_STATE": str(tmp_path / "state"), "MEMORIST_DB": str(tmp_path / "memory.db"),
        "MEMORIST_EMBEDDER": "hash", "MEMORIST_USER": "alice", "MEMORIST_CONFIG": str(tmp_path / "config.toml"),
        "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1",
    }.items():  # fmt: skip
        monkeypatch.setenv(name, value)
    for name in ("AUTHOR", "COMMITTER"):
        monkeypatch.setenv(f"GIT_{name}_NAME", "Jane")
        monkeypatch.setenv(f"GIT_{name}_EMAIL", "jane@example.org")
    (tmp_path / "config.toml").touch()


def git(folder: Path, *arguments: str) -> str:
    options = ("-c", "protocol.file.allow=always", "-c", "init.defaultBranch=main")
    command = ["git", *options, "-C", str(folder), *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


def repository(folder: Path, commits: int = 1, remote: str | None = None) -> Path:
    folder.mkdir(parents=True)
    git(folder, "init", "-q")
    for number in range(commits):
        git(folder, "commit", "-q", "--allow-empty", "-m", f"number {number} " + "about the same " * 20)
    if remote is not None:
        git(folder, "remote", "add", "origin", remote)
    return folder


def first(folder: Path) -> str:
    return "git:" + git(folder, "rev-list", "--max-parents=0", "HEAD")


# --- addresses ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "address",
    ["https://github.com/acme/shop", "https://jane:secret@GitHub.com:443/acme/shop.git/",
     "git@github.com:acme/shop.git", "ssh://git@github.com:22/acme/shop.git", "github.com:acme/shop",
     "ssh://git@ssh.github.com:443/acme/shop",
     "git+ssh://github.com//acme/./shop.git?token=secret#x", "git://GITHUB.COM./acme/shop"],
)  # fmt: skip
def test_all_spellings_of_an_address_are_one_label(address: str) -> None:
    assert portable(address) == "github.com/acme/shop"


@pytest.mark.parametrize(
    "address",
    ["/srv/shop.git", "../shop", "file:///srv/shop.git", "C:/shop", r"C:\shop", r"\\server\shop", "ext::sh -c x", "",
     "http://localhost:3000/acme/shop", "ssh://127.0.0.1/acme/shop", "https://", "https://[x/acme", "host:../shop",
     "~"],
)  # fmt: skip
def test_an_address_of_this_machine_alone_is_none(address: str) -> None:
    assert portable(address) is None


def test_azure_has_one_label_by_both_protocols() -> None:
    by_ssh = portable("git@ssh.dev.azure.com:v3/acme/shop/api")
    assert by_ssh == portable("https://acme@dev.azure.com/acme/shop/_git/api")


# --- repositories -------------------------------------------------------------------------------------------


@needs_git
def test_a_project_is_its_remote_else_its_first_commit_else_its_path(tmp_path: Path) -> None:
    plain = tmp_path / "plain"
    plain.mkdir()
    assert project_of(str(plain)) == str(plain.resolve())
    empty = repository(tmp_path / "empty", 0)
    assert project_of(str(empty)) == str(empty.resolve())
    local = repository(tmp_path / "local", 3)
    assert project_of(str(local)) == first(local)
    git(local, "remote", "add", "backup", "/mnt/backup.git")
    assert project_of(str(local)) == first(local)
    git(local, "remote", "add", "origin", REMOTE)
    (local / "src").mkdir()
    assert project_of(str(local / "src")) == "github.com/acme/shop"


@needs_git
def test_a_project_is_the_same_after_a_move_in_a_working_tree_and_in_a_clone(tmp_path: Path) -> None:
    local = repository(tmp_path / "local", 2)
    label = project_of(str(local))
    git(local, "worktree", "add", "-q", "-b", "other", str(tmp_path / "tree"))
    assert project_of(str(tmp_path / "tree")) == label
    git(tmp_path, "clone", "-q", str(local), str(tmp_path / "clone"))
    assert project_of(str(tmp_path / "clone")) == label
    git(local, "worktree", "remove", str(tmp_path / "tree"))
    local.rename(tmp_path / "moved")
    assert project_of(str(tmp_path / "moved")) == label


@needs_git
def test_a_submodule_is_its_own_project(tmp_path: Path) -> None:
    part, whole = repository(tmp_path / "part", 2), repository(tmp_path / "whole", 1, REMOTE)
    git(whole, "submodule", "add", "-q", str(part), "vendor/part")
    assert project_of(str(whole / "vendor" / "part")) == first(part)
    git(whole / "vendor" / "part", "remote", "set-url", "origin", "https://example.org/part.git")
    assert project_of(str(whole / "vendor" / "part")) == "example.org/part"


@needs_git
def test_a_shallow_clone_without_a_remote_does_not_guess(tmp_path: Path) -> None:
    local = repository(tmp_path / "local", 4)
    git(tmp_path, "clone", "-q", "--depth", "2", f"file://{local}", str(tmp_path / "shallow"))
    assert project_at(str(tmp_path / "shallow")).known_by == "path"
    git(tmp_path / "shallow", "remote", "set-url", "origin", REMOTE)
    assert project_of(str(tmp_path / "shallow")) == "github.com/acme/shop"


@needs_git
@pytest.mark.parametrize("form", ["sha1", "sha256"])
def test_a_first_commit_is_found_in_packs_with_deltas_too(tmp_path: Path, form: str) -> None:
    local = tmp_path / "local"
    local.mkdir()
    git(local, "init", "-q", f"--object-format={form}")
    for number in range(70):
        git(local, "commit", "-q", "--allow-empty", "-m", f"number {number} " + "about the same " * 40)
        if number in (20, 60):
            git(local, "repack", "-q", "-d", "-f", "--depth=50", "--window=50")
    git(local, "pack-refs", "--all")
    assert project_of(str(local)) == first(local)
    noted = json.loads((tmp_path / "state" / "first_commits.json").read_text())
    assert list(noted.values()) == [first(local).removeprefix("git:")]
    shutil.rmtree(local / ".git" / "objects")  # what is noted needs no history
    assert project_of(str(local)) == "git:" + next(iter(noted.values()))


@needs_git
@pytest.mark.parametrize("what", ["pack", "idx", "cut"])
def test_damaged_objects_end_the_search(tmp_path: Path, what: str) -> None:
    local = repository(tmp_path / "local", 5)
    git(local, "repack", "-q", "-a", "-d", "-f", "--depth=50")
    [file] = (local / ".git" / "objects" / "pack").glob("*.pack" if what == "cut" else f"*.{what}")
    file.chmod(0o600)
    content = file.read_bytes()
    file.write_bytes(content[:40] if what == "cut" else content[:12] + b"\xff" * (len(content) - 12))
    assert project_at(str(local)).known_by == "path"


def test_a_delta_that_grows_without_end_is_refused() -> None:
    base = b"x" * 65536
    delta = b"\x80\x80\x04\x80\x80\x80\x80\x08" + b"\x80" * 100
    with pytest.raises(objects.Damaged):
        objects._changed(base, delta)


# --- what a hostile folder makes of it ----------------------------------------------------------------------


@needs_git
def test_nothing_that_a_repository_configures_is_run_or_read(tmp_path: Path) -> None:
    local = repository(tmp_path / "local", 2)
    (tmp_path / "more").write_text(f'[remote "origin"]\n\turl = {REMOTE}\n')
    ran = tmp_path / "ran"
    for name in ("core.fsmonitor", "core.sshCommand", "core.pager", "alias.rev-list", "uploadpack.packObjectsHook"):
        git(local, "config", name, f"touch {ran}")
    git(local, "config", "include.path", str(tmp_path / "more"))
    git(local, "config", "extensions.partialClone", "origin")
    label = "git:" + (local / ".git" / "logs" / "HEAD").read_text().split()[1]
    assert project_of(str(local)) == label
    assert not ran.exists()


@needs_git
@pytest.mark.posix
def test_no_folder_can_pass_for_another_repository(tmp_path: Path) -> None:
    private = repository(tmp_path / "private", 1, REMOTE)
    git(private, "worktree", "add", "-q", str(tmp_path / "tree"))
    link, file, copied, common = (tmp_path / name for name in ("link", "file", "copied", "common"))
    for folder in (link, file, copied, common):
        folder.mkdir()
    (link / ".git").symlink_to(private / ".git")
    (file / ".git").write_text(f"gitdir: {private / '.git'}\n")
    shutil.copy(tmp_path / "tree" / ".git", copied / ".git")
    inner = common / "git" / "worktrees" / "x"
    inner.mkdir(parents=True)
    (common / ".git").write_text(f"gitdir: {inner}\n")
    (inner / "gitdir").write_text(f"{common / '.git'}\n")
    (inner / "commondir").write_text(f"{private / '.git'}\n")
    for folder in (link, file, copied, common):
        assert project_of(str(folder)) == str(folder.resolve()), folder
    assert project_of(str(tmp_path / "tree")) == "github.com/acme/shop"


@pytest.mark.posix
@pytest.mark.parametrize("what", ["a pipe", "a link", "too large", "a folder"])
def test_only_a_small_regular_file_of_settings_is_read(tmp_path: Path, what: str) -> None:
    config = tmp_path / "shop" / ".git" / "config"
    config.parent.mkdir(parents=True)
    (tmp_path / "other").write_text(f'[remote "origin"]\nurl = {REMOTE}\n')
    if what == "a pipe":
        os.mkfifo(config)
    elif what == "a link":
        config.symlink_to(tmp_path / "other")
    elif what == "a folder":
        config.mkdir()
    else:
        config.write_text((tmp_path / "other").read_text() + "#" * (1 << 20))
    assert project_at(str(tmp_path / "shop")).known_by == "path"


@needs_git
def test_a_label_that_could_not_be_seen_is_none(tmp_path: Path) -> None:
    local = repository(tmp_path / "local", 1)
    git(local, "remote", "add", "origin", "https://example.org/sh\u200bop")
    assert project_of(str(local)) == first(local)


# --- .memorist ----------------------------------------------------------------------------------------------


@needs_git
def test_parts_of_a_repository_and_forks_say_their_own(tmp_path: Path) -> None:
    mono = repository(tmp_path / "mono", 1, "https://github.com/jane/shop")
    git(mono, "remote", "add", "upstream", REMOTE)
    part = mono / "packages" / "billing" / "src"
    part.mkdir(parents=True)
    (part.parent / ".memorist").write_text('id = "billing"\n')
    assert project_of(str(part)) == "github.com/jane/shop#billing"
    assert project_of(str(mono / "packages")) == "github.com/jane/shop"
    (mono / ".memorist").write_text('remote = "upstream"\n')
    assert project_of(str(mono)) == "github.com/acme/shop"


def test_a_file_names_a_folder_without_a_repository_and_never_a_repository(tmp_path: Path) -> None:
    (tmp_path / "shop" / "src").mkdir(parents=True)
    (tmp_path / "shop" / ".memorist").write_text('id = "github.com/acme/shop"\n')
    assert project_of(str(tmp_path / "shop" / "src")) == "memorist:github.com/acme/shop"


@pytest.mark.parametrize("text", ["id =", "id = 5", 'id = ""', 'id = "a b"', 'name = "x"', "remote = 1", "#" * 5000])
def test_a_malformed_file_is_one_clear_error(tmp_path: Path, text: str) -> None:
    (tmp_path / ".memorist").write_text(text)
    with pytest.raises(InvalidInputError, match=r"\.memorist"):
        project_of(str(tmp_path))


# --- earlier labels -----------------------------------------------------------------------------------------


def hook(event: str, folder: Path, **said: Any) -> Any:
    text = answer([event], json.dumps({"hook_event_name": event, "cwd": str(folder), **said}).encode())
    return json.loads(text) if text else None


def remembered(agent: str, *texts: str) -> None:
    async def write() -> None:
        async with Memory.open(user="alice", agent=agent) as memory:
            await memory.remember(texts)

    asyncio.run(write())


def labels() -> dict[str, str | None]:
    async def read() -> dict[str, str | None]:
        async with Memory.open(user="alice") as memory:
            return {each.content: each.scope.agent async for each in memory.iterate()}

    return asyncio.run(read())


@needs_git
@pytest.mark.parametrize("event", ["SessionStart", "UserPromptSubmit", "AfterAgent"])
def test_an_earlier_label_is_brought_over_by_the_first_event(tmp_path: Path, event: str) -> None:
    local = repository(tmp_path / "local", 1, REMOTE)
    remembered(str(local.resolve()), "We deploy on Fridays")
    remembered("/somewhere/else", "Another project")
    hook(event, local, session_id="s1", prompt="When do we deploy things?", prompt_response="On Fridays.")
    assert labels()["We deploy on Fridays"] == "github.com/acme/shop"
    assert labels()["Another project"] == "/somewhere/else"
    told = hook("SessionStart", local, session_id="s2", source="startup")["hookSpecificOutput"]
    assert "We deploy on Fridays" in told["additionalContext"]


@needs_git
def test_a_repository_that_gets_a_remote_keeps_its_memory(tmp_path: Path) -> None:
    local = repository(tmp_path / "local", 1)
    hook("AfterAgent", local, session_id="s1", prompt="The port is 4000", prompt_response="Noted.")
    assert labels()["The port is 4000"] == first(local)
    git(local, "remote", "add", "origin", REMOTE)
    hook("SessionStart", local, session_id="s2")
    assert labels()["The port is 4000"] == "github.com/acme/shop"


@needs_git
def test_what_was_said_elsewhere_stays_there(tmp_path: Path) -> None:
    local = repository(tmp_path / "local", 1)
    hook("AfterAgent", local, session_id="s1", prompt="The port is 4000", prompt_response="Noted.")
    shutil.copytree(local, tmp_path / "copy")
    git(tmp_path / "copy", "remote", "add", "origin", REMOTE)
    hook("SessionStart", tmp_path / "copy", session_id="s2")
    assert labels()["The port is 4000"] == first(local)


@needs_git
def test_a_session_that_was_kept_under_an_earlier_label_is_not_imported_again(tmp_path: Path) -> None:
    local = repository(tmp_path / "local", 1)
    lines = [
        {"type": "user", "message": {"role": "user", "content": "The port is 4000"}, "uuid": "1", "parentUuid": None,
         "sessionId": "s1", "cwd": str(local), "timestamp": "2026-01-02T03:04:05.678Z"},
    ]  # fmt: skip
    file = tmp_path / "s1.jsonl"
    file.write_text("".join(json.dumps(each) + "\n" for each in lines))
    hook("Stop", local, session_id="s1", transcript_path=str(file))
    git(local, "remote", "add", "origin", REMOTE)

    async def imported() -> tuple[int, int]:
        async with Memory.open(user="alice") as memory:
            before = await load(memory, file)
            await memory.relabel(agent=first(local), to="github.com/acme/shop")
            again = await load(memory, file)
            return before.added + again.added, await memory.count()

    assert asyncio.run(imported()) == (0, 1)


# --- what is the person's ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "personal"),
    [
        ("I prefer short answers.", "I prefer short answers."),
        ("Always answer me in German! The build is red.", "Always answer me in German!"),
        ("From now on, never deploy this repository on Fridays", ""),
        ("Always run `make check` first", ""),
        ("Never edit src/main.py by hand", ""),
        ("In diesem Projekt immer Tabs verwenden", ""),
        ("The port is 4000", ""),
    ],
)
def test_preferences_and_standing_instructions_are_the_persons(text: str, personal: str) -> None:
    assert personal_in(text) == personal


@needs_git
def test_what_is_the_persons_is_told_in_every_project_and_the_rest_in_its_own(tmp_path: Path) -> None:
    one, other = repository(tmp_path / "one", 1), repository(tmp_path / "other", 1, REMOTE)
    said = "I prefer short answers. The port is 4000."
    for session in ("s1", "s2"):
        hook("AfterAgent", one, session_id=session, prompt=said, prompt_response="I prefer long ones.")
    assert labels()["I prefer short answers."] == PERSON
    told = json.dumps(hook("SessionStart", other, session_id="s3", source="startup"))
    assert "I prefer short answers." in told
    assert "4000" not in told and "long ones" not in told
    assert list(labels()).count("I prefer short answers.") == 1


def test_one_step_makes_a_record_the_persons_and_the_projects_again(tmp_path: Path) -> None:
    from memorist.agents.personal import make_personal, make_projects

    async def move() -> None:
        async with Memory.open(user="alice") as memory:
            project = memory.scoped(agent="github.com/acme/shop", session="s1")
            [said] = await project.conversation().append([{"role": "user", "content": "Short answers, please"}])
            assert said.record is not None
            mine = await make_personal(memory, said.record)
            assert (mine.scope.agent, mine.origin.derived_from) == (PERSON, (said.record.id,))
            assert (await make_personal(memory, mine)).id == mine.id
            assert await make_projects(memory, mine) == said.record
            assert await memory.count(agent=PERSON) == 0
            note = await project.notes.add("Prefers tabs")
            moved = await make_personal(memory, note)
            assert (moved.id, moved.scope.agent) == (note.id, PERSON)
            assert [each.record and each.record.scope.agent for each in await memory.history(note.id)] == [
                "github.com/acme/shop", PERSON,
            ]  # fmt: skip
            back = await make_projects(memory, moved)
            assert (back.id, back.scope.agent) == (note.id, "github.com/acme/shop")
            own = await memory.scoped(agent=PERSON).notes.add("Prefers spaces")
            with pytest.raises(InvalidInputError, match="no project"):
                await make_projects(memory, own)

    asyncio.run(move())


def test_the_file_of_a_project_is_readable_by_others(tmp_path: Path) -> None:
    from click.testing import CliRunner

    from memorist.cli.app import app

    (tmp_path / "shop").mkdir()
    ran = CliRunner().invoke(app, ["project", "name", "shop", "--folder", str(tmp_path / "shop")])
    assert ran.exit_code == 0, ran.output
    assert "memorist:shop" in ran.output
    assert os.name == "nt" or stat.S_IMODE((tmp_path / "shop" / ".memorist").stat().st_mode) == 0o644
    remembered("/old/shop", "The port is 4000")
    for action, label in (("bring", "memorist:shop"), ("undo", "/old/shop")):
        words = ["project", action, *(["/old/shop"] if action == "bring" else []), "--yes", "--folder"]
        ran = CliRunner().invoke(app, [*words, str(tmp_path / "shop")])
        assert ran.exit_code == 0, ran.output
        assert labels() == {"The port is 4000": label}
    again = CliRunner().invoke(app, ["project", "name", "x", "--folder", str(tmp_path / "shop")])
    assert again.exit_code == 2 and "there already" in again.output
