"""The ``deniable`` command. Without the extra ``cli`` it says how to get it."""

from __future__ import annotations

import sys

OPERATION = ("serve", "shuffle", "token", "rebuild")
"""Commands around a collector's or a shuffler's process, which should be up at once: what only the others need is not even read."""


def main() -> None:
    """Run the command line, or name the extra that it needs."""
    try:
        if sys.argv[1:2] and sys.argv[1] in OPERATION:
            from deniable.cli.operation import operation as app
        else:
            from deniable.cli.app import app
    except ModuleNotFoundError as error:
        if (error.name or "").startswith("deniable"):
            raise
        sys.exit(f'The deniable command needs {error.name}. Run: pip install "deniable[cli]"')
    app()
