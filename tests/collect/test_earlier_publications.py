"""Publications by the release before estimates had JSON of their own: verified as strictly as those of today, or refused with a hint.

They were written by that release, and stay as they are: a survey with counts, means and distributions, two searches, and a table.
"""

from __future__ import annotations

import json
import shutil

import pytest

from deniable.collect.publication.earlier_form import earlier_json, earlier_scales, is_earlier
from deniable.collect.publication.verification import _first_difference, read_publication, verify_publication
from deniable.errors import WireError
from tests.cli.running import run
from tests.collect.publishing import changes_of, resign
from tests.conftest import ROOT

GOLDEN = ROOT / "tests" / "data" / "collect"
NAMES = ("survey", "search", "items")


def published(name):
    return json.loads((GOLDEN / f"publication-2-{name}" / "estimates.json").read_text())


@pytest.mark.parametrize(("name", "reports"), [("survey", 420), ("search", 400), ("items", 320)])
def test_what_an_earlier_release_published_is_verified(name, reports):
    folder = GOLDEN / f"publication-2-{name}"
    assert is_earlier(published(name))
    assert verify_publication(folder, task=bytes.fromhex(published(name)["task"])).reports == reports
    assert f"verified {folder}: {reports} reports" in run("verify", folder).stdout


@pytest.mark.parametrize("name", NAMES)
def test_not_a_number_a_text_or_a_flag_of_it_can_be_changed(name):
    told = published(name)
    answer = read_publication(GOLDEN / f"publication-2-{name}").answer()
    again, scales = json.loads(json.dumps(earlier_json(answer, told))), earlier_scales(answer)
    assert _first_difference(told, again, scales) is None
    tried = 0
    for path, _, wrong in changes_of(told, 1e-3):
        if path == ("version",):
            continue
        tried += 1
        try:
            found = _first_difference(wrong, again, scales)
        except ValueError:  # a time that is none
            continue
        assert found is not None, path
    assert tried > 50


def test_a_forged_number_is_named_although_it_is_signed(tmp_path):
    shutil.copytree(GOLDEN / "publication-2-survey", tmp_path / "copy")
    told = published("survey")
    told["answers"][0]["rows"][1]["high_together"] += 0.5
    (tmp_path / "copy" / "estimates.json").write_text(json.dumps(told))
    resign(tmp_path / "copy")
    with pytest.raises(WireError, match=r"^estimates\.json, answers, 0, rows, 1, high_together"):
        verify_publication(tmp_path / "copy")
    mixed = published("survey")
    mixed["answers"][0]["estimate"] = {}  # of both forms: of none
    (tmp_path / "copy" / "estimates.json").write_text(json.dumps(mixed))
    resign(tmp_path / "copy")
    with pytest.raises(WireError, match=r"^estimates\.json, answers, 0"):
        verify_publication(tmp_path / "copy")


def test_a_result_with_a_chart_of_its_own_needs_its_own_release():
    folder = GOLDEN / "publication-2-ranges"
    assert read_publication(folder).reports == 240  # the reports are as signed, and give the signed tallies
    refused = run("verify", folder, status=1).stderr
    assert "verify it with the release that published it" in " ".join(refused.split())
