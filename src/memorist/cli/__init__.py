"""The command ``memorist``: each subcommand is one call of a verb."""

__all__ = ["main"]


def main() -> None:
    """Run the command line."""
    try:
        from memorist.cli.app import app  # here, so that importing this package loads no library

        app(prog_name="memorist")
    except KeyboardInterrupt:  # while the libraries are loaded; commands tell it themselves
        raise SystemExit(130) from None
