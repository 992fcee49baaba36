"""Every mistake gets the right error, whose message says what was wrong, what came, what is allowed and how to fix it."""

from __future__ import annotations

import pickle
from fractions import Fraction

import numpy as np
import polars as pl
import pyarrow as pa
import pytest

import deniable as dn
from deniable.contract.encoder import Attribute
from deniable.contract.question import Question, Round
from deniable.contract.spec import spec_from_json
from deniable.core.reports import Reports
from deniable.core.tally import Tally
from deniable.errors import BudgetExceeded, DeniableError, DomainError, MergeError, MissingExtra, ParameterError, ProtocolError, WireError

GRR = dn.GRR(domain_size=4, epsilon=1.0)
OUE = dn.OUE(domain_size=10, epsilon=1.0)
OLH = dn.OLH(domain_size=1000, epsilon=1.0)
COLORS = dn.GRR(domain=dn.Categories("red", "green", "blue"), epsilon=1.0)
WORDS = dn.OLH(domain=dn.Text(8), epsilon=1.0)
WIDE = dn.OLH(domain=dn.Integers(-5, 2**63), epsilon=1.0)
REPORTS = GRR.privatize([0, 1, 2, 3])
TALLY = GRR.tally(REPORTS)
COMPARED = GRR.estimate(TALLY).compare(GRR.estimate(TALLY))
PLAN = dn.plan(domain_size=4, epsilon=1.0, oracles=["GRR"])
SHE = dn.SHE(domain_size=4, epsilon=1.0)
LISTED = OLH.tally(OLH.privatize([1, 2]), candidates=[1, 2])

MISTAKES = {
    # epsilon
    "epsilon zero": (lambda: dn.GRR(domain_size=4, epsilon=0), ParameterError, ["epsilon", "got 0", "above 0"]),
    "epsilon negative": (lambda: dn.RR(epsilon=-1.0), ParameterError, ["epsilon", "got -1.0", "above 0"]),
    "epsilon NaN": (lambda: dn.OUE(domain_size=4, epsilon=float("nan")), ParameterError, ["epsilon", "nan", "finite"]),
    "epsilon infinite": (lambda: dn.OLH(domain_size=4, epsilon=float("inf")), ParameterError, ["epsilon", "inf", "finite"]),
    "epsilon huge": (lambda: dn.GRR(domain_size=4, epsilon=10**400), ParameterError, ["epsilon", "finite"]),
    "epsilon text": (lambda: dn.GRR(domain_size=4, epsilon="1"), ParameterError, ["epsilon", "'1'", "number"]),
    "epsilon boolean": (lambda: dn.GRR(domain_size=4, epsilon=True), ParameterError, ["epsilon", "True"]),
    "epsilon none": (lambda: dn.GRR(domain_size=4, epsilon=None), ParameterError, ["epsilon", "None"]),
    "epsilon beyond 64 bits": (lambda: dn.RR(epsilon=28.0), ParameterError, ["epsilon", "28.0", "2^64", "smaller"]),
    "epsilon far beyond": (lambda: dn.OUE(domain_size=4, epsilon=100), ParameterError, ["epsilon", "100", "at most", "smaller"]),
    "epsilon for a huge hash range": (lambda: dn.OLH(domain_size=4, epsilon=23.0), ParameterError, ["epsilon", "23.0", "smaller"]),
    "epsilon too small": (lambda: dn.GRR(domain_size=1024, epsilon=1e-19), ParameterError, ["epsilon", "1e-19", "larger"]),
    "epsilon too small for OUE": (lambda: dn.OUE(domain_size=4, epsilon=1e-20), ParameterError, ["epsilon", "1e-20", "larger"]),
    "epsilon too small for RR": (lambda: dn.RR(epsilon=1e-20), ParameterError, ["epsilon", "1e-20", "larger"]),
    # domain
    "domain_size one": (lambda: dn.GRR(domain_size=1, epsilon=1.0), ParameterError, ["domain_size", "got 1", "from 2"]),
    "domain_size missing": (lambda: dn.OUE(epsilon=1.0), ParameterError, ["domain_size", "None", "from 2"]),
    "domain_size negative": (lambda: dn.OLH(domain_size=-3, epsilon=1.0), ParameterError, ["domain_size", "-3", "from 2"]),
    "domain_size float": (lambda: dn.GRR(domain_size=4.0, epsilon=1.0), ParameterError, ["domain_size", "4.0", "integer"]),
    "domain_size boolean": (lambda: dn.GRR(domain_size=True, epsilon=1.0), ParameterError, ["domain_size", "True", "integer"]),
    "domain_size text": (lambda: dn.GRR(domain_size="4", epsilon=1.0), ParameterError, ["domain_size", "'4'", "integer"]),
    "domain_size too large": (lambda: dn.OLH(domain_size=2**64 + 1, epsilon=1.0), ParameterError, ["domain_size", "2^64"]),
    "domain not one": (lambda: dn.GRR(domain=["a", "b"], epsilon=1.0), ParameterError, ["domain", "['a', 'b']", "Categories"]),
    "domain contradicts": (lambda: dn.GRR(domain=dn.IndexRange(3), domain_size=4, epsilon=1.0), ParameterError, ["domain_size", "4", "3"]),
    "domain not listed": (lambda: dn.GRR(domain=dn.Text(8), epsilon=1.0), ParameterError, ["domain", "Text", "OLH"]),
    "domain too large to list": (lambda: dn.OUE(domain_size=2**40, epsilon=1.0), ParameterError, ["domain", "OLH"]),
    "RR with three values": (
        lambda: dn.RR(domain=dn.Categories("a", "b", "c"), epsilon=1.0),
        ParameterError,
        ["domain", "2 values", "GRR"],
    ),
    "one label": (lambda: dn.Categories("a"), ParameterError, ["labels", "('a',)", "two or more"]),
    "label twice": (lambda: dn.Categories("a", "a"), ParameterError, ["labels", "different"]),
    "label not text": (lambda: dn.Categories("a", 3), ParameterError, ["labels", "strings"]),
    "labels of no kind": (lambda: dn.Categories({}, {}), ParameterError, ["labels", "strings"]),
    "label not UTF-8": (lambda: dn.Categories("a", "\ud800"), ParameterError, ["labels", "strings"]),
    "integers reversed": (lambda: dn.Integers(5, 5), ParameterError, ["low, high", "(5, 5)", "low < high"]),
    "integers too wide": (lambda: dn.Integers(-1, 2**64 - 1), ParameterError, ["low, high", "2^64"]),
    "text of no length": (lambda: dn.Text(0), ParameterError, ["max_length", "got 0", "from 1"]),
    # other parameters
    "hash_range one": (lambda: dn.OLH(domain_size=9, epsilon=1.0, hash_range=1), ParameterError, ["hash_range", "got 1", "from 2"]),
    "coin reversed": (lambda: dn.RR.from_probabilities(0.2, 0.8), ParameterError, ["p, q", "(0.2, 0.8)", "q < p"]),
    "coin certain": (lambda: dn.RR.from_probabilities(1, 0.5), ParameterError, ["p, q", "p < 1"]),
    "coin too fine": (
        lambda: dn.RR.from_probabilities(Fraction(1, 2), Fraction(1, 2) - Fraction(1, 2**66)),
        ParameterError,
        ["p, q", "apart"],
    ),
    "coin no number": (lambda: dn.RR.from_probabilities("often", 0.5), ParameterError, ["p: got", "'often'", "3/4"]),
    "law too large": (lambda: OUE_LARGE.law(0), ParameterError, ["domain_size", "different reports"]),
    "law without seed": (lambda: OLH.law(3), ParameterError, ["seed", "2 words"]),
    "level": (lambda: GRR.estimate(TALLY).interval(95), ParameterError, ["level", "95", "between 0 and 1"]),
    "level of a comparison": (lambda: COMPARED.interval(95), ParameterError, ["level", "95", "between 0 and 1"]),
    "alpha of a comparison": (lambda: COMPARED.changed(5), ParameterError, ["alpha", "5", "between 0 and 1"]),
    "compared with nothing": (lambda: GRR.estimate(TALLY).compare(None), ParameterError, ["other", "None", "same kind, frequency"]),
    "top of none": (lambda: GRR.estimate(TALLY).top(0), ParameterError, ["k: got 0", "from 1 on"]),
    "top negative": (lambda: GRR.estimate(TALLY).top(-1), ParameterError, ["k: got -1", "from 1 on"]),
    "variance of a negative crowd": (lambda: GRR.variance(n=-5), ParameterError, ["n, f", "(-5, 0.0)"]),
    "variance of more than all": (lambda: GRR.variance(n=5, f=2), ParameterError, ["n, f", "(5, 2)", "share"]),
    "estimate of reports": (lambda: GRR.estimate(REPORTS), ParameterError, ["tally", "'Reports'", "oracle.tally(reports)"]),
    "choice for nobody": (lambda: dn.frequency_oracle(domain_size=4, epsilon=1.0, n=0), ParameterError, ["n: got 0", "from 1 on"]),
    "choice without room": (
        lambda: dn.frequency_oracle(domain_size=1000, epsilon=1.0, max_bits=1),
        ParameterError,
        ["max_bits, device, server", "GRR needs 10 bits", "raise"],
    ),
    "choice of no domain": (lambda: dn.frequency_oracle(epsilon=1.0), ParameterError, ["domain_size", "None", "domain="]),
    "choice of a list": (
        lambda: dn.frequency_oracle(domain=["a", "b"], epsilon=1.0),
        ParameterError,
        ["domain", "['a', 'b']", "Categories"],
    ),
    "plan for nobody": (lambda: dn.plan(domain_size=4, epsilon=1.0, n=0), ParameterError, ["n: got 0", "from 1 on"]),
    "plan for half a person": (lambda: dn.plan(domain_size=4, epsilon=1.0, n=2.5), ParameterError, ["n: got 2.5", "integer"]),
    "plan without error": (
        lambda: dn.plan(domain_size=4, epsilon=1.0, error=0),
        ParameterError,
        ["error: got 0", "between 0 and 1", "0.001"],
    ),
    "plan with an error in people": (
        lambda: dn.plan(domain_size=4, epsilon=1.0, error=50),
        ParameterError,
        ["error: got 50", "between 0 and 1"],
    ),
    "plan with an error in words": (lambda: dn.plan(domain_size=4, epsilon=1.0, error="small"), ParameterError, ["error", "'small'"]),
    "plan of an unknown oracle": (
        lambda: dn.plan(domain_size=4, epsilon=1.0, oracles=["RAPOR"]),
        ParameterError,
        ["oracles", "'RAPOR'", "GRR", "spelling"],
    ),
    "plan of no able oracle": (
        lambda: dn.plan(domain_size=4, epsilon=1.0, oracles=["RR"]),
        ParameterError,
        ["oracles", "['RR']", "RR takes at most 2 values"],
    ),
    "plan without a domain": (lambda: dn.plan(epsilon=1.0), ParameterError, ["domain_size", "None", "domain="]),
    "plan without epsilon": (lambda: dn.plan(domain_size=4, epsilon=0), ParameterError, ["epsilon", "got 0", "above 0"]),
    "plan charted oddly": (lambda: PLAN.errors("n"), ParameterError, ["against", "'n'", "epsilon"]),
    "attack on nothing": (lambda: PLAN.gain(targets=0, liars=0.01), ParameterError, ["targets", "got 0", "from 1 to 4"]),
    "attack by more than all": (lambda: PLAN.gain(targets=1, liars=1.5), ParameterError, ["liars, held", "(1.5, 0.0)", "shares"]),
    "unknown post-processing": (lambda: GRR.estimate(TALLY).postprocess("median"), ParameterError, ["method", "'median'", "norm-sub"]),
    "likelihood of sums": (
        lambda: SHE.estimate(SHE.tally(SHE.privatize([1]))).postprocess("mle"),
        ParameterError,
        ["method", "norm-sub", "SHE"],
    ),
    "question without a spec": (lambda: dn.Survey.of(a=3), ParameterError, ["spec", "got 3"]),
    "labels as a list": (lambda: dn.Categories(["a", "b"]), ParameterError, ["labels", "Categories(*labels)"]),
    "neither domain nor size": (lambda: dn.GRR(epsilon=1.0), ParameterError, ["domain_size", "None", "domain="]),
    "bound": (lambda: GRR.estimate(TALLY).bound(0.9, "chebyshev"), ParameterError, ["method", "chebyshev", "hoeffding or bernstein"]),
    "question without a name": (lambda: Question(name="", spec=GRR), ParameterError, ["name", "''", "not empty"]),
    "subclass in bulk": (lambda: Twin(domain_size=4, epsilon=1.0).privatize([1]), ParameterError, ["mechanism", "'Twin'", "bulk_half"]),
    "share": (lambda: Question(name="a", spec=GRR, share=0.5), ParameterError, ["share", "0.5", "Fraction"]),
    "shares": (lambda: Round((Question(name="a", spec=GRR), Question(name="b", spec=GRR))), ParameterError, ["shares", "2", "at most 1"]),
    "names": (
        lambda: dn.Survey((Question(name="a", spec=GRR, share=Fraction(1, 2)),) * 2),
        ParameterError,
        ["questions", "different names"],
    ),
    "no question": (dn.Survey.of, ParameterError, ["questions", "one or more"]),
    # values
    "value too large": (lambda: GRR.randomize(4), DomainError, ["value: got 4", "from 0 to 3"]),
    "value negative": (lambda: GRR.randomize(-1), DomainError, ["value: got -1", "from 0 to 3"]),
    "value float": (lambda: GRR.randomize(1.0), DomainError, ["value: got 1.0", "integers"]),
    "value boolean": (lambda: GRR.randomize(True), DomainError, ["value: got True", "integers"]),
    "value unknown label": (lambda: COLORS.randomize("mauve"), DomainError, ["'mauve'", "'red', 'green', 'blue'"]),
    "value index for labels": (lambda: COLORS.randomize(0), DomainError, ["got 0", "'red'"]),
    "value too long": (lambda: WORDS.randomize("a" * 9), DomainError, ["'aaaaaaaaa'", "at most 8 bytes"]),
    "value too long in UTF-8": (lambda: WORDS.randomize("日本語"), DomainError, ["日本語", "at most 8 bytes"]),
    "value bytes for text": (lambda: WORDS.randomize(b"tea"), DomainError, ["b'tea'", "text"]),
    "values out of range": (
        lambda: GRR.privatize(np.array([0, 3, 4, 9])),
        DomainError,
        ["values[2]", "got 4", "from 0 to 3", "nothing was counted"],
    ),
    "values negative": (lambda: OUE.privatize([0, -1]), DomainError, ["values[1]", "got -1", "from 0 to 9"]),
    "values float": (lambda: GRR.privatize(np.array([0.0, 1.0])), DomainError, ["values", "float64", "integers"]),
    "values mixed": (lambda: GRR.privatize([0, 1, 2.5]), DomainError, ["values[2]", "2.5", "from 0 to 3"]),
    "values text": (lambda: GRR.privatize(["0", "1"]), DomainError, ["values[0]", "'0'", "from 0 to 3"]),
    "values boolean": (lambda: GRR.privatize(np.array([True, False])), DomainError, ["values", "bool", "integers"]),
    "values missing": (lambda: GRR.privatize([0, None]), DomainError, ["values[1]", "None"]),
    "values two columns": (lambda: GRR.privatize(np.zeros((3, 2), dtype=int)), DomainError, ["values", "(3, 2)", "one column"]),
    "labels unknown": (lambda: COLORS.privatize(["red", "mauve"]), DomainError, ["values[1]", "'mauve'", "'red'"]),
    "labels missing": (lambda: COLORS.privatize(pa.array(["red", None])), DomainError, ["values[1]", "None"]),
    "labels numbers": (lambda: COLORS.privatize([0, 1]), DomainError, ["values[0]", "got 0", "'red'"]),
    "text too long": (lambda: WORDS.privatize(["tea", "a" * 9]), DomainError, ["values[1]", "at most 8 bytes"]),
    "text missing": (lambda: WORDS.privatize(["tea", None]), DomainError, ["values[1]", "None", "text"]),
    "text numbers": (lambda: WORDS.privatize([1]), DomainError, ["values[0]", "got 1", "text"]),
    "wide integers": (lambda: WIDE.privatize([-5, 2**63, -6]), DomainError, ["values[2]", "-6", "from -5"]),
    "columns of two lengths": (lambda: SURVEY.run({"a": [0, 1], "b": [0]}), DomainError, ["values", "{'a': 2, 'b': 1}", "one length"]),
    "column absent": (lambda: SURVEY.run({"a": [0, 1]}), DomainError, ["values", "'b'"]),
    "records expected": (lambda: SURVEY.run([0, 1]), DomainError, ["values", "'list'", "'a'", "mapping"]),
    "table without the column": (lambda: SURVEY.run(pl.DataFrame({"a": [1], "x": [2]})), DomainError, ["values", "['a', 'x']", "'b'"]),
    "a generator": (lambda: dn.Survey((Question(name="a", spec=GRR),)).run(i for i in range(3)), DomainError, ["values", "list first"]),
    "counts instead of people": (lambda: COLORS.privatize({"red": 6000}), DomainError, ["values", "'dict'", "one value per person"]),
    "one string for a column": (lambda: WORDS.privatize("tea"), DomainError, ["values", "'str'", "one value per person"]),
    "one string for candidates": (lambda: WORDS.tally(WORDS.privatize(["a"]), candidates="ab"), DomainError, ["'str'", "pass a list"]),
    "attribute absent": (lambda: Attribute("age").encode({"name": 1}, None), DomainError, ["values", "'age'"]),
    # candidates
    "candidates needed": (lambda: WORDS.tally(WORDS.privatize(["tea"])), ParameterError, ["candidates", "None", "name candidates"]),
    "candidates not taken": (lambda: GRR.tally(REPORTS, candidates=[1]), ParameterError, ["candidates", "[1]", "pass them to estimate"]),
    "candidates out of domain": (lambda: OLH.tally(OLH.privatize([1]), candidates=[5000]), DomainError, ["5000", "from 0 to 999"]),
    "candidates of a question": (lambda: Question(name="a", spec=OLH, candidates=[5000]), DomainError, ["5000", "from 0 to 999"]),
    "candidates twice": (lambda: OLH.tally(OLH.privatize([1]), candidates=[5, 7, 5]), DomainError, ["candidates[2]", "got 5", "once"]),
    # things that do not belong together
    "reports of another epsilon": (lambda: dn.GRR(domain_size=4, epsilon=2.0).tally(REPORTS), MergeError, ["spec.epsilon", "1.0", "2.0"]),
    "reports of another mechanism": (lambda: OUE.tally(REPORTS), MergeError, ["spec.mechanism", "'GRR'", "'OUE'"]),
    "tallies of two domains": (lambda: TALLY + GRR5.tally(GRR5.privatize([0])), MergeError, ["spec.domain_size", "5", "4"]),
    "tallies of two lists": (
        lambda: LISTED + OLH.tally(OLH.privatize([1]), candidates=[2, 1]),
        MergeError,
        ["candidates", "digest", "same candidates"],
    ),
    "tallies with and without list": (lambda: LISTED + OLH.tally(OLH.privatize([1])), MergeError, ["candidates", "digest"]),
    "estimate of another spec": (lambda: OUE.estimate(TALLY), MergeError, ["spec.mechanism", "'GRR'"]),
    "estimate without the list": (
        lambda: OLH.estimate(Tally.from_bytes(LISTED.to_bytes())),
        MergeError,
        ["candidates", "None", "same values"],
    ),
    "estimate with another list": (lambda: OLH.estimate(LISTED, candidates=[1, 3]), MergeError, ["candidates", "digest", "same values"]),
    "estimate of a short tally": (lambda: GRR.estimate(Tally(GRR, 3, np.array([1, 2]))), MergeError, ["counters", "got 2", "4"]),
    "comparison of two lists": (lambda: GRR.estimate(TALLY).compare(GRR.estimate(TALLY).top(2)), MergeError, ["values", "same values"]),
    # bytes
    "report truncated": (lambda: OUE.decode(b"\x00"), WireError, ["report", "exactly 2 bytes", "1 bytes came"]),
    "report padded": (lambda: GRR.decode(b"\x00\x00"), WireError, ["report", "exactly 1 bytes", "2 bytes came"]),
    "report corrupted": (lambda: GRR.decode(b"\x04"), WireError, ["symbol", "got 4", "below 4"]),
    "report with unused bits": (lambda: OUE.decode(b"\x00\xfc"), WireError, ["bits", "10 bits", "higher ones zero"]),
    "report of no kind": (lambda: OLH.encode(3), WireError, ["report", "got 3", "['seed', 'symbol']"]),
    "report with half a seed": (lambda: OLH.encode(((1,), 1)), WireError, ["seed", "(1,)", "2 of them"]),
    "report too large": (lambda: GRR.tally([0, 300]), WireError, ["symbol", "300", "below 4"]),
    "report negative": (lambda: GRR.tally([-1]), WireError, ["symbol", "-1", "below 4"]),
    "report float": (lambda: GRR.tally([1.5]), WireError, ["symbol", "1.5", "below 4"]),
    "report boolean": (lambda: GRR.tally([True]), WireError, ["symbol", "True", "below 4"]),
    "report of too many bits": (lambda: OUE.encode(1 << 10), WireError, ["bits", "1024", "10 bits"]),
    "rows cut": (lambda: Reports.from_rows(OUE, b"\x00" * 3), WireError, ["rows", "3 bytes", "multiple of 2"]),
    "image truncated": (lambda: Reports.from_bytes(REPORTS.to_bytes()[:-9]), WireError, ["checksum", "CRC-32", "whole"]),
    "image padded": (lambda: Reports.from_bytes(REPORTS.to_bytes() + b"\x00"), WireError, ["checksum"]),
    "image empty": (lambda: Tally.from_bytes(b""), WireError, ["image", "at least 24 bytes"]),
    "image foreign": (lambda: Tally.from_bytes(b"PAR1" + bytes(40)), WireError, ["magic", "b'PAR1'", "b'DNBL'"]),
    "image of the other kind": (lambda: Tally.from_bytes(REPORTS.to_bytes()), WireError, ["kind", "got 1", "2"]),
    "Arrow without spec": (lambda: Reports.from_arrow(pa.table({"symbol": [1]})), WireError, ["schema", "metadata"]),
    "spec as text": (lambda: spec_from_json(GRR.canonical.decode()), WireError, ["spec", "bytes"]),
    "spec not JSON": (lambda: spec_from_json(b"GRR"), WireError, ["json", "canonical"]),
    "spec of the future": (
        lambda: spec_from_json(b'{"mechanism":"X","parameters":{},"thresholds":{}}'),
        WireError,
        ["mechanism", "'X'", "GRR"],
    ),
    # protocols
    "tallies for other questions": (lambda: SURVEY.close({"a": TALLY}), ProtocolError, ["tallies", "['a']", "'b'"]),
}


class Twin(dn.GRR):
    """Randomizes on its own, so it must not be given its parent's kernels."""


OUE_LARGE = dn.OUE(domain_size=30, epsilon=1.0)
GRR5 = dn.GRR(domain_size=5, epsilon=1.0)
SURVEY = dn.Survey.of(a=GRR, b=GRR)


@pytest.mark.parametrize(("mistake", "error", "words"), MISTAKES.values(), ids=MISTAKES)
def test_message(mistake, error, words):
    with pytest.raises(DeniableError) as caught:
        mistake()
    assert type(caught.value) is error
    message = str(caught.value)
    for word in words:
        assert word in message
    # the four facts are there to be read by programs, too, and the text stays readable
    assert caught.value.parameter
    assert caught.value.allowed
    assert caught.value.fix
    assert len(message) < 450


def test_nothing_is_counted_from_a_bad_batch():
    """A bad value stops the whole batch before a single word is drawn."""
    from deniable.testing import ReplaySource

    source = ReplaySource.from_key("untouched")
    with pytest.raises(DomainError):
        GRR.privatize([0, 1, 7], source=source)
    assert source.consumed == 0


@pytest.mark.parametrize("kind", [ParameterError, DomainError, WireError, MergeError, ProtocolError, BudgetExceeded])
def test_errors_cross_processes(kind):
    """A worker's error must arrive, with all that it says: one that cannot be unpickled kills the pool."""
    error = pickle.loads(pickle.dumps(kind("epsilon", -1.0, allowed="above 0", fix="try 1.0")))
    assert type(error) is kind
    assert (str(error), error.received) == ("epsilon: got -1.0; allowed: above 0; try 1.0", -1.0)
    missing = pickle.loads(pickle.dumps(MissingExtra("bulk", "analysis", "numpy")))
    assert isinstance(missing, ImportError)
    assert 'pip install ".[analysis]"' in str(missing)


def test_tallies_can_be_summed():
    assert sum([TALLY, TALLY]).n == 8
    with pytest.raises(TypeError):
        3 + TALLY
    with pytest.raises(TypeError):
        REPORTS[1:3]
