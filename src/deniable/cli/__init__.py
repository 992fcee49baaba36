"""The ``deniable`` command. Without the extra ``cli`` it says how to get it."""

from __future__ import annotations

import os
import sys

from deniable.cli.ending import plain_end


def main() -> None:
    """Run the command line, reading no more of it than was asked for."""
    with plain_end():
        from deniable.cli.app import command_line, outline
        from deniable.cli.commands import COMMANDS

        completing = "_DENIABLE_COMPLETE" in os.environ
        words = os.environ.get("COMP_WORDS", os.environ.get("_TYPER_COMPLETE_ARGS", "")).split() if completing else sys.argv
        named = [name for name in words[1:2] if name in COMMANDS]
        app = command_line(*named) if named else outline()
        app()
