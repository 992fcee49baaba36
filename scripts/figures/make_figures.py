"""Draw the figures of the docs anew, all or some: each file in docs/figures has one recipe here.

make_figures.py                       # all of them
make_figures.py --only oue            # one
make_figures.py --only 'lab-pem-*'    # some
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from fnmatch import fnmatch
from pathlib import Path

import figures_of_delta
import figures_of_distributions
import figures_of_experiments
import figures_of_means
import figures_of_oracles
import figures_of_pages
import figures_of_series
from figure_frame import Recipe

FOLDER = Path(__file__).parents[2] / "docs" / "figures"
GROUPS: tuple[dict[str, Recipe], ...] = (
    figures_of_pages.FIGURES,
    figures_of_delta.FIGURES,
    figures_of_oracles.FIGURES,
    figures_of_means.FIGURES,
    figures_of_distributions.FIGURES,
    figures_of_series.FIGURES,
    figures_of_experiments.FIGURES,
)


def recipes() -> dict[str, Recipe]:
    """Every figure's name, which is its file's, and how it is drawn; two recipes for one file are an error."""
    twice = [name for name, times in Counter(name for group in GROUPS for name in group).items() if times > 1]
    if twice:
        raise ValueError(f"more than one recipe for {', '.join(twice)}")
    return {name: recipe for group in GROUPS for name, recipe in group.items()}


def main(arguments: list[str]) -> None:
    """Draw what is asked for, and say what it takes."""
    parser = argparse.ArgumentParser(description="Draw the figures of the docs anew.")
    parser.add_argument("--only", metavar="NAME", action="append", help="a figure, or a pattern such as 'lab-*'; may be repeated")
    parser.add_argument("--list", action="store_true", help="name all figures, and draw none")
    parser.add_argument("--out", type=Path, default=FOLDER, metavar="FOLDER", help="where they go, docs/figures if left out")
    options = parser.parse_args(arguments)
    known = recipes()
    chosen = [name for name in known if not options.only or any(fnmatch(name, pattern) for pattern in options.only)]
    if not chosen:
        parser.error(f"no figure is called {' or '.join(options.only)}: --list names all {len(known)}")
    if options.list:
        sys.stdout.write("\n".join(chosen) + "\n")
        return
    start = time.perf_counter()
    for i, name in enumerate(chosen, 1):
        before = time.perf_counter()
        known[name]().save(options.out / f"{name}.svg")
        sys.stdout.write(f"{i:3d} of {len(chosen)}  {name:30s} {time.perf_counter() - before:6.1f} s\n")
        sys.stdout.flush()
    sys.stdout.write(f"{len(chosen)} figures in {(time.perf_counter() - start) / 60:.1f} minutes\n")


if __name__ == "__main__":
    main(sys.argv[1:])
