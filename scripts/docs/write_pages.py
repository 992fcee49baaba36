"""Run pages of the docs and write what they print now into them: write_pages.py PAGE [PAGE ...]

An output that still agrees keeps its form. One that does not is replaced; lines with ``...`` stay where the lines around them are found
again. Look at the difference before you commit it.
"""

from __future__ import annotations

import difflib
import doctest
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))
from tests.pages import FLAGS, Block, Page  # noqa: E402  # a folder beside scripts


class Checker(doctest.OutputChecker):
    """Accepts every output, and keeps the last one that was not what the page says."""

    got: str | None = None

    def check_output(self, want: str, got: str, optionflags: int) -> bool:
        if not super().check_output(want, got, optionflags):
            self.got = got
        return True


class Draft(Page):
    """A page with the outputs of this run."""

    def __init__(self, path: Path, folder: Path) -> None:
        super().__init__(path, folder)
        self.text, self.end = path.read_text(), 0

    def _compare(self, block: Block, source: str, want: str, got: str) -> None:
        if not doctest.OutputChecker().check_output(want, got, FLAGS):
            self._replace(source, want, got)

    def _example(self, block: Block, example: doctest.Example) -> None:
        checker = Checker()
        test = doctest.DocTest([example], self.names, self.path.name, str(self.path), block.line - 1, None)
        test.globs = self.names
        doctest.DocTestRunner(checker, verbose=False, optionflags=FLAGS).run(test, out=sys.stderr.write, clear_globs=False)
        if checker.got is not None:
            self._replace(example.source.splitlines()[0], example.exc_msg or example.want, checker.got)

    def _replace(self, source: str, want: str, got: str) -> None:
        for original, port in self.ports.items():
            source, want, got = (each.replace(port, original) for each in (source, want, got))
        got = updated(want, got)
        after = max(self.text.find(source.splitlines()[0], self.end), self.end)
        if want:
            self.end = self.text.index(want, after)
            self.text = f"{self.text[: self.end]}{got}{self.text[self.end + len(want) :]}"
        else:
            self.end = self.text.index("```\n", after) + len("```\n")
            self.text = f"{self.text[: self.end]}\n```text\n{got}```\n{self.text[self.end :]}"
        self.end += len(got)


def updated(want: str, got: str) -> str:
    r"""What was printed, elided where the page elides it.

    >>> updated("a b 1\n...\nz 2\n", "a b 3\nc\nd\nz 4\n")
    'a b 3\n...\nz 4\n'
    """
    lines, found = [line.rstrip() for line in got.splitlines()], []
    for line in want.splitlines():
        near = [] if "..." in line else difflib.get_close_matches(line, lines, 1, 0.5)
        found += near or ([line] if "..." in line else [])
    elided = "".join(f"{line}\n" for line in found)
    whole = "".join(f"{line}\n" for line in lines)
    return elided if "..." in want and doctest.OutputChecker().check_output(elided, got, FLAGS) else whole


def main(names: list[str]) -> None:
    """Each page in an empty folder of its own."""
    for name in names:
        path = Path(name).resolve()
        with TemporaryDirectory() as folder:
            page = Draft(path, Path(folder))
            page.run()
        changed = page.text != path.read_text()
        path.write_text(page.text)
        sys.stdout.write(f"{'changed  ' if changed else 'the same '} {name}\n")


if __name__ == "__main__":
    main(sys.argv[1:])
