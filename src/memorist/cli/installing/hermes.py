"""The plugin for Hermes Agent: a folder with a manifest, and a module that registers the memory provider."""

from memorist import __version__
from memorist.cli.installing.edits import MARK

MANIFEST = f"""\
# {MARK}
name: memorist
version: "{__version__}"
description: Long-term memory, kept on this machine
"""


def hermes_plugin(user: str, db: str | None, tenant: str | None) -> str:
    """Return the module's text.

    Args:
        user: whose memory it is at a terminal.
        db: which store, where it is not the default one.
        tenant: the tenant, where it is not the default one.
    """
    return f'''\
# {MARK}
"""Memorist as the MemoryProvider of Hermes Agent."""

import logging


def register(ctx):
    try:
        from memorist.adapters.hermes import MemoristProvider
    except ImportError as error:
        text = "memorist cannot be loaded; install it into the environment of Hermes: %s"
        logging.getLogger("memorist").error(text, error)
        raise
    ctx.register_memory_provider(MemoristProvider({db!r}, user={user!r}, tenant={tenant!r}))
'''
