"""Attacks on a curator who answers questions about a table: on generated data, with the truth known.

Each works on answers that are exact, "anonymized", audited, or noisy without a plan; none works on a session. How far none works is a
theorem: ``most_correct`` of the epsilon that the session promises.
"""

from deniable.lab.curator_attacks.auditor import Auditor as Auditor
from deniable.lab.curator_attacks.auditor import unravel as unravel
from deniable.lab.curator_attacks.counts import exact_counts as exact_counts
from deniable.lab.curator_attacks.counts import most_correct as most_correct
from deniable.lab.curator_attacks.counts import rounded_counts as rounded_counts
from deniable.lab.curator_attacks.counts import session_counts as session_counts
from deniable.lab.curator_attacks.differencing import differencing as differencing
from deniable.lab.curator_attacks.linkage import clinic as clinic
from deniable.lab.curator_attacks.linkage import guess_by_counting as guess_by_counting
from deniable.lab.curator_attacks.linkage import link as link
from deniable.lab.curator_attacks.reconstruction import draw_groups as draw_groups
from deniable.lab.curator_attacks.reconstruction import reconstruct as reconstruct
