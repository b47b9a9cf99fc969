"""The key of an encrypted store: where it is kept, and how it is read from there."""

import os
import re
import shlex
import subprocess

from memorist.errors import InvalidInputError, StoreKeyError, missing_extra
from memorist.system.handles import read_text
from memorist.system.places import expanded

SOURCES = "file:PATH, env:NAME, command:COMMAND or keyring:SERVICE/NAME"
"""Where a key may be kept. The key itself is never part of a setting, a URL, a log or an error."""

_DIGITS = re.compile(r"[0-9a-fA-F]{64}")
_PATIENCE = 60.0
"""Seconds that a command may take; it may ask its user."""


class Key:
    """256 bits that encrypt a file. Its repr shows where the key comes from, never the key.

    Args:
        digits: 64 hexadecimal digits.
        origin: the name of the key's source in errors.
    """

    __slots__ = ("_digits", "origin")

    def __init__(self, digits: str, origin: str) -> None:
        if not _DIGITS.fullmatch(digits):
            raise StoreKeyError(f"{origin} holds no key: 64 hexadecimal digits, as `memorist key new` makes them")
        self._digits = digits
        self.origin = origin

    def __repr__(self) -> str:
        return f"Key(from {self.origin})"

    def reveal(self) -> str:
        """Return the digits, for the cipher."""
        return self._digits


def new_key() -> str:
    """Return the 64 digits of a new random key."""
    return os.urandom(32).hex()


def read_key(source: str) -> Key:
    """Return the key kept at `source`, one of `SOURCES`.

    Raises:
        InvalidInputError: `source` is not one of them. The error does not show it, because it may be the key itself.
        StoreKeyError: nothing is there, or what is there is no key.
        MissingExtraError: the package keyring is not installed.
    """
    scheme, separator, rest = source.strip().partition(":")
    read = _READERS.get(scheme) if separator and rest.strip() else None
    if read is None:
        raise InvalidInputError(f"key_from must name a source of the key: {SOURCES}")
    return read(rest.strip())


def _from_file(path: str) -> Key:
    try:
        text = read_text(expanded(path), "ascii")
    except UnicodeDecodeError:
        text = ""
    except OSError as error:
        raise StoreKeyError(f"the key's file cannot be read: {error}") from error
    return Key(text.strip(), path)


def _from_environment(name: str) -> Key:
    if name not in os.environ:
        raise StoreKeyError(f"the variable {name}, which should hold the key, is not set")
    return Key(os.environ[name].strip(), f"the variable {name}")


def _from_command(command: str) -> Key:
    try:
        words = shlex.split(command)
    except ValueError as error:
        raise InvalidInputError(f"the command that should print the key cannot be read: {error}") from None
    try:
        done = subprocess.run(words, stdout=subprocess.PIPE, text=True, errors="replace", check=True, timeout=_PATIENCE)
    except (OSError, subprocess.SubprocessError) as error:
        code = (
            f"exit code {error.returncode}"
            if isinstance(error, subprocess.CalledProcessError)
            else type(error).__name__
        )
        raise StoreKeyError(f"the command {words[0]}, which should print the key, failed: {code}") from None
    return Key(done.stdout.strip(), f"the command {words[0]}")


def _from_keyring(place: str) -> Key:
    try:
        import keyring
        from keyring.errors import KeyringError
    except ImportError:
        raise missing_extra("keyring", "encrypted") from None
    service, _, name = place.partition("/")
    try:
        text = keyring.get_password(service, name)
    except KeyringError as error:
        raise StoreKeyError(f"the system's keyring cannot be read: {error}") from error
    if text is None:
        raise StoreKeyError(f"the system's keyring has no entry {place}; make it: keyring set {service} {name}")
    return Key(text.strip(), f"the keyring's entry {place}")


_READERS = {
    "file": _from_file,
    "env": _from_environment,
    "command": _from_command,
    "keyring": _from_keyring,
}
