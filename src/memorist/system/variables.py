"""The environment variables that Memorist reads, and the refusal of any other whose name begins alike.

This module imports little, because a command that asks a server must start quickly.
"""

import os
import re
from collections.abc import Mapping

from memorist.errors import InvalidInputError

PREFIX = "MEMORIST_"

VARIABLES: Mapping[str, tuple[str, ...]] = {
    "settings": (
        "DB", "INDEX", "EMBEDDER", "MODEL", "KEY_FROM", "BUSY_TIMEOUT", "CACHE_BYTES", "LARGEST_INDEX",
        "LARGEST_RECORD", "TRUST", "CONFIRM", "SECRETS", "ZONE", "KEEP_TRACES", "AUDIT", "SIGNING_KEY",
    ),
    "options of commands": (
        "TENANT", "USER", "AGENT", "HOST", "PORT", "TRUST_PROXY", "LOG_FORMAT", "CHAT_MODEL", "PROMPTS",
        "PUBLIC_URL", "SIGN_IN", "OPENID", "OPENID_AUDIENCE", "OPENID_CLAIM", "OPENID_USER",
    ),
    "read where they are needed": ("CONFIG", "CACHE", "STATE", "TOKEN", "CHAT_KEY"),
    "deployment": ("PASSWORD",),
    "building": ("MODEL_WHEEL",),
    "tests and benchmarks": ("TEST_AGENTS", "TEST_TYPESCRIPT", "BENCH_CACHE", "BENCH_DATA", "BENCH_DB"),
}  # fmt: skip
"""Every variable, without its prefix, by what reads it."""

_KNOWN = frozenset(PREFIX + name for names in VARIABLES.values() for name in names)
_SERVICE = re.compile(
    r"\w+_SERVICE_(?:HOST|PORT)(?:_\w+)?=.*|\w+_PORT(?:_\d+_(?:TCP|UDP|SCTP))?=(?:tcp|udp|sctp)://.*"
    r"|\w+_PORT_\d+_(?:TCP|UDP|SCTP)_(?:PROTO|PORT|ADDR)=.*",
    re.DOTALL,
)
"""Variables that Kubernetes sets in every container for a service whose name begins with ``memorist``."""


def check_variables(env: Mapping[str, str] | None = None, *, key_from: str | None = None) -> None:
    """Raise if a variable is set that begins with ``MEMORIST_`` and is not one of `VARIABLES`.

    A blank variable counts as not set. A mistyped name would otherwise leave a default in force, in silence: a memory
    without encryption, say.

    Args:
        env: the variables; by default those of this process.
        key_from: where a key is kept; ``env:NAME`` allows that name.

    Raises:
        InvalidInputError: there is such a variable; the text names it, and the nearest known name.
    """
    for name, value in (os.environ if env is None else env).items():
        if not name.startswith(PREFIX) or name in _KNOWN or not value.strip():
            continue
        if _SERVICE.fullmatch(f"{name}={value}") or key_from == f"env:{name}":
            continue
        from difflib import get_close_matches  # imported here, because it is hardly ever needed

        usual = [each for names in list(VARIABLES.values())[:3] for each in names]
        given = name.removeprefix(PREFIX)
        held = [each for each in usual if set(each.split("_")) <= set(given.split("_"))]  # PORT is in SERVER_PORT
        [nearest] = get_close_matches(given, held or usual, 1, 0)
        raise InvalidInputError(
            f"there is no variable {name}; the nearest is {PREFIX}{nearest}. Correct it or unset it; "
            f"your own variables need names that do not begin with {PREFIX}"
        )
