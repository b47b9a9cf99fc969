"""The command ``memorist``: each subcommand is one call of a verb."""

__all__ = ["main"]


def main() -> None:
    """Run the command line."""
    from memorist.cli.app import app  # here, so that importing this package loads no library

    app(prog_name="memorist")
