"""The text of an error as clients are told it, without where the store's server is and who logs in there."""

import logging
import re

from memorist.errors import StoreError, StoreUnavailableError

log = logging.getLogger("memorist.serve")

_URL = re.compile(r"\bpostgres(?:ql)?://\S+?(?=[.,;:)]*(?:\s|$))")


def told(error: Exception) -> str:
    """Return the text of an error; of a store that cannot be reached, the log has the whole."""
    text = str(error)
    if not isinstance(error, StoreError):
        return text
    if isinstance(error, StoreUnavailableError):
        log.error("the store is unavailable: %s", text)
    cause = error.__cause__
    said = str(cause).strip() if type(cause).__module__.partition(".")[0] == "psycopg" else ""
    if said:  # the server's own words name its host and the role
        text = text.replace(said, "see the server's log")
    return _URL.sub("the database", text)
