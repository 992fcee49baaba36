"""What the tests of devices share."""

from __future__ import annotations

import pytest

from tests.client.fake import ROUNDS, TASK, FakeCollector


@pytest.fixture
def collector() -> FakeCollector:
    return FakeCollector(TASK, ROUNDS)
