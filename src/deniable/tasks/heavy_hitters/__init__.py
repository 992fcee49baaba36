"""Searches for frequent values that nobody listed: one call for everything, and one protocol per file."""

from deniable.removed import explain_removed
from deniable.tasks.heavy_hitters.bitstogram import Bitstogram
from deniable.tasks.heavy_hitters.multiple_channels import MultipleChannels
from deniable.tasks.heavy_hitters.pem import PEM, heavy_hitters
from deniable.tasks.heavy_hitters.segment_pairs import SegmentPairs
from deniable.tasks.heavy_hitters.segments import IndependentSegments
from deniable.tasks.heavy_hitters.sfp import SFP
from deniable.tasks.heavy_hitters.tree_hist import TreeHist
from deniable.tasks.heavy_hitters.trie_hh import Trie, TrieHH

__all__ = [
    "PEM",
    "SFP",
    "Bitstogram",
    "IndependentSegments",
    "MultipleChannels",
    "SegmentPairs",
    "TreeHist",
    "Trie",
    "TrieHH",
    "heavy_hitters",
]

explain_removed(__name__)
