"""Learn what a crowd knows without learning about anyone in it.

The public names, the mechanisms among them, are loaded on first use: ``import deniable`` is quick and needs no other package.

Parameters that mean the same wherever they occur, in the order in which they come:

- ``values``: what the people hold, one entry each: the numbers of the answers from 0 on, or the answers themselves with a ``domain``.
- ``low``, ``high``: the ends of a range of numbers, both included.
- ``domain_size``: the number of possible answers, where they are called 0, 1, 2 and so on.
- ``domain``: the possible answers themselves, as in ``Categories("red", "green")``; instead of ``domain_size``.
- ``epsilon``: how much a person's data may change what is seen: no probability by more than a factor of e^epsilon. Less is more private.
- ``delta``: the probability with which that may fail.
- ``n``: the number of people.
- ``sensitivity``: how far one person can move the number that gets noise.
- ``neighbors``: what is hidden: "add-remove" hides whether a person is there at all, "replace" what the person holds.
- ``level``: how often an interval holds the truth: 0.95 is 95 %.
- ``simultaneous``: whether all intervals together hold the truth that often, rather than each by itself.
- ``source``: where randomness comes from: the operating system, unless a test brings fixed words.
- ``progress``: a function of two numbers, what is done and what there is to do, called now and then.
"""

from __future__ import annotations

import importlib
import sys
from typing import TYPE_CHECKING, Any

from deniable.rooms import EXTRAS, Room, open_room

if TYPE_CHECKING:  # for editors and type checkers; at run time _HOMES, the rooms and the mechanisms' own files decide
    from deniable import accounting as accounting
    from deniable import central as central
    from deniable import client as client
    from deniable import collect as collect
    from deniable import contract as contract
    from deniable import core as core
    from deniable import engines as engines
    from deniable import errors as errors
    from deniable import lab as lab
    from deniable import local as local
    from deniable import multiparty as multiparty
    from deniable import sealing as sealing
    from deniable import shuffle as shuffle
    from deniable import tasks as tasks
    from deniable import testing as testing
    from deniable.client import presets as presets
    from deniable.client.blh import BLH as BLH
    from deniable.client.bloom_rr import BloomRR as BloomRR
    from deniable.client.cms import CMS as CMS
    from deniable.client.dbit_flip_pm import DBitFlipPM as DBitFlipPM
    from deniable.client.dbitflip import DBitFlip as DBitFlip
    from deniable.client.discrete_laplace import DiscreteLaplace as DiscreteLaplace
    from deniable.client.duchi import Duchi as Duchi
    from deniable.client.file_ledger import FileLedger as FileLedger
    from deniable.client.flh import FLH as FLH
    from deniable.client.grr import GRR as GRR
    from deniable.client.hadamard_response import HadamardResponse as HadamardResponse
    from deniable.client.hcms import HCMS as HCMS
    from deniable.client.hrr import HRR as HRR
    from deniable.client.hybrid import Hybrid as Hybrid
    from deniable.client.ledger import MemoryLedger as MemoryLedger
    from deniable.client.loloha import LOLOHA as LOLOHA
    from deniable.client.longitudinal_grr import LongitudinalGRR as LongitudinalGRR
    from deniable.client.longitudinal_unary import LongitudinalUnary as LongitudinalUnary
    from deniable.client.olh import OLH as OLH
    from deniable.client.one_bit_mean import OneBitMean as OneBitMean
    from deniable.client.one_bit_mean_pm import OneBitMeanPM as OneBitMeanPM
    from deniable.client.oue import OUE as OUE
    from deniable.client.pgr import PGR as PGR
    from deniable.client.piecewise import Piecewise as Piecewise
    from deniable.client.rappor import RAPPOR as RAPPOR
    from deniable.client.reporter import Reporter as Reporter
    from deniable.client.rr import RR as RR
    from deniable.client.rws import RWS as RWS
    from deniable.client.she import SHE as SHE
    from deniable.client.sign_rr import SignRR as SignRR
    from deniable.client.square_wave import SquareWave as SquareWave
    from deniable.client.subset_selection import SubsetSelection as SubsetSelection
    from deniable.client.sue import SUE as SUE
    from deniable.client.the import THE as THE
    from deniable.contract.domain import Bytes as Bytes
    from deniable.contract.domain import Categories as Categories
    from deniable.contract.domain import IndexRange as IndexRange
    from deniable.contract.domain import Integers as Integers
    from deniable.contract.domain import Text as Text
    from deniable.contract.numbers import Numbers as Numbers
    from deniable.contract.protocol import protocol_from_json as protocol_from_json
    from deniable.contract.question import Question as Question
    from deniable.contract.spec import spec_from_json as spec_from_json
    from deniable.contract.survey import Survey as Survey
    from deniable.core.reports import Reports as Reports
    from deniable.core.saved import estimate_from_json as estimate_from_json
    from deniable.core.tally import Tally as Tally
    from deniable.lab.audit import empirical_audit as empirical_audit
    from deniable.lab.audit import exact_audit as exact_audit
    from deniable.local.mean_choice import mean_oracle as mean_oracle
    from deniable.local.oracle_choice import frequency_oracle as frequency_oracle
    from deniable.local.vector.priv_unit import PrivUnit as PrivUnit
    from deniable.local.vector.proj_unit import ProjUnit as ProjUnit
    from deniable.tasks.heavy_hitters.pem import PEM as PEM
    from deniable.tasks.heavy_hitters.pem import heavy_hitters as heavy_hitters
    from deniable.tasks.plan import plan as plan

__version__ = "0.1.0"

sys.modules[__name__].__class__ = Room

_HOMES = {
    "deniable.contract.domain": ("Bytes", "Categories", "IndexRange", "Integers", "Text"),
    "deniable.contract.numbers": ("Numbers",),
    "deniable.contract.protocol": ("protocol_from_json",),
    "deniable.contract.question": ("Question",),
    "deniable.contract.survey": ("Survey",),
    "deniable.contract.spec": ("spec_from_json",),
    "deniable.core.reports": ("Reports",),
    "deniable.core.saved": ("estimate_from_json",),
    "deniable.core.tally": ("Tally",),
    "deniable.lab.audit": ("empirical_audit", "exact_audit"),
    "deniable.local.oracle_choice": ("frequency_oracle",),
    "deniable.local.mean_choice": ("mean_oracle",),
    "deniable.local.vector.priv_unit": ("PrivUnit",),
    "deniable.local.vector.proj_unit": ("ProjUnit",),
    "deniable.tasks.heavy_hitters.pem": ("PEM", "heavy_hitters"),
    "deniable.tasks.plan": ("plan",),
}
_HOME = {name: module for module, names in _HOMES.items() for name in names}


def __getattr__(name: str) -> Any:
    if name == "__all__":  # without the rooms: a star imports what one extra has
        return _names()
    if name.startswith("_"):
        raise AttributeError(f"module 'deniable' has no attribute {name!r}")
    if name in EXTRAS:
        return open_room(name)
    if name == "presets":
        return open_room("client.presets")
    try:
        value = getattr(importlib.import_module(_HOME.get(name, "deniable.client")), name)
    except ModuleNotFoundError as error:
        from deniable.errors import MissingExtra

        raise MissingExtra(f"deniable.{name}", "analysis", error.name) from error
    except AttributeError:
        from deniable.removed import missing_name

        raise missing_name("deniable", name) from None
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*_names(), *EXTRAS])


def _names() -> list[str]:
    return sorted({*_HOME, "presets", *dir(importlib.import_module("deniable.client"))})
