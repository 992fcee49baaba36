"""The open publications of a collector: what ``deniable export --open`` wrote, found by its signed manifest and served unchanged."""

from __future__ import annotations

from os import stat_result
from pathlib import Path
from stat import S_ISREG
from typing import NamedTuple
from urllib.parse import quote

from deniable.collect.dashboard.html import Element, element, quoted
from deniable.collect.kit.answers import Refusal
from deniable.collect.publication.publication_files import read_manifest
from deniable.collect.publication.publication_folder import MANIFEST
from deniable.contract.task import Task
from deniable.errors import DeniableError


class OpenPublication(NamedTuple):
    """A published folder of a task: its name, its files, and their number of reports."""

    name: str
    files: tuple[str, ...]
    reports: int


class PublicationShelf:
    """The publications in one folder. Only files listed in a manifest that the task's own key signed are ever read."""

    def __init__(self, folder: str) -> None:
        self._folder = Path(folder) if folder else None
        self._read: dict[tuple[Path, int, bytes], OpenPublication | None] = {}

    def of(self, task: Task) -> list[OpenPublication]:
        """Return a task's publications, by name."""
        if self._folder is None or not self._folder.is_dir():
            return []
        found = [self._open(path, task) for path in sorted(self._folder.glob(f"*/{MANIFEST}"))]
        return [opened for opened in found if opened is not None]

    def find(self, task: Task, address: str) -> tuple[Path, stat_result]:
        """Return the path and status of a publication's file, from its folder and name. It is sent in pieces, never whole."""
        name, _, file = address.partition("/")
        if self._folder is None or not any(opened.name == name and file in opened.files for opened in self.of(task)):
            raise Refusal(404, "not_found", "no such file")
        path = self._folder / name / file
        try:
            about = path.stat()
        except OSError as error:
            raise Refusal(404, "not_found", "this file is listed, but missing") from error
        if not S_ISREG(about.st_mode):
            raise Refusal(404, "not_found", "this file is listed, but missing")
        return path, about

    def _open(self, manifest: Path, task: Task) -> OpenPublication | None:
        try:
            key = manifest, manifest.stat().st_mtime_ns, task.id
            data = b"" if key in self._read else manifest.read_bytes()
        except OSError:  # a folder, a dangling link or an unreadable file: checked again next time
            return None
        if key not in self._read:
            try:
                manifest.parent.name.encode()  # a name must fit into an address
                content = read_manifest(data, task)
                reports = sum(int(batch["reports"]) for batch in content["batches"])
                self._read[key] = OpenPublication(manifest.parent.name, (MANIFEST, *content["files"]), reports)
            except (DeniableError, KeyError, TypeError, ValueError):  # of another task, or not a publication
                self._read[key] = None
        return self._read[key]


def publication_list(task: Task, opened: list[OpenPublication]) -> list[Element]:
    """Return the publications that anyone can recount, with their files."""
    here = f"/tasks/{task.id.hex()}/open"
    told = []
    for folder in opened:
        files = [element("li", element("a", file, href=f"{here}/{quote(folder.name)}/{quote(file)}")) for file in folder.files]
        summary = element("summary", "Open publication ", quoted(folder.name), f": all {folder.reports:,} reports, for anyone to recount")
        how = element(
            "p", "Download the files into one folder, then run ", element("code", f"deniable verify FOLDER --task {task.id.hex()}")
        )
        told.append(element("details", summary, how, element("ul", *files, class_="files")))
    return told
