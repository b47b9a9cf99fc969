"""What a question says beside its words: who is asked about, and by whom."""

from datetime import UTC, datetime

import pytest

from memorist.recall import names
from memorist.recall.question import Question, read_question

NOW = datetime(2023, 5, 20, tzinfo=UTC)


def read(text: str, *speakers: str) -> Question:
    return read_question(text, speakers=speakers, now=NOW)


def test_a_speaker_asked_about_is_taken_out_of_the_words() -> None:
    question = read("What did Caroline's brother paint?", "Caroline", "Melanie")
    assert question.speakers == {"Caroline"}
    assert "carolin" not in " ".join(question.terms)
    assert question.embed == "What did my brother paint?"


@pytest.mark.parametrize(
    ("text", "name"),
    [("さくらの定休日は何曜日？", "さくら"), ("晓彤收留的小动物叫什么？", "晓彤"), ("민재가 어디에 살아?", "민재")],
)
def test_a_name_is_found_where_no_space_follows_it(text: str, name: str) -> None:
    assert read(text, name, "Ann").speakers == {name}


def test_a_first_name_names_the_speaker() -> None:
    question = read("Where does Ann live?", "Ann Lee", "Bob Ray")
    assert question.speakers == {"Ann Lee"}
    assert question.embed == "Where does I live?"


@pytest.mark.parametrize(
    ("text", "own"),
    [("Wo wohnt Jana seit dem Sommer?", "Wo wohnt ich seit dem Sommer?"), ("Где живёт Jana?", "Где живёт я?")],
)
def test_a_person_asked_about_speaks_the_questions_language(text: str, own: str) -> None:
    assert read(text, "Jana").embed == own


@pytest.mark.parametrize(
    ("text", "user", "own"),
    [
        ("Where does Alice live?", "alice", "Where does I live?"),
        ("What is Alice's address?", "Alice", "What is my address?"),
        ("What is Alice Smith's dog called?", "alice.smith@example.com", "What is my dog called?"),
        ("Wo wohnt Alice?", "alice_smith", "Wo wohnt ich?"),
        ("晓彤住在哪里？", "晓彤", "我住在哪里？"),
        ("Where does Alicia live? Al knows", "alice", "Where does Alicia live? Al knows"),
        ("which day did I mark in red?", "mark", "which day did I mark in red?"),
        ("What does User7 like?", "user7", "What does User7 like?"),
        ("Who is the Agent?", "agent", "Who is the Agent?"),
    ],
)
def test_who_is_named_like_the_user_is_the_user_where_somebody_speaks(text: str, user: str, own: str) -> None:
    assert read_question(text, speakers=["user"], users=[user], now=NOW).embed == own
    assert read_question(text, users=[user], now=NOW) == read_question(text, now=NOW)


def test_a_speaker_who_is_named_like_the_user_is_that_speaker() -> None:
    both = ["Alice", "Bo"]
    assert read_question("Where does Alice live?", speakers=both, users=["alice"], now=NOW) == read(
        "Where does Alice live?", *both
    )


@pytest.mark.parametrize(
    ("text", "own"),
    [
        ("Where does the user live?", "Where does I live?"),
        ("What is the user's current employer?", "What is my current employer?"),
        ("user's dog", "my dog"),
        ("user favorite colour", "I favorite colour"),
        ("How many users are there?", "How many users are there?"),
        ("What is the user id?", "What is the user id?"),
        ("Wo wohnt der Nutzer?", "Wo wohnt ich?"),
        ("Où habite l’utilisateur ?", "Où habite je ?"),
        ("¿Dónde vive el usuario?", "¿Dónde vive yo?"),
        ("用户的狗叫什么名字？", "我的狗叫什么名字？"),
        ("ユーザーの仕事は何ですか？", "私の仕事は何ですか？"),
        ("사용자는 어디에 살아?", "나는 어디에 살아?"),
        ("Где живёт пользователь?", "Где живёт я?"),
    ],
)
def test_the_user_is_who_says_i(text: str, own: str) -> None:
    question = read(text, "user")
    assert question.embed == own
    assert question.first_person == (own != text)
    # Nobody says a fact, which speaks of "the user" as well.
    assert read(text).embed == text


def test_a_name_inside_a_word_names_nobody() -> None:
    question = read("Which annual plan is it?", "Ann")
    assert not question.speakers
    assert question.embed == question.text


def test_a_name_that_is_a_common_word_must_look_like_a_name() -> None:
    assert not read("Will it rain?", "Will").speakers
    assert read("Where did Will go?", "Will").speakers == {"Will"}


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("what did Elise buy in Paris?", {"elise"}),
        ("what did melanie buy?", {"Melanie"}),
        ("What did Mel buy?", {"Melanie"}),  # a short form
        ("What did Carolina buy?", {"Caroline"}),  # a slip of the pen
        ("What did mel buy in Paris?", set()),
        ("What did Me buy?", set()),
        ("When did Jo call?", set()),
        ("What did Jordan buy?", set()),
    ],
)
def test_a_speaker_is_named_in_any_case_by_a_short_form_or_with_a_slip(text: str, named: set[str]) -> None:
    assert read(text, "elise", "Melanie", "Caroline", "Jon", "user").speakers == named


def test_a_short_form_of_two_names_neither() -> None:
    assert not read("What did Mel buy?", "Melanie", "Melvin").speakers
    assert read("What did Mel buy?", "Melanie", "Mel").speakers == {"Mel"}


@pytest.mark.parametrize("role", ["user", "assistant", "tool", "Assistant"])
def test_a_role_is_no_name(role: str) -> None:
    assert not read(f"what did the {role} say", role).speakers


def test_the_first_person_is_noticed() -> None:
    assert read("What did I buy for my sister?").first_person
    assert not read("What did she buy?").first_person


@pytest.mark.parametrize("text", ["the and of", "🙂🙂", "?!", "東京タワー", "ПРИВЕТ мир", "a" * 4000, "\x00\x01"])
def test_any_text_can_be_read(text: str) -> None:
    question = read(text, "Ann")
    assert question.embed == text


def test_the_names_of_speakers_are_taken_apart_once_for_many_questions(monkeypatch: pytest.MonkeyPatch) -> None:
    taken_apart: list[str] = []
    split = names.words  # type: ignore[attr-defined]  # what it uses

    def taking_apart(text: str) -> list[str]:
        taken_apart.append(text)
        return split(text)

    monkeypatch.setattr(names, "words", taking_apart)
    speakers = [f"Zeb{letter} Quayle" for letter in "abcdef"]
    assert read("Where does Zebb live?", *speakers).speakers == {"Zebb Quayle"}
    assert len(taken_apart) == 3 * len(speakers)  # each name and its two words
    assert read("What does Zebc like?", *speakers).speakers == {"Zebc Quayle"}
    assert len(taken_apart) == 3 * len(speakers)
