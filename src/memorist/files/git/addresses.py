"""The address of a remote in the one form that all its spellings have in common."""

import re

_SCHEMES = frozenset(("ssh", "git+ssh", "ssh+git", "git", "git+https", "git+http", "https", "http"))
_SHORT = re.compile(r"(?:[^@/:\s]+@)?(\[[0-9A-Fa-f:.]+\]|[^@/:\s\[\]]{2,}):(?!//)(.+)")
"""``user@host:path``, as ssh reads it. A host of one letter is a drive of Windows."""
_HELPER = re.compile(r"[A-Za-z][\w.+-]*::")
"""``helper::address``, whose form only the helper knows."""
_ALIASES = {
    "ssh.github.com": "github.com",
    "altssh.gitlab.com": "gitlab.com",
    "altssh.bitbucket.org": "bitbucket.org",
}
"""Hosts that serve the same by another port."""
_AZURE = re.compile(r"v3/([^/]+)/([^/]+)/([^/]+)")
_THIS_MACHINE = re.compile(r"localhost|127(?:\.\d+){3}|\[?::1\]?|0\.0\.0\.0")


def portable(address: str) -> str | None:
    """Return a remote's address as ``host/path``, whichever way it is spelled; None for one on this machine alone.

    The scheme, the user, a password, the port, a query and ``.git`` are left out, and the host is in lower case.
    """
    if _HELPER.match(address):
        return None
    host, path = _parts(address)
    if not host or _THIS_MACHINE.fullmatch(host):
        return None
    host = _ALIASES.get(host, host)
    path = "/".join(part for part in path.split("/") if part not in ("", "."))
    path = path.removesuffix(".git").rstrip("/")
    if host == "ssh.dev.azure.com" and (found := _AZURE.fullmatch(path)):
        host, path = "dev.azure.com", f"{found[1]}/{found[2]}/_git/{found[3]}"
    return f"{host}/{path}" if path and ".." not in path.split("/") else None


def _parts(address: str) -> tuple[str, str]:
    """Return the host, in lower case, and the path; "" for both where the address names none."""
    if "://" in address:
        from urllib.parse import unquote, urlsplit  # which a hook need not load

        try:
            parts = urlsplit(address)
            host = parts.hostname or ""
        except ValueError:
            return "", ""
        if parts.scheme.lower() not in _SCHEMES:
            return "", ""
        return host.lower().rstrip("."), unquote(parts.path)
    if found := _SHORT.fullmatch(address):
        return found[1].strip("[]").lower().rstrip("."), found[2]
    return "", ""
