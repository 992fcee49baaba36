"""Analyses of sets: frequent items, frequent sets of items, and association rules. One protocol per file."""

from deniable.removed import explain_removed
from deniable.tasks.itemsets.ldp_miner import LDPMiner
from deniable.tasks.itemsets.psfo import PSFO
from deniable.tasks.itemsets.rules import association_rules
from deniable.tasks.itemsets.searches import frequent_items, frequent_itemsets
from deniable.tasks.itemsets.svim import SVIM
from deniable.tasks.itemsets.svsm import SVSM
from deniable.tasks.itemsets.whole_sets import WholeSets

__all__ = [
    "PSFO",
    "SVIM",
    "SVSM",
    "LDPMiner",
    "WholeSets",
    "association_rules",
    "frequent_items",
    "frequent_itemsets",
]

explain_removed(__name__)
