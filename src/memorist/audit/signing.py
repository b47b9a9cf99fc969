"""Signed statements: checkpoints of the audit log and receipts of purges, signed with the installation's own key.

A statement is a JSON object. Its signature (Ed25519) covers all of its other fields. Needs
`pip install 'memorist[signed]'`; without it a statement says that it is not signed.
"""

from base64 import b64decode, b64encode
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from memorist.audit.log import canonical
from memorist.errors import FormatError, MissingExtraError, SignatureError, needs, shown
from memorist.system.handles import read_file
from memorist.system.places import config_file
from memorist.system.writing import creating

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

__all__ = ["check", "key_file", "public_key", "signed"]

_ALGORITHM = "Ed25519"
_UNSIGNED = "the extra memorist[signed] is not installed where this was made"


def key_file(given: Path | None = None) -> Path:
    """Return the path of the installation's key, which may not exist yet: `given`, else ``signing.key`` beside
    the settings."""
    return config_file().with_name("signing.key") if given is None else given


def signed(statement: Mapping[str, Any], file: Path) -> dict[str, Any]:
    """Return a statement with the signature of the key in a file, which is made where it is missing.

    Raises:
        SignatureError: the file holds no key, or cannot be read or made.
    """
    try:
        key = _private_key(file)
    except MissingExtraError:
        return {**statement, "signature": None, "unsigned": _UNSIGNED}
    return {**statement, "signature": _signature(_text_of(key), key.sign(canonical(statement).encode()))}


def public_key(file: Path) -> str:
    """Return the public part of the key in a file, which is made where it is missing, in base64.

    Raises:
        SignatureError: as for `signed`.
        MissingExtraError: the package cryptography is not installed.
    """
    return _text_of(_private_key(file))


def check(document: Any, kind: str, key: str) -> None:
    """Check that a document is a statement of this kind, unchanged, signed with the key whose public part is given.

    Raises:
        FormatError: the document is not a statement of this kind.
        SignatureError: it is not signed, was signed with another key, or was changed afterwards.
        MissingExtraError: the package cryptography is not installed.
    """
    if not isinstance(document, Mapping) or document.get("type") != kind or "signature" not in document:
        raise FormatError(f"this is no {kind.removeprefix('memorist ')}")
    signature = document["signature"]
    if signature is None:
        raise SignatureError(f"it is not signed: {document.get('unsigned')}")
    with needs("cryptography", "signed"):
        from cryptography.exceptions import InvalidSignature
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
    statement = {name: value for name, value in document.items() if name != "signature"}
    try:
        if signature["key"] != key:
            raise SignatureError(f"it was signed with another key: {signature['key']}, not {key}")
        public = Ed25519PublicKey.from_public_bytes(b64decode(key, validate=True))
        value = b64decode(signature["value"], validate=True)
        public.verify(value, canonical(statement).encode())
        if signature != _signature(key, value):
            raise InvalidSignature
    except InvalidSignature as error:
        raise SignatureError("it was changed after it was signed") from error
    except (KeyError, TypeError, ValueError) as error:
        raise SignatureError(f"its signature or the key is damaged; a key is 44 letters, not {shown(key)}") from error


def _private_key(file: Path) -> "Ed25519PrivateKey":
    with needs("cryptography", "signed"):
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
        from cryptography.hazmat.primitives.serialization import load_pem_private_key
    try:
        if not file.exists():
            _make(file)
        key = load_pem_private_key(read_file(file), None)
    except (OSError, ValueError, TypeError) as error:
        raise SignatureError(f"the signing key in {file} cannot be read or made: {error}") from error
    if not isinstance(key, Ed25519PrivateKey):
        raise SignatureError(f"{file} holds no {_ALGORITHM} key; name another file with MEMORIST_SIGNING_KEY")
    return key


def _make(file: Path) -> None:
    """Make a key that only its owner can read; of several processes, the first one's stays."""
    from cryptography.hazmat.primitives import serialization as form
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    pem = Ed25519PrivateKey.generate().private_bytes(form.Encoding.PEM, form.PrivateFormat.PKCS8, form.NoEncryption())
    file.parent.mkdir(parents=True, exist_ok=True)
    with suppress(FileExistsError), creating(file) as out:
        out.write(pem)


def _signature(key: str, value: bytes) -> dict[str, str]:
    return {"algorithm": _ALGORITHM, "key": key, "value": _base64(value)}


def _text_of(key: "Ed25519PrivateKey") -> str:
    return _base64(key.public_key().public_bytes_raw())


def _base64(value: bytes) -> str:
    return b64encode(value).decode("ascii")
