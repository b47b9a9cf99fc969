"""Where this system keeps a user's files."""

import os
from collections.abc import Mapping
from pathlib import Path

__all__ = ["config_file", "default_url"]


def default_url() -> str:
    """Return ``memorist.db`` in the folder where this system keeps a user's data."""
    from platformdirs import user_data_path

    return str(user_data_path("memorist", appauthor=False) / "memorist.db")


def config_file(env: Mapping[str, str] | None = None) -> Path:
    """Return the TOML file of the command's settings, there or not: MEMORIST_CONFIG, else ``config.toml`` in the
    folder where this system keeps a user's configuration."""
    from platformdirs import user_config_path

    named = (os.environ if env is None else env).get("MEMORIST_CONFIG", "").strip()
    return Path(named).expanduser() if named else user_config_path("memorist", appauthor=False) / "config.toml"
