"""The ``deniable`` command. Without the extra ``cli`` it says how to get it."""

from __future__ import annotations

import sys


def main() -> None:
    """Run the command line, or name the extra that it needs."""
    try:
        from deniable.cli.app import COMMANDS, command_line

        app = command_line(*(name for name in sys.argv[1:2] if name in COMMANDS))
    except ModuleNotFoundError as error:
        if (error.name or "").startswith("deniable"):
            raise
        sys.exit(f'The deniable command needs {error.name}. Run: pip install "deniable[cli]"')
    app()
