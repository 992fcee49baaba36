"""Deployments as named specs, with the epsilons that they really have.

The parameters are the published ones. The hash functions are this project's, so reports are not compatible with the original's.

``apple_emoji``
    Apple's count of emoji: a count-mean sketch with 65,536 functions of 1024 cells and epsilon = 4 for each report ("Learning with
    Privacy at Scale", 2017). A device sends at most one a day, so the promise that a person really has is 4 for every day of taking
    part: 28 for a week, 120 for a month. The published limit is about one report, not about a person.
"""

from __future__ import annotations

from deniable.client.cms import CMS
from deniable.contract.domain import Text

apple_emoji = CMS(domain=Text(64), epsilon=4.0, hashes=1 << 16, width=1 << 10)
