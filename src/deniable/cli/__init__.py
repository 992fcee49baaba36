"""The ``deniable`` command. Without the extra ``cli`` it names the extra; ``--version`` and ``doctor`` work all the same."""

from __future__ import annotations

import os
import sys

from deniable.cli.exits import plain_end


def main() -> None:
    """Run the command line, importing only the command that was called."""
    with plain_end():
        if sys.argv[1:] == ["--version"]:
            from deniable import __version__

            sys.stdout.write(f"deniable {__version__}\n")
            return
        try:
            from deniable.cli.app import command_line, outline
        except ModuleNotFoundError as error:
            if sys.argv[1:2] != ["doctor"] or (error.name or "").startswith("deniable"):
                raise
            from deniable.cli.installation import tell

            raise SystemExit(tell("--json" in sys.argv)) from None
        from deniable.cli.commands import COMMANDS

        completing = "_DENIABLE_COMPLETE" in os.environ
        words = os.environ.get("COMP_WORDS", os.environ.get("_TYPER_COMPLETE_ARGS", "")).split() if completing else sys.argv
        named = [name for name in words[1:] if not name.startswith("-")][:1]  # also behind "--"
        app = command_line(*named) if set(named) <= COMMANDS.keys() and named else outline()
        app()
