"""What taking part in a table costs a person: every branch of the device, for all pairs of records; and twins that cost more."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from math import exp

import pytest

import deniable as dn
from deniable.contract.probability import exp_below
from deniable.contract.protocol import protocol_from_json
from deniable.contract.question import Question
from deniable.errors import WireError
from deniable.tasks.marginals import Marginals
from deniable.tasks.marginals.designs import METHODS
from deniable.testing import law_of

COLUMNS = {"a": ["x", "y", "z"], "b": ["x", "y"], "c": ["x", "y"]}
RECORDS = [dict(zip(COLUMNS, cells, strict=True)) for cells in product(*COLUMNS.values())]


def worst_ratio(answer, records=RECORDS):
    """The largest ratio of two records' chances of one report, over all reports, exactly."""
    laws = [law_of(lambda source, record=record: answer(record, source)) for record in records]
    assert all(law.total == 1 for law in laws)
    reports = set().union(*laws)
    assert all(set(law) == reports for law in laws)  # no report rules a record out
    return max(max(chances) / min(chances) for chances in ([law[report] for law in laws] for report in reports))


def device(survey):
    """One person's device, from the ticket to the report."""

    def answer(record, source):
        question = survey.question(survey.ticket(source))
        return question.name, question.answer(record, source)

    return answer


@pytest.mark.parametrize("method", METHODS)
def test_one_report_about_a_whole_record_keeps_epsilon_exactly(method):
    columns = {name: COLUMNS[name] if method == "direct" else ["x", "y"] for name in ("ab" if method == "direct" else "abc")}
    survey = Marginals(columns=columns, epsilon=1.0, method=method, people=1000)
    worst = worst_ratio(device(survey), [record for record in RECORDS if method == "direct" or record["a"] != "z"])
    assert 0.999999 * exp(1.0) < worst <= exp_below(1.0)
    assert survey.guarantee.epsilon == 1.0
    assert "any two records" in survey.guarantee.neighbors
    assert "one report, about one view" in survey.guarantee.statement()


def test_answering_every_coefficient_with_the_whole_epsilon_is_rejected():
    """One twin sends a bit for each of the coefficients, one answers about all columns, and in one the record decides what it is asked."""
    survey = Marginals(columns=COLUMNS, epsilon=0.25, method="fourier", sets=[("b", "c")], people=1000)
    questions = survey.open().questions
    assert len(questions) == 3
    allowed = exp_below(0.25)
    everything = worst_ratio(lambda record, source: tuple(question.answer(record, source) for question in questions))
    assert everything > allowed
    assert everything == pytest.approx(exp(2 * 0.25), rel=1e-9)  # any two records differ in two of the three coefficients
    singles = Marginals(columns=COLUMNS, epsilon=0.25, method="split", k=1, people=1000).open().questions
    one_by_one = worst_ratio(lambda record, source: tuple(question.answer(record, source) for question in singles))
    assert one_by_one == pytest.approx(exp(3 * 0.25), rel=1e-9)  # all three columns can differ
    with pytest.raises(AssertionError):  # a group that depends on the record shows it
        worst_ratio(lambda record, source: (record["b"], singles[record["b"] == "x"].answer(record, source)))


def test_fakes_for_the_other_columns_do_not_amplify_for_whole_records():
    """RS+FD (a true answer about one column, uniform fakes about the others, at ln(d (e^epsilon - 1) + 1)) keeps epsilon by column only."""
    columns, epsilon = {"b": ["x", "y"], "c": ["x", "y"]}, 1.0
    amplified = dn.GRR(domain_size=2, epsilon=1.4899)  # ln(2 (e - 1) + 1) = 1.48990...

    def answer(record, source):
        true = source.below(2)
        keys = [int(record[name] == "y") for name in columns]
        return tuple(amplified.perturb(keys[i], source) if i == true else source.below(2) for i in range(2))

    assert worst_ratio(answer) > exp(1.4898) > exp_below(epsilon)


def test_the_state_travels_and_only_as_it_is():
    survey = Marginals(columns=COLUMNS | {"d": ["only"], "age": dn.Numbers(0, 90, steps=2)}, epsilon=0.5, method="views", k=2, people=7)
    assert [Question.from_json(question.to_json()) for question in survey.open().questions] == list(survey.open().questions)
    assert sum((question.share for question in survey.open().questions), Fraction(0)) == 1
    for old, new in (
        (b'"views":', b'"view":'),
        (b'"method":"views"', b'"method":"auto"'),
        (b'"people":7', b'"people":0'),
        (b'"0.5"', b'"0.50"'),
    ):
        with pytest.raises(WireError):
            protocol_from_json(survey.canonical.replace(old, new))
