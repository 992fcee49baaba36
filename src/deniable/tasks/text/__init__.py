"""Analyses of texts: new words, next words, trending terms, and topics. One question per file."""

from deniable.contract.words import words_of
from deniable.core.texts import Texts
from deniable.removed import explain_removed
from deniable.tasks.text.new_words import NewWords
from deniable.tasks.text.next_words import Bigrams, NextWords
from deniable.tasks.text.pairs import PairShares, WordPairs
from deniable.tasks.text.terms import Terms, trending

__all__ = ["Bigrams", "NewWords", "NextWords", "PairShares", "Terms", "Texts", "WordPairs", "trending"]
__all__ += ["words_of"]

explain_removed(__name__)
