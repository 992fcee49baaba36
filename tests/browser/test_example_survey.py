"""Pages of plain HTML: the example's, answered as its README says, and script tags of every kind that load the package as it is packed."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
from urllib.parse import urlsplit

import pytest

import deniable as dn
from tests.browser.device import serving
from tests.conftest import ROOT
from tests.packed import unpacked_client

CLIENT = "./deniable/src/index.js"
USE = """const spec = specFromJson(await (await fetch("./spec.json")).text());
document.querySelector("output").textContent = spec.domain.labels[await spec.randomize("tea")];"""
(README,) = re.findall(r"```html\n(.*?)```", (ROOT / "clients" / "js" / "README.md").read_text(), re.DOTALL)
PAGES = {
    "as in the README": README,
    "from a file": '<output></output><script type="module" src="./main.js"></script>',
    "by its name": f"""<output></output><script type="importmap">{{ "imports": {{ "deniable": "{CLIENT}" }} }}</script>
        <script type="module">import {{ specFromJson }} from "deniable"; {USE}</script>""",
    "by a classic script": f"""<output></output>
        <script>(async () => {{ const {{ specFromJson }} = await import("{CLIENT}"); {USE} }})();</script>""",
}


def test_a_page_of_plain_html_answers(context):
    command = [sys.executable, ROOT / "examples" / "survey" / "run.py", "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            address = process.stdout.readline().split()[-1]
            page = context.new_page()
            page.goto(address)
            page.get_by_role("button", name="cocoa").click()
            page.get_by_text("Your randomized answer is sent.").wait_for()
            assert "Randomized answers so far: 1." in page.locator("#ledger").inner_text()
            page.get_by_role("button", name="tea").click()  # the task asks once
            page.get_by_text("answers: got 2").wait_for()
        finally:
            process.send_signal(signal.SIGINT)


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    """The address of a site that has the package as npm packs it, a spec, and the pages."""
    folder = tmp_path_factory.mktemp("site")
    unpacked_client(folder)
    (folder / "spec.json").write_bytes(dn.GRR(domain=dn.Categories("tea", "coffee", "water"), epsilon=1.0).canonical)
    (folder / "main.js").write_text(f'import {{ specFromJson }} from "{CLIENT}"; {USE}')
    for name, page in PAGES.items():
        (folder / f"{name}.html").write_text(f'<!doctype html><meta charset="utf-8">{page}')
    with serving(folder) as address:
        yield address


@pytest.mark.parametrize("name", PAGES)
def test_a_script_tag_loads_the_packed_package(pages, context, name):
    page, asked, complaints = context.new_page(), [], []
    page.on("request", lambda request: asked.append(request.url))
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.goto(f"{pages}/{name}.html")
    page.wait_for_function("() => document.querySelector('output').textContent")
    assert page.locator("output").inner_text() in ("tea", "coffee", "water")
    assert complaints == []
    assert {urlsplit(address).netloc for address in asked} == {urlsplit(pages).netloc}
