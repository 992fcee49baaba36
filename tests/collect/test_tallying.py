"""Counting open folders: what cannot be read is named, and keeps nothing else from being counted."""

from __future__ import annotations

from pathlib import Path

from deniable.client import GRR
from deniable.client.bulletin import report_name
from deniable.collect.publication.open_tally import tally_folders
from tests.collect.crowd import NOON, envelope, survey_task


def test_a_strangers_file_that_cannot_be_opened_is_named_and_the_rest_is_counted(tmp_path, monkeypatch):
    """As another user's without permission, which nothing on a disk is to root: so opening it is made to fail."""
    task = survey_task(bytes(32), GRR(domain_size=4, epsilon=1.0))
    for _ in range(6):
        data = envelope(task, 1).pack()
        (tmp_path / report_name(data)).write_bytes(data)
    expected = tally_folders([tmp_path], task, NOON + 10)
    foreign = tmp_path / report_name(b"a stranger's")
    foreign.write_bytes(b"a stranger's")
    opened = Path.open

    def forbidden(path, *arguments, **options):
        if path == foreign:
            raise PermissionError(13, "Permission denied", str(path))
        return opened(path, *arguments, **options)

    monkeypatch.setattr(Path, "open", forbidden)
    found = tally_folders([tmp_path], task, NOON + 10)
    assert (found.reports, found.tallies) == (6, expected.tallies)
    assert found.refused == {"unreadable": (foreign.name,)}
