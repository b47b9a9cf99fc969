"""A clock that tests move on, so that none of them waits for time to pass."""

from datetime import datetime, timedelta

from memorist.records.times import now


class MovedClock:
    """Tells the system's time, moved on by what `advance` was told."""

    def __init__(self) -> None:
        self._ahead = timedelta()

    def __call__(self) -> datetime:
        return now() + self._ahead

    def advance(self, seconds: float) -> None:
        self._ahead += timedelta(seconds=seconds)
