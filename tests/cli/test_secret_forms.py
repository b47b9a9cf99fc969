"""The command secrets, and what hooks and remember do with a secret."""

import json
from pathlib import Path

import pytest
from tests.cli.conftest import Command

SECRET = "glpat-" + "aB3dE6gH9jK2mN5pQ8sT"


def test_remember_keeps_and_warns_and_secrets_lists_and_masks(
    memorist: Command, db: Path, caplog: pytest.LogCaptureFixture
) -> None:
    assert memorist("remember", "tea").code == 0
    assert "No secrets of a known form were found." in memorist("secrets").out
    assert memorist("remember", f"the token is {SECRET}", "--user", "alice").code == 0
    assert "gitlab-pat" in caplog.text
    listed = memorist("secrets")
    assert "gitlab-pat" in listed.out and "alice" in listed.out
    assert SECRET not in listed.out + listed.err
    [found] = memorist("secrets", "--json").json
    assert (found["user"], found["where"], found["forms"]) == ("alice", "record", ["gitlab-pat"])
    assert memorist("secrets", "--redact").code != 0, "nobody said yes"
    assert SECRET.encode() in db.read_bytes()
    assert "Masked the secrets of 1 record" in memorist("secrets", "--redact", "--yes").out
    assert memorist("secrets", "--json").json == []
    assert SECRET.encode() not in db.read_bytes()
    assert "[secret: gitlab-pat]" in memorist("recall", "the token", "--user", "alice").out
    memorist("remember", f"a checkpoint with {SECRET}", "--kind", "state")
    said = memorist("secrets", "--redact", "--yes").out
    assert "is not masked" in said and "Masked" not in said
    assert [each["where"] for each in memorist("secrets", "--json").json] == ["state"]


@pytest.mark.parametrize("policy", ["", "mask", "refuse", "keep"])
def test_a_hook_masks_unless_secrets_are_kept(
    memorist: Command, tmp_path: Path, policy: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from memorist.cli.hooks.run import answer

    monkeypatch.setenv("MEMORIST_SECRETS", policy)
    said = {"session_id": "s", "cwd": str(tmp_path), "prompt": f"use {SECRET} and <private>this</private>"}
    answer(["AfterAgent", "--user", "alice"], json.dumps({**said, "prompt_response": "Done."}).encode())
    told = memorist("recent", "--user", "alice", "--json").out
    assert (SECRET in told) == (policy == "keep")
    assert "Done." in told and "this" not in told


def test_a_policy_is_refused_that_is_none(memorist: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEMORIST_SECRETS", "hide")
    result = memorist("remember", "tea")
    assert result.code != 0
    assert "mask, refuse, keep" in result.err
