"""remember, recall, recent, count, history, forget, purge, topics: what a person types and reads."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias

import pytest

from memorist.cli.showing import print_replacements

Command: TypeAlias = Callable[..., Any]


def test_what_is_remembered_is_recalled_for_its_user_alone(memorist: Command) -> None:
    assert memorist("remember", "Prefers homestays when travelling", "--user", "alice").code == 0
    memorist("remember", "Prefers quiet hotels when travelling", "--user", "bob")

    found = memorist("recall", "homestays or hotels when travelling?", "--user", "alice", "--json").json
    assert [hit["record"]["content"] for hit in found] == ["Prefers homestays when travelling"]
    assert 0 < found[0]["similarity"] <= 1 and 0 < found[0]["score"] <= 1
    assert memorist("recall", "homestays?").out == "Nothing found.\n"


def test_hits_are_a_table_for_people(memorist: Command) -> None:
    memorist("remember", "Prefers [bold]homestays[/bold] \x1b[31m when travelling", "-u", "alice", "--id", "stay")
    shown = memorist("recall", "homestays", "-u", "alice", "--explain").out
    assert "Score" in shown and "Similarity" in shown and "stay" in shown
    assert "[bold]homestays[/bold]" in shown, "what was remembered is text, not markup"
    assert "\x1b" not in shown, "neither colours in a pipe nor what would steer a terminal"


def test_recall_narrows_by_kind_session_and_time(memorist: Command) -> None:
    memorist("remember", "tea in May", "--kind", "fact", "--at", "2024-05-01", "--session", "s")
    memorist("remember", "tea in June", "--at", "2024-06-01")

    def contents(*options: str) -> list[str]:
        return [hit["record"]["content"] for hit in memorist("recall", "tea", "--json", *options).json]

    assert len(contents()) == 2 and len(contents("--limit", "1")) == 1
    assert (
        contents("--kind", "fact") == contents("--session", "s") == contents("--until", "2024-05-15") == ["tea in May"]
    )
    assert contents("--since", "2024-05-15") == ["tea in June"]
    assert len(contents("--kind", "fact", "--kind", "note")) == 2


def test_shared_memories_are_added_when_asked_for(memorist: Command) -> None:
    memorist("remember", "The office closes at six")
    assert memorist("recall", "when does the office close?", "-u", "alice", "--json").json == []
    assert len(memorist("recall", "when does the office close?", "-u", "alice", "--shared", "--json").json) == 1
    assert len(memorist("recent", "-u", "alice", "--shared", "--json").json) == 1


def test_the_standard_input_can_be_remembered(memorist: Command) -> None:
    assert memorist("remember", "-", "--id", "piped", stdin="Größe: 7\n".encode()).out == "Remembered as piped\n"
    assert memorist("recent", "--json").json[0]["content"] == "Größe: 7"
    assert "not UTF-8" in memorist("remember", "-", stdin=b"\xff").err


def test_recent_goes_from_the_newest_back(memorist: Command) -> None:
    for day in (1, 3, 2):
        memorist("remember", f"day {day}", "--at", f"2024-05-0{day}")
    assert [record["content"] for record in memorist("recent", "--json").json] == ["day 3", "day 2", "day 1"]
    shown = memorist("recent", "-n", "1").out
    assert "day 3" in shown and "2024-05-03" in shown and "day 2" not in shown


def test_where_what_was_read_holds_no_change_the_cursor_still_leads_on(capsys: pytest.CaptureFixture[str]) -> None:
    print_replacements({"changes": [], "next": "1-2"})
    assert capsys.readouterr().out == "Nothing changed so far.\nMore: --cursor 1-2\n"


def test_changes_show_the_state_before_each_and_go_on_by_the_cursor(memorist: Command) -> None:
    memorist("remember", "Likes tea", "--user", "bob")
    assert memorist("changes", "--user", "bob").out == "Nothing changed.\n"
    for day, dose in (("2024-05-01", "40 mg"), ("2024-06-01", "60 mg"), ("2024-07-01", "80 mg")):
        memorist("remember", f"I take {dose} of thyroxine every morning", "--at", day, "--user", "alice")
    shown = memorist("changes", "--user", "alice", "-n", "1").out
    assert "I take 80 mg" in shown and "before, 2024-06-01: I take 60 mg" in shown and "it says: 80" in shown
    cursor = shown.rpartition("More: --cursor ")[2].strip()
    rest = memorist("changes", "--user", "alice", "--cursor", cursor, "--json").json
    assert [each["former"]["content"][:12] for each in rest["changes"]] == ["I take 40 mg"] and rest["next"] is None
    assert memorist("changes", "--user", "alice", "--since", "2024-06-15", "--json").json["changes"][0]["signs"] == [
        "80"
    ]
    assert memorist("changes", "--user", "alice", "--cursor", "x").code == 2
    assert memorist("changes", "--user", "bob", "--json").json["changes"] == []


def test_an_explained_context_says_why_each_is_told_and_no_more(memorist: Command) -> None:
    memorist("remember", "Drinks oat milk in her coffee", "--user", "alice")
    shown = memorist("context", "what milk in her coffee?", "--user", "alice", "--explain").out
    assert "recalled: place 1, " in shown and "1 of 1 hits are included where they fit" in shown


def test_count_is_of_all_users_unless_one_is_named(memorist: Command) -> None:
    for user in ("alice", "bob", "bob"):
        memorist("remember", "hello", "--user", user)
    memorist("remember", "hello")
    assert memorist("count", "--json").out == "4\n"
    assert memorist("count", "--user", "bob", "--json").out == "2\n"
    assert memorist("count", "--user", "alice").out == "1 record\n"
    assert memorist("--tenant", "acme", "count", "--json").out == "0\n"


def test_history_shows_every_change_and_forget_takes_the_text_out(memorist: Command) -> None:
    memorist("remember", "Likes tea", "-u", "alice", "--id", "tea")
    assert [change["action"] for change in memorist("history", "tea", "-u", "alice", "--json").json] == ["remembered"]
    assert memorist("forget", "tea", "nothing", "-u", "alice").out == "Forgot 1; 1 not found\n"
    shown = memorist("history", "tea", "-u", "alice").out
    assert "forgotten" in shown and "Likes tea" not in shown
    assert memorist("history", "tea", "-u", "bob").code == 1


def test_purge_leaves_nothing_of_a_user_and_all_of_the_others(memorist: Command, db: Path) -> None:
    memorist("remember", "a secret of alice", "-u", "alice")
    memorist("remember", "hello", "-u", "bob")
    refused = memorist("purge", "--user", "alice")
    assert refused.code == 2 and "--yes" in refused.err
    assert memorist("count", "-u", "alice", "--json").json == 1

    assert memorist("purge", "--user", "alice", "--yes").out.startswith("Purged 1 record of 'alice'\n")
    assert memorist("count", "--json").out == "1\n"
    assert all(b"a secret" not in path.read_bytes() for path in db.parent.glob("memory.db*"))
    assert memorist("purge", "--yes").code == 2, "whose is not guessed"


def test_purge_takes_the_users_tokens_along(memorist: Command, db: Path) -> None:
    memorist("remember", "Likes tea", "--user", "qvictimz")
    memorist("token", "create", "laptop of qvictimz", "--user", "qvictimz")
    assert memorist("purge", "--user", "qvictimz", "--yes").code == 0
    assert memorist("token", "list", "--json").json == []
    assert not any(b"qvictimz" in each.read_bytes() for each in db.parent.iterdir() if each.is_file())


def test_topics_are_set_shown_and_deleted_by_their_exact_name(memorist: Command) -> None:
    assert memorist("topics", "set", "user.language", "Elixir", "-u", "alice").code == 0
    memorist("topics", "set", "user.language", "Rust", "-u", "alice")
    memorist("topics", "set", "team", "blue", "-u", "alice")
    assert memorist("topics", "get", "user.language", "-u", "alice").out == "Rust\n"
    assert memorist("topics", "list", "-u", "alice", "--json").json == {"team": "blue", "user.language": "Rust"}
    assert memorist("topics", "list", "user.", "-u", "alice", "--json").json == {"user.language": "Rust"}
    assert "Rust" in memorist("topics", "list", "-u", "alice").out
    assert memorist("topics", "get", "user.language").code == 1
    assert memorist("topics", "delete", "team", "-u", "alice").code == 0
    assert memorist("topics", "delete", "team", "-u", "alice").code == 1


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["recall", "x", "--since", "soon"], "not a point in time"),
        (["remember", " "], "blank"),
        (["remember", "x", "--user", "u" * 600], "512"),
        (["--tenant", " ", "count"], "tenant"),
        (["--db", "/dev/null/x.db", "count"], "/dev/null"),
        (["--db", "nostore://x", "count"], "nostore"),
        (["--embedder", "nosuch", "count"], "nosuch"),
        (["history", "none"], "there was never"),
    ],
)
def test_what_fails_says_so_in_one_line(memorist: Command, arguments: list[str], reason: str) -> None:
    memorist("remember", "something else", "--user", "bob")
    result = memorist(*arguments)
    assert result.code in (1, 2) and result.out == ""
    assert result.err.startswith("error: ") and reason in result.err and result.err.count("\n") == 1


def test_a_damaged_database_is_an_error_and_is_left_alone(memorist: Command, db: Path) -> None:
    db.write_bytes(b"not a database at all" * 100)
    result = memorist("count")
    assert result.code == 1 and result.err.startswith("error: ") and "Traceback" not in result.err
    assert db.read_bytes().startswith(b"not a database")


def test_a_bad_setting_names_its_variable(memorist: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEMORIST_BUSY_TIMEOUT", "soon")
    assert memorist("count").err == "error: MEMORIST_BUSY_TIMEOUT must be a number, not 'soon'\n"


@pytest.mark.parametrize(
    "arguments", [["nosuch"], ["recall"], ["recall", "x", "--limit", "0"], ["recall", "x", "--nosuch"], ["forget"]]
)
def test_wrong_usage_is_exit_code_two(memorist: Command, arguments: list[str]) -> None:
    assert memorist(*arguments).code == 2


def test_help_and_version_need_no_database(memorist: Command, db: Path) -> None:
    assert "remember" in memorist("--help").out
    assert memorist("--version").out.startswith("memorist ")
    assert "3" in memorist("load", "--help").out
    assert "[OPTIONS] [FILE]\n" in memorist("export", "--help").out
    assert not db.exists()


def test_a_memory_can_be_looked_at_changed_and_rated(memorist: Command) -> None:
    memorist("remember", "Lives in Lisbon", "-u", "alice", "--id", "home")
    assert (
        memorist("revise", "home", "Lives in Porto", "-u", "alice", "--expires", "2090-01-01").out == "Revised home\n"
    )
    assert memorist("rate", "home", "0.5", "-u", "alice").out == "Rated home: 0.5\n"
    record = memorist("get", "home", "-u", "alice", "--json").json
    assert (record["content"], record["rating"], record["expires_at"][:4]) == ("Lives in Porto", 0.5, "2090")
    assert "Lives in Porto" in memorist("get", "home", "-u", "alice").out
    assert memorist("rate", "home", "none", "-u", "alice", "--json").json["rating"] is None
    assert [change["action"] for change in memorist("history", "home", "-u", "alice", "--json").json] == [
        "remembered",
        "revised",
        "rated",
        "rated",
    ]


def test_what_another_user_has_can_neither_be_looked_at_nor_changed(memorist: Command) -> None:
    memorist("remember", "Lives in Lisbon", "-u", "alice", "--id", "home")
    for command in (("get", "home"), ("revise", "home", "gone"), ("rate", "home", "1")):
        result = memorist(*command, "-u", "bob")
        assert result.code == 1 and "home" in result.err
    assert memorist("get", "home", "-u", "alice", "--json").json["version"] == 1


def test_wrong_changes_are_refused(memorist: Command) -> None:
    memorist("remember", "Lives in Lisbon", "--id", "home")
    assert memorist("rate", "home", "good").code == 2
    assert "from -1 to 1" in memorist("rate", "home", "2").err
    assert "name a field" in memorist("revise", "home").err


def test_browsing_goes_page_by_page(memorist: Command) -> None:
    for day in range(1, 6):
        memorist("remember", f"day {day}", "--at", f"2024-05-0{day}", "-u", "alice" if day % 2 else "bob")
    first = memorist("browse", "--everyone", "-n", "2", "--order", "oldest", "--json").json
    assert [record["content"] for record in first["records"]] == ["day 1", "day 2"]
    rest = memorist("browse", "--everyone", "--order", "oldest", "--cursor", first["next"], "--json").json
    assert [record["content"] for record in rest["records"]] == ["day 3", "day 4", "day 5"] and rest["next"] is None
    assert "--cursor" in memorist("browse", "-n", "1", "-u", "alice").out
    assert "order" in memorist("browse", "--order", "sideways").err


def test_every_field_can_be_given_and_narrows_what_is_read(memorist: Command) -> None:
    memorist("remember", "Lisbon, four nights", "--id", "lisbon", "--metadata", '{"nights": 4}', "--agent", "planner",
             "--source", "alice", "--verified", "--expires", "90d", "--at", "2024-05-01")  # fmt: skip
    memorist("remember", "Porto, two nights", "--id", "porto", "--metadata", '{"nights": 2}', "--at", "2024-06-01")
    record = memorist("get", "lisbon", "--json").json
    assert (record["metadata"], record["agent"], record["source"], record["verified"]) == (
        {"nights": 4},
        "planner",
        "alice",
        True,
    )
    assert record["expires_at"] is not None

    def ids(*arguments: str) -> list[str]:
        found = memorist(*arguments, "--json").json
        return [each.get("record", each)["id"] for each in (found["records"] if isinstance(found, dict) else found)]

    assert ids("recall", "how many nights?", "--where", '{"nights": {"$gte": 3}}') == ["lisbon"]
    assert ids("recent", "--agent", "planner") == ids("browse", "--verified") == ["lisbon"]
    assert ids("browse", "--unverified") == ["porto"]
    assert ids("recall", "nights", "--min-similarity", "1") == []
    assert memorist("count", "--since", "2024-05-15", "--json").json == 1
    assert memorist("revise", "porto", "--verified", "--source", "bob", "--json").json["verified"] is True


def test_a_fact_takes_the_place_of_another(memorist: Command) -> None:
    memorist("remember", "Lives in Lisbon", "--id", "old", "--kind", "fact")
    memorist("remember", "Lives in Porto", "--id", "new", "--kind", "fact", "--supersedes", "old")
    assert memorist("get", "old", "--json").json["superseded_by"] == "new"
    assert memorist("count", "--json").json == 1 and memorist("count", "--superseded", "--json").json == 2


def test_an_id_that_is_taken_is_an_error_unless_it_is_said_what_to_do(memorist: Command) -> None:
    memorist("remember", "tea", "--id", "x")
    assert memorist("remember", "coffee", "--id", "x").code == 1
    assert memorist("remember", "coffee", "--id", "x", "--if-exists", "ignore", "--json").json["content"] == "tea"
    assert memorist("remember", "coffee", "--id", "x", "--if-exists", "replace", "--json").json["content"] == "coffee"


def test_a_bad_rating_is_a_number_not_an_option(memorist: Command) -> None:
    memorist("remember", "tea", "--id", "x")
    assert memorist("rate", "x", "-0.5").out == "Rated x: -0.5\n"
    assert memorist("rate", "x", "none").out == "Removed the rating of x\n"
    assert memorist("rate", "x", "1", "--nosuch").code == 2


def test_what_passes_a_filter_is_forgotten_once_it_is_confirmed(memorist: Command) -> None:
    for place in ("Lisbon", "Porto"):
        memorist("remember", f"a night in {place}", "--metadata", f'{{"trip": "{place}"}}', "-u", "alice")
    chosen = ("forget", "-u", "alice", "--where", '{"trip": "Lisbon"}')
    assert memorist(*chosen).code == 2, "nobody is here to be asked"
    assert memorist(*chosen, "--yes", "--json").json == {"forgotten": 1}
    assert memorist("recent", "-u", "alice", "--json").json[0]["content"] == "a night in Porto"
    assert memorist("forget", "some id", *chosen[1:], "--yes").code == 2


def test_what_all_users_share_can_be_purged(memorist: Command) -> None:
    memorist("remember", "closes at six")
    memorist("remember", "hello", "-u", "alice")
    assert memorist("purge", "--shared", "--user", "alice", "--yes").code == 2
    assert memorist("purge", "--shared", "--yes", "--json").json["purged"] == 1
    assert memorist("count", "--json").json == 1


def test_of_several_users_each_is_named(memorist: Command) -> None:
    memorist("remember", "tea", "-u", "alice", "--id", "a")
    memorist("remember", "cake", "--id", "b")
    assert "a · alice" in (shown := memorist("browse", "--everyone").out) and "b · (shared)" in shown
    assert "b · (shared)" in memorist("recent", "-u", "alice", "--shared").out
    assert "alice" not in memorist("recent", "-u", "alice").out


@pytest.mark.parametrize("given", ["{", "[1]", "5", "trip=Lisbon"])
def test_a_filter_that_is_no_object_is_wrong_usage(memorist: Command, given: str) -> None:
    result = memorist("recall", "x", "--where", given)
    assert result.code == 2 and "JSON" in result.err


@pytest.mark.parametrize("command", [("count",), ("topics", "list")])
def test_an_option_behind_the_command_that_goes_before_it_is_told_so(
    memorist: Command, command: tuple[str, ...]
) -> None:
    result = memorist(*command, "--db", "x.db")
    assert result.code == 2 and f"memorist --db … {command[0]}" in result.err


def test_where_a_memory_comes_from_and_what_forgetting_it_would_take(memorist: Command) -> None:
    memorist("remember", "Oslo is in Sweden", "--id", "page", "--author", "web")
    memorist("remember", "We live in Oslo", "--id", "said")
    memorist("remember", "Oslo lies in Sweden", "--id", "fact", "--derived-from", "page")
    memorist("remember", "We live in Sweden", "--id", "both", "--derived-from", "page", "--derived-from", "said")

    why = memorist("why", "both")
    assert "operator" in why.out and "low" in why.out and "Oslo is in Sweden" in why.out
    assert memorist("why", "none").code == 1
    before = memorist("forget", "page", "--derived", "--dry-run")
    assert "Would be forgotten:" in before.out and "also rests" not in before.out
    assert "would be forgotten too" in before.out and "would be marked" in before.out
    assert [memorist("get", id).code for id in ("page", "fact", "both")] == [0, 0, 0]
    assert "Lives" not in memorist("recall", "Where is Oslo?", "--min-trust", "high").out
    gone = memorist("forget", "page", "--derived")
    assert "Forgot 2" in gone.out and "Marked 1 record" in gone.out
    assert [memorist("get", id).code for id in ("page", "fact", "both")] == [1, 1, 0]
    assert "1 source no longer exist" in memorist("why", "both").out
    assert memorist("remember", "x", "--author", "nobody").code == 2


@pytest.mark.parametrize(
    "words",
    [
        ("remember", "Tea", "--expires", "nonsense"), ("remember", "Tea", "--at", "nonsense"), ("remember", " "),
        ("remember", "Tea", "--author", "nobody"), ("remember", "Tea", "--metadata", "[]"),
        ("remember", "Tea", "--key", "\x00"), ("remember", "Tea", "--user", " "), ("topics", "set", "name", " "),
        ("load", "nowhere.jsonl"), ("import", "nowhere"), ("token", "create", "mine", "--expires", "nonsense"),
        ("mango", "train", "nowhere.jsonl"),
    ],
)  # fmt: skip
def test_a_command_that_fails_makes_no_database(memorist: Command, db: Path, words: tuple[str, ...]) -> None:
    assert memorist(*words).code in (1, 2)
    assert not list(db.parent.glob("memory.db*"))


def test_a_revision_clears_a_field(memorist: Command) -> None:
    memorist("remember", "Tea", "--id", "t", "--expires", "2099-01-01", "--cue", "drink?", "--source", "me")
    shown = memorist("revise", "t", "--clear", "expires_at", "--clear", "cue", "--json").json
    assert (shown["expires_at"], shown["cue"], shown["source"]) == (None, None, "me")
    told = memorist("revise", "t", "--cue", "which?", "--clear", "cue")
    assert told.code == 2 and "only one of them" in told.err
    assert memorist("revise", "t", "--clear", "content").code == 2
