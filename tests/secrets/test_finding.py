"""Secrets are known by their forms: each example is made anew, with random letters."""

import random
import string

import pytest

from growth import is_quadratic
from memorist.secrets import masked, secrets_in, without_private

_LETTERS = string.ascii_letters + string.digits
_chance = random.Random(43)


def some(count: int, letters: str = _LETTERS) -> str:
    return "".join(_chance.choices(letters, k=count))


def card(start: str, length: int) -> str:
    """Return a card number with its check digit."""
    digits = start + some(length - len(start) - 1, string.digits)
    doubled = [int(each) * (2 - place % 2) for place, each in enumerate(reversed(digits))]
    return digits + str(-sum(each - 9 * (each > 9) for each in doubled) % 10)


def key(kind: str, *, end: bool = True) -> str:
    body = "\n".join(some(64) for _ in range(25))
    return f"-----BEGIN {kind}PRIVATE KEY-----\n{body}" + (f"\n-----END {kind}PRIVATE KEY-----" if end else "")


SECRETS = {
    "anthropic": f"sk-ant-api03-{some(93)}AA",
    "anthropic of another length": f"sk-ant-oat01-{some(60)}",
    "openai": f"sk-proj-{some(74)}T3BlbkFJ{some(74)}",
    "openai's old form": f"sk-{some(48)}",
    "github": f"ghp_{some(36)}",
    "github, fine-grained": f"github_pat_{some(22)}_{some(59)}",
    "gitlab": f"glpat-{some(20)}",
    "aws": f"AKIA{some(16, 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567')}",
    "google": f"AIza{some(35)}",
    "slack": f"xoxb-{some(12, string.digits)}-{some(12, string.digits)}-{some(24)}",
    "stripe": f"sk_live_{some(24)}",
    "hugging face": f"hf_{some(34, string.ascii_letters)}",
    "npm": f"npm_{some(36)}",
    "pypi": f"pypi-AgEIcHlwaS5vcmc{some(120)}",
    "sendgrid": f"SG.{some(22)}.{some(43)}",
    "digitalocean": f"dop_v1_{some(64, '0123456789abcdef')}",
    "token": f"eyJ{some(33)}.eyJ{some(700)}.{some(43)}",
    "rsa": key("RSA "),
    "openssh": key("OPENSSH "),
    "a key cut off": key("", end=False),
    "visa": card("4", 16),
    "mastercard": card("52", 16),
    "american express": card("37", 15),
}


@pytest.mark.parametrize("name", SECRETS)
def test_a_secret_is_found_in_what_people_say(name: str) -> None:
    secret = SECRETS[name]
    for text in ("my key is {}, thanks", "{}", "KEY={}\nnext", "(`{}`)", 'it is "{}".', "{} and {}"):
        told = text.format(secret, secret)
        [first, *_] = secrets_in(told)
        assert told[first.start : first.end].startswith(secret)
        assert secret not in masked(told)
        assert f"[secret: {first.form}]" in masked(told)
        assert masked(masked(told)) == masked(told)


def test_cards_are_known_with_spaces_and_by_their_check_digit() -> None:
    number = card("4", 16)
    spaced = " ".join(number[at : at + 4] for at in range(0, 16, 4))
    assert masked(f"pay with {spaced} please") == "pay with [secret: card-number] please"
    assert masked(f"pay with {spaced.replace(' ', '-')}.") == "pay with [secret: card-number]."
    wrong = number[:-1] + str((int(number[-1]) + 1) % 10)
    assert masked(wrong) == wrong


def test_a_password_in_an_address_is_masked_and_the_address_stays() -> None:
    assert masked("postgres://app:hunter22@db/x?y") == "postgres://app:[secret: password-in-address]@db/x?y"
    assert masked(f"Authorization: Bearer {'aB3dE6gH9' * 4}") == "Authorization: Bearer [secret: authorization-header]"


@pytest.mark.parametrize(
    "text",
    [
        "postgres://user:password@localhost/db", "redis://:$REDIS_PASSWORD@host/0", "sk-learn-is-a-library-with-a-name",
        "call +49 170 1234567 or 0301234567890", "the order is 1234567890123456", "3.14159265358979323846",
        "commit b58d3f102cf3a2c84cb7f923d05c25c9b1aed84b", "9f86d081-884c-4d65-9a2f-eaa0c55ad015",
        "my password is in the safe", "the sk-ant- prefix", "AKIAIOSFODNN is too short", "ghp_short", "",
        "1767225600000000 microseconds", "key = get_key(name)", "-----BEGIN CERTIFICATE-----\nabc",
    ],
)  # fmt: skip
def test_what_is_no_secret_stays(text: str) -> None:
    assert masked(text) == text


@pytest.mark.parametrize(
    ("text", "stays"),
    [
        ("I live at <private>1 Elm Street</private> now", "I live at [private] now"),
        ("<PRIVATE>a<private>b</private>c</ private >d", "[private]d"),
        ("a <private>b</private><private>c</private>", "a [private][private]"),
        ("a <private>never closed", "a [private]"),
        ("</private> is no beginning", "</private> is no beginning"),
        ("<privates> stay", "<privates> stay"),
    ],
)
def test_private_parts_are_taken_out(text: str, stays: str) -> None:
    assert without_private(text) == stays


@pytest.mark.parametrize(
    "unit", ["-----BEGIN PRIVATE KEY-----", "sk-ant-", "4111 ", "eyJ", "https://a:", "<private>", "AKIA", "xapp-1-A-1-"]
)
def test_a_text_is_read_in_time_by_its_length(unit: str) -> None:
    assert not is_quadratic(
        lambda text: without_private(masked(text)), lambda length: unit * (length // len(unit)), 6_000
    )
