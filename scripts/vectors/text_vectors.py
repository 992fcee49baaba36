"""The vectors of the encoders for texts: what is drawn from what a person wrote, and who can answer. Part of ``make_vectors``."""

from __future__ import annotations

from typing import Any

from client_vectors import whether_all
from encoder_vectors import changed, without, written

from deniable.contract.domain import Bytes, Domain, IndexRange, Integers, Text
from deniable.contract.encoder import Encoder, Prefix
from deniable.contract.texts import DrawnBigram, DrawnPair, DrawnTerm, NewWord
from deniable.contract.writing import Writing

WORDS = ("tea", "milk", "it's", "zoë")
TEXTS: list[Any] = ["", "Tea!", "It's MILK tea, Zoë: tea", "tea with milk", "Zoe\u0308\ntea\tmilk", ["tea", "milk"], []]
"""No words, one, several, others in between, an accent in two letters; and lists of words."""

ENCODERS: list[tuple[Encoder, list[Any]]] = [
    (DrawnTerm(WORDS), TEXTS),
    (DrawnTerm(("milk tea", "tea milk"), 2), TEXTS),
    (DrawnTerm(("Tea", "e-mail")), [["Tea", "tea", "e-mail"], []]),
    (DrawnTerm(("हिन्दी", "می\u200cخواهم")), ["हिन्दी भाषा", "می\u200cخواهم"]),
    (DrawnBigram(WORDS), TEXTS),
    (DrawnBigram(("ha",)), ["Ha ha ha", "hm"]),
    (DrawnPair(WORDS), TEXTS),
    (NewWord(Prefix(Text(6), 8), ("tea",)), TEXTS),
    (NewWord(Prefix(Text(6), 48, (0x6D696C6BFFFF, 0xFFFFFFFFFFFF)), ("tea",)), TEXTS),
    (NewWord(Prefix(Text(12), 96), (), 2), TEXTS),
]


def texts() -> dict[str, Any]:
    """What a device holds, and what a mechanism is asked about; and whether everybody can answer."""
    wrong = [7, {"text": "tea"}, ["tea", 7], b"tea"]
    values = [(encoder, value) for encoder in (ENCODERS[0][0], ENCODERS[-1][0]) for value in wrong]
    found = {**written("texts", ENCODERS, values, _refused()), "answerable": []}
    for encoder, _ in ENCODERS:
        for domain in (Writing(), Writing(texts=False), Text(6)):
            found["answerable"] += [whether_all(domain, encoder, asked) for asked in _asked(encoder)]
    return found


def _asked(encoder: Encoder) -> list[Domain]:
    """Just enough inputs, and too few; and others than numbers."""
    if encoder.inputs > 1 << 64:
        return [Bytes(12), Bytes(11), Text(12)]
    return [IndexRange(encoder.inputs), Integers(0, max(encoder.inputs - 2, 1)), Integers(1, encoder.inputs), Text(6)]


def _refused() -> list[Any]:
    term, bigram, pair, new = (ENCODERS[place][0].to_json() for place in (1, 4, 6, 8))
    lists: list[Any] = [["tea", "tea"], [""], "tea", [7], {"tea": 1}]
    changes = [(whole, "vocabulary", [*lists, []]) for whole in (term, bigram, pair)]
    changes += [(pair, "vocabulary", [["tea"]]), (new, "known", lists), *((whole, "ngram", [0, 9, "1", True]) for whole in (term, new))]
    others = [Prefix(Integers(0, 255), 8).to_json(), Prefix(Bytes(6), 8).to_json(), DrawnBigram(("tea",)).to_json(), "Prefix"]
    return changed([*changes, (new, "prefix", others)]) + without("vocabulary", term, bigram, pair) + without("prefix", new)
