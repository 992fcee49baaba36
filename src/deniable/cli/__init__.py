"""The ``deniable`` command. Without the extra ``cli`` it says how to get it."""

from __future__ import annotations

import os
import sys


def main() -> None:
    """Run the command line, or name the extra that it needs."""
    try:
        from deniable.cli.app import COMMANDS, command_line, completion_line

        completing = "_DENIABLE_COMPLETE" in os.environ
        words = os.environ.get("COMP_WORDS", os.environ.get("_TYPER_COMPLETE_ARGS", "")).split() if completing else sys.argv
        named = [name for name in words[1:2] if name in COMMANDS]
        app = completion_line() if completing and not named else command_line(*named)
    except ModuleNotFoundError as error:
        if (error.name or "").startswith("deniable"):
            raise
        sys.exit(f'The deniable command needs {error.name}. Run: pip install "deniable[cli]"')
    app()
