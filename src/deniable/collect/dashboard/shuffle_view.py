"""What a shuffler was worth: the batches behind an answer, both epsilons, and the error beside that of local trust."""

from __future__ import annotations

from functools import lru_cache

from deniable.client.frequency import FrequencySpec
from deniable.collect.analysis.shuffled_batches import ShuffledBatches
from deniable.collect.dashboard.html import Element, element, quoted
from deniable.collect.dashboard.layout import facts
from deniable.collect.dashboard.words import digits, epsilon_in_words, percent
from deniable.contract.task import Task
from deniable.local.choose import frequency_oracle, predicted_error

LOCAL = "Local: each device adds the noise itself, and nobody else has to be trusted with an answer."
SHUFFLE = (
    "Shuffle: each device adds some noise itself, and a shuffler, which must not be run by the collector's people, hides who sent what. "
    "Without an honest shuffler the device's own noise is all that protects an answer."
)


def trust_in_words(task: Task) -> str:
    """The trust model of a task."""
    return LOCAL if task.mixing is None else SHUFFLE


def promised(task: Task) -> list[tuple[str, Element | str]]:
    """What a task of shuffle trust says about its batches before there are any."""
    if task.mixing is None:
        return []
    claim = f"{epsilon_in_words(task.mixing.epsilon)}, except with probability {task.mixing.delta:g}"
    addresses = ", then ".join(relay.url for relay in task.mixing.shufflers)
    return [
        ("Epsilon of a shuffled batch", f"{claim}, if a shuffler is honest"),
        ("Smallest batch", f"{task.mixing.minimum:,} reports, of which {task.mixing.people(task.mixing.minimum):,} are assumed honest"),
        ("Shuffled by", quoted(addresses)),
    ]


def shuffled(mixed: ShuffledBatches, n: int) -> Element:
    """The batches behind an answer of so many reports."""
    told = mixed.to_json()
    sizes = ", ".join(f"{size:,}" for size in told["sizes"][:8]) + (" and more" if told["batches"] > 8 else "")
    here, local = both_errors(mixed.task, n)
    return element(
        "section",
        element("h2", "Through the shuffler", id="shuffled"),
        facts(
            ("Epsilon, if a shuffler is honest", _live("epsilon", f"{epsilon_in_words(told['epsilon'])}, delta = {told['delta']:g}")),
            ("Epsilon, if none is", epsilon_in_words(told["local_epsilon"])),
            ("Batches", _live("batches", f"{told['batches']:,}")),
            ("Reports in them", _live("sizes", sizes)),
            ("Standard error of a share", _live("error", _share(here)) if here is not None else None),
            ("The same promise under local trust", _live("local-error", f"{_share(local)}") if local is not None else None),
        ),
        element("p", quoted(told["promise"].replace("\n", " ")), class_="statement", data_live="shuffled-promise"),
        aria_labelledby="shuffled",
    )


@lru_cache(maxsize=256)
def both_errors(task: Task, n: int) -> tuple[float | None, float | None]:
    """The standard error of a share that nobody holds: with the shuffler, and with local trust for the epsilon that is claimed.

    None where it cannot be predicted, as for numbers.
    """
    spec = task.survey.questions[0].spec
    if task.mixing is None or not isinstance(spec, FrequencySpec) or n == 0:
        return None, None
    alone = frequency_oracle(domain=spec.domain, epsilon=task.mixing.epsilon, n=n).spec
    return predicted_error(spec, n) / n, predicted_error(alone, n) / n


def _share(error: float) -> str:
    return f"± {percent(error, min(digits(2 * error) + 1, 4))}"


def _live(name: str, text: str) -> Element:
    return element("span", text, data_live=f"shuffled-{name}")
