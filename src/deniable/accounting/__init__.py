"""Accounting: from events to epsilon by composition, calibration, and a durable privacy budget.

>>> import deniable as dn
>>> week = dn.accounting.Sequential(events=(dn.accounting.Pure(epsilon=0.5), dn.accounting.Pure(epsilon=0.25)))
>>> dn.accounting.account(week, delta=0).epsilon
0.75
"""

from deniable.accounting.bill import RULES as RULES
from deniable.accounting.bill import Bill as Bill
from deniable.accounting.bill import account as account
from deniable.accounting.budget import BudgetFilter as BudgetFilter
from deniable.accounting.calibration import calibrate as calibrate
from deniable.accounting.combinations import GroupEvent as GroupEvent
from deniable.accounting.combinations import Parallel as Parallel
from deniable.accounting.combinations import Repeated as Repeated
from deniable.accounting.combinations import Replaced as Replaced
from deniable.accounting.combinations import Sampled as Sampled
from deniable.accounting.combinations import Sequential as Sequential
from deniable.accounting.event import Event as Event
from deniable.accounting.event import event_from_json as event_from_json
from deniable.accounting.leaves import RDP as RDP
from deniable.accounting.leaves import ZCDP as ZCDP
from deniable.accounting.leaves import Approximate as Approximate
from deniable.accounting.leaves import BoundedRange as BoundedRange
from deniable.accounting.leaves import DiscreteGaussianEvent as DiscreteGaussianEvent
from deniable.accounting.leaves import DiscreteLaplaceEvent as DiscreteLaplaceEvent
from deniable.accounting.leaves import GaussianEvent as GaussianEvent
from deniable.accounting.leaves import LaplaceEvent as LaplaceEvent
from deniable.accounting.leaves import Pure as Pure
from deniable.accounting.leaves import leaf_of as leaf_of
