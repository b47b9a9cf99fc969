"""What embedders and chat models share of an OpenAI-compatible endpoint: client library, address, failures."""

from __future__ import annotations

from base64 import b64encode
from typing import TYPE_CHECKING, Any
from urllib.parse import SplitResult, unquote, urlsplit

from memorist.errors import needs

if TYPE_CHECKING:
    import openai


def openai_library(extra: str) -> Any:
    """Return the module `openai`.

    Raises:
        MissingExtraError: it is not installed; the text names the extra.
    """
    with needs("openai", extra):
        import openai
    return openai


def address(url: str) -> str:
    """Return a URL without a user's name, a password and a query, which no error may repeat."""
    return _nameless(url)._replace(query="", fragment="").geturl()


def _nameless(url: str) -> SplitResult:
    parts = urlsplit(url)
    return parts._replace(netloc=parts.netloc.rpartition("@")[2])


def client_settings(base_url: str | None, api_key: str | None, *, timeout: float, max_retries: int) -> dict[str, Any]:
    """Return what the library's client is made with. Only OpenAI's own endpoint gets OPENAI_API_KEY."""
    settings: dict[str, Any] = {"timeout": timeout, "max_retries": max_retries}
    if base_url:
        # The client would fall back to OPENAI_API_KEY, and it refuses to start without any key.
        settings |= {"base_url": _nameless(base_url).geturl(), "api_key": api_key or "none"}
        parts = urlsplit(base_url)
        if parts.username or parts.password:  # no part of the URL, which httpx logs
            name = b64encode(f"{unquote(parts.username or '')}:{unquote(parts.password or '')}".encode()).decode()
            settings["default_headers"] = {"Authorization": f"Basic {name}"}
    elif api_key:
        settings["api_key"] = api_key
    return settings


def reason(error: openai.OpenAIError | ValueError, name: str, timeout: float) -> str:
    """Return one sentence on what went wrong with a call of the model `name`, and what to do.

    Args:
        error: the library's own, or a ValueError for an answer that is not JSON.
        name: what is asked, as errors name it.
        timeout: seconds that the call could take.
    """
    import openai

    if isinstance(error, openai.APITimeoutError):
        return f"{name} did not answer within {timeout:g} s"
    if isinstance(error, openai.APIConnectionError):
        return f"{name} cannot be reached: {error.__cause__ or error}"
    if isinstance(error, openai.AuthenticationError | openai.PermissionDeniedError):
        return f"{name} rejected the API key (HTTP {error.status_code}); check api_key"
    if isinstance(error, openai.NotFoundError):
        return f"{name} was not found; check the model's name and the base URL: {error.message}"
    if isinstance(error, openai.APIStatusError):
        return f"{name} answered HTTP {error.status_code}: {error.message}"
    return f"{name} returned an unreadable response: {error}"
