"""The command ``memorist``: each subcommand is one call of a verb."""

import gc
import io
import os
import sys

from memorist import __version__

__all__ = ["main"]


def main() -> None:
    """Run the command line."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        stream = getattr(sys, name)
        if stream is None:  # the stream was closed before the command began
            setattr(sys, name, os.fdopen(os.open(os.devnull, os.O_RDWR), mode, encoding="utf-8"))
        # a character that the terminal cannot show is no reason to fail
        elif mode == "w" and isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")
    gc.set_threshold(100_000)  # garbage collection during the imports takes a tenth of the time of a short command
    if sys.argv[1:2] == ["hook"] and not {"-h", "--help"} & {*sys.argv}:
        from memorist.cli.hooks.run import run  # an agent waits for the hook, so no library is loaded here

        run(sys.argv[2:])
    if sys.argv[1:] == ["--version"]:
        sys.stdout.write(f"memorist {__version__}\n")
        return
    try:
        from memorist.cli.app import app  # here, so that importing this package loads no library

        app(prog_name="memorist")
    except KeyboardInterrupt:  # while the libraries are loaded; commands handle Ctrl-C themselves
        raise SystemExit(130) from None
    finally:
        gc.freeze()  # else the interpreter collects garbage among all modules once more before it ends
