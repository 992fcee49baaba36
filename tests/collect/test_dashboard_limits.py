"""What one visitor costs the others: files in pieces, whatever lies on the shelf, and a planner that nobody else waits for."""

from __future__ import annotations

import asyncio
import re
import shutil
from concurrent.futures import ThreadPoolExecutor

from deniable.collect.dashboard import plan_figures
from deniable.collect.dashboard.layout import Visit
from deniable.collect.dashboard.views import Views
from deniable.collect.publication.export import publish_reports
from tests.collect.asgi import PATIENCE
from tests.collect.looking import dashboard, fill, get, path_of

PIECE = 1 << 16
"""The most of a file that is sent, and held, at once."""


def pieces_of(response):
    """What an answer sends, piece by piece."""
    sent = []

    async def send(event):
        sent.append(event.get("body", b""))

    asyncio.run(response({"type": "http", "method": "GET", "headers": [], "asgi": {"spec_version": "2.4"}}, None, send))
    return sent[1:]


def test_a_publication_is_sent_in_pieces_from_folders_of_any_name(tmp_path):
    shelf = tmp_path / "shelf"
    with dashboard(tmp_path, publications=str(shelf)) as site:
        fill(site)
        site.collector.seal(site.task.id, 0)
        publish_reports(site.collector, site.task.id, shelf / "may 2026 #1?é%2F")
        page = get(site, path_of(site.task)).text
        links = re.findall(rf'href="({path_of(site.task)}/open/[^"]+)"', page)
        assert len(links) > 4
        assert {get(site, link).status_code for link in links} == {200}
        (folder,) = shelf.iterdir()
        large = folder / "estimates.json"
        large.write_bytes(bytes(range(256)) * (10 * PIECE // 256))  # whoever downloads it checks it; it is sent as it is
        views = Views(site.collector, str(shelf), 10.0)
        pieces = pieces_of(views.publication(Visit(path="", task=site.task.id, asset=f"{folder.name}/{large.name}")))
        assert b"".join(pieces) == large.read_bytes()
        assert max(map(len, pieces)) == PIECE
        large.unlink()
        assert [get(site, link).status_code for link in links if link.endswith(large.name)] == [404]
        large.mkdir()
        assert [get(site, link).status_code for link in links if link.endswith(large.name)] == [404]


def test_whatever_lies_on_the_shelf_takes_no_page_down(tmp_path):
    shelf = tmp_path / "shelf"
    with dashboard(tmp_path, publications=str(shelf)) as site:
        fill(site)
        site.collector.seal(site.task.id, 0)
        publish_reports(site.collector, site.task.id, shelf / "good")
        (shelf / "folder" / "manifest.json").mkdir(parents=True)
        (shelf / "link").mkdir()
        (shelf / "link" / "manifest.json").symlink_to(tmp_path / "nowhere")
        shutil.copytree(shelf / "good", shelf / "not text \udcff")
        answer = get(site, path_of(site.task))
        assert answer.status_code == 200
        assert answer.text.count("Open publication ") == 1


def test_the_planner_keeps_nobody_else_waiting_and_says_when_it_is_busy(site):
    with ThreadPoolExecutor(200) as pool:
        asked = []
        with plan_figures._turn:  # a plan that takes as long as it likes
            while not any(each.done() for each in asked):
                assert len(asked) < 200
                asked.append(pool.submit(get, site, f"/plan{'/live' if len(asked) % 2 else ''}?n={1000 + len(asked)}"))
                for other in ("/", "/assets/style.css"):
                    assert pool.submit(get, site, other).result(PATIENCE).status_code == 200
            refused = [each.result() for each in asked if each.done()]
        assert {(answer.status_code, answer.headers["retry-after"]) for answer in refused} == {(503, "1")}
        later = [each.result(PATIENCE).status_code for each in asked]
    assert set(later) == {200, 503}
    assert later.count(200) >= 9  # the one at work, and those that waited when it was too much
