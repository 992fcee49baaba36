"""Deployments as named specs, with the epsilons that they really have.

The parameters are the published ones. The hash functions are this project's, so reports are not compatible with the original's.

``apple_emoji``
    Apple's count of emoji: a count-mean sketch with 65,536 functions of 1024 cells and epsilon = 4 for each report ("Learning with
    Privacy at Scale", 2017). A device sends at most one a day, so the promise that a person really has is 4 for every day of taking
    part: 28 for a week, 120 for a month. The published limit is about one report, not about a person.

``chrome_2014``
    Chrome's RAPPOR for domain names, with the constants of Chromium's source of 2014: 128 bits, 2 hash functions, 128 cohorts, f = 1/2,
    p = 1/4, q = 3/4. One report has epsilon = 2.043; all reports about one value, ever, have epsilon = 4 ln 3 = 4.394; another value
    costs another 4.394, and that it came is not hidden. (The 0.534 that is often quoted is one report with f = 3/4, p = 1/2, the paper's
    home page experiment.)

``windows_2017``
    Microsoft's usage counters: seconds of use in six hours, one bit, epsilon = 1, alpha-point rounding to none or all, the kept bit flipped
    with probability 0.2 in each report. (The six hours are quoted second-hand, and not verified in the paper; no epsilon here depends on
    them.) One report has epsilon = 0.569, and one report of each of any number of apps together 1.337, since their seconds add up to six
    hours at most. (The published pair is 0.686 and 1.672; it leaves out a factor of 1 - 2 gamma.) Over a lifetime it is 2 for every app,
    between histories that every alpha rounds alike in the same reports. Between others it is more: none and all in turn, against none and
    one second in turn, reaches 2.19 after four reports and 9.94 after twenty.
"""

from __future__ import annotations

from deniable.client.cms import CMS
from deniable.client.one_bit_mean_pm import OneBitMeanPM
from deniable.client.rappor import RAPPOR
from deniable.contract.domain import Text

apple_emoji = CMS(domain=Text(64), epsilon=4.0, hashes=1 << 16, width=1 << 10)
chrome_2014 = RAPPOR.from_probabilities(f="1/2", p="1/4", q="3/4", domain=Text(256), bits=128, hashes=2, cohorts=128)
windows_2017 = OneBitMeanPM.with_gamma("1/5", low=0, high=6 * 60 * 60, epsilon=1.0)
