"""The command ``memorist``: each subcommand is one call of a verb."""

import sys

__all__ = ["main"]


def main() -> None:
    """Run the command line."""
    if sys.argv[1:2] == ["hook"] and not {"-h", "--help"} & {*sys.argv}:
        from memorist.cli.hooks.run import run  # an agent waits for it: no library is loaded for it here

        run(sys.argv[2:])
    try:
        from memorist.cli.app import app  # here, so that importing this package loads no library

        app(prog_name="memorist")
    except KeyboardInterrupt:  # while the libraries are loaded; commands handle Ctrl-C themselves
        raise SystemExit(130) from None
