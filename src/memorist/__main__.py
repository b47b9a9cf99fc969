"""``python -m memorist``: the command, where scripts are not on the path."""

from memorist.cli import main

main()
