"""Find words in prose, docstrings, comments and texts that this project does not use, in the folders that are clean already.

``pyproject.toml`` lists these under ``[tool.voice]``. CONTRIBUTING says how prose is written.
"""

from __future__ import annotations

import io
import re
import sys
import tokenize
import tomllib
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
INSTEAD = {
    r"whoever": "anyone who, or name the person",
    r"(a)?mend(s|ed|ing)?": "fix",
    r"told(?! (apart|the truth))": "shown, reported, revealed",
    r"what is more": "also",
    r"at hand": "current",
    r"for good(?! reason)": "permanently",
    r"by itself": "automatically, alone",
    r"beside": "next to, compared with",
    r"liars?": "dishonest respondents, false reports",
    r"in bulk": "vectorized, in batches",
    r"well kept": "maintained",
    r"held (by a test|to)": "checked by, tested against",
    r"seals? (a|the|this|that) (period|day)": "close the period",
    r"made-up reports?": "false reports",
    r"margins? of error|error bars?": "confidence interval, standard error",
    r"privacy loss budget": "privacy budget",
    r"participants?": "respondents",
}
"""Patterns of words, and what to write. One term per thing: the glossary has the terms."""
CODE = re.compile(r"^```.*?^```$|``[^`]+``|`[^`]+`|\]\([^)]+\)|\{[\w.]+\}|^\s*(>>>|\.\.\.) [^\n]*$", re.MULTILINE | re.DOTALL)
"""What is no prose: code, names in braces, examples with prompts, and where links lead."""
PINNED = re.compile(r"this device has told enough|Nothing has been told|Whoever restores an old copy")
"""Texts that ``vectors/`` hold byte for byte."""


def prose(path: Path) -> str:
    """Return what people read in a file, each line where it was: text without code, and of Python the strings and comments."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".py":
        kept = [""] * (text.count("\n") + 2)
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            name = token.string.strip("\"'").isidentifier()  # a key or a column, not prose
            if token.type in (tokenize.STRING, tokenize.COMMENT) and not name:
                for number, line in enumerate(token.string.split("\n"), token.start[0] - 1):
                    kept[number] += f" {line}"
        text = "\n".join(kept)
    if path.name == "CHANGELOG.md":
        text = "\n## ".join(text.split("\n## ")[:2])
    return CODE.sub(lambda code: "\n" * code[0].count("\n"), PINNED.sub("", text))


def found(path: Path) -> Iterator[str]:
    """Yield each place with a word that is not used, and what to write instead."""
    text = prose(path)
    for words, instead in INSTEAD.items():
        for place in re.finditer(rf"\b({words.replace(' ', chr(92) + 's+')})\b", text, re.IGNORECASE):
            line = text.count("\n", 0, place.start()) + 1
            yield f"{path.relative_to(ROOT)}:{line}: {' '.join(place[0].split())!r}; write: {instead}"


def files(names: list[str]) -> list[Path]:
    """Return the files that names of files and folders stand for."""
    paths = [ROOT / name for name in names]
    return [file for path in paths for file in ([path] if path.is_file() else sorted([*path.rglob("*.md"), *path.rglob("*.py")]))]


def main(names: list[str]) -> int:
    """Print what is found in the given files and folders, or in those of ``pyproject.toml``; return the exit status."""
    clean = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["voice"]["clean"]
    complaints = [line for path in files(names or clean) for line in found(path)]
    print("\n".join(complaints), end="\n" if complaints else "")
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
