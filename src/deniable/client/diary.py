"""The diary: what one device keeps for one question that it answers again and again.

It holds the personal part, drawn once, and one permanent answer for each class of values that the device has held. A ledger keeps diaries
permanently, because a permanent answer that is drawn twice is paid for twice. Losing one is a reset: the device starts over, and later
reports reveal something in addition to the earlier ones.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from deniable.client.longitudinal import Longitudinal
from deniable.contract.arguments import typed
from deniable.contract.source import SYSTEM, Source
from deniable.contract.wire import decode_report, encode_report
from deniable.errors import ProtocolError

PERSONAL = "personal"
"""The name under which the personal part is kept; permanent answers are kept under the numbers of their classes."""


@typed
class Diary:
    """One answer to one question, between what a device has kept and what it will keep: ``value``, under a longitudinal ``spec``.

    ``name`` is that of the question, where a task has several.

    Open it with what was kept; then ``known`` is True if the answer was already paid for. ``report`` draws what is missing and the report
    itself; ``drawn`` is what must be kept before the report leaves the device.

    >>> from deniable.client import LongitudinalGRR
    >>> spec, kept = LongitudinalGRR(domain_size=3, epsilon=2.0, first_epsilon=1.0), {}
    >>> for value in (2, 2, 0):
    ...     diary = Diary(spec, value)
    ...     diary.open(kept)
    ...     free, report = diary.known, diary.report()
    ...     kept |= diary.drawn
    ...     print(value, free, sorted(diary.drawn))
    2 False ['2']
    2 True []
    0 False ['0']
    """

    def __init__(self, spec: Longitudinal, value: Any, name: str = "") -> None:
        self.spec = spec
        self.name = f"{spec.digest.hex()}/{name}"
        """Of the question, and unlike that of any other spec: an answer is never drawn from another mechanism's."""
        self._key = spec.key_of(value)
        self._kept: dict[str, bytes] | None = None
        self.drawn: dict[str, bytes] = {}

    def __repr__(self) -> str:  # without the value: a person's answer must not get into logs
        return f"<Diary for {self.spec!r}>"

    def open(self, kept: Mapping[str, bytes]) -> None:
        """Load what the device keeps for this question."""
        self._kept, self.drawn = dict(kept), {}

    @property
    def known(self) -> bool:
        """Whether the permanent answer for this value is there."""
        kept = self._opened
        if not self.spec.personal_layout:
            return str(self.spec.class_of(self._key, ())) in kept
        return PERSONAL in kept and str(self.spec.class_of(self._key, self._personal)) in kept

    def report(self, source: Source = SYSTEM) -> Any:
        """Return one report. What it is drawn from is in ``drawn``, unless it was kept before."""
        kept, spec = self._opened, self.spec
        personal: Any = ()
        if spec.personal_layout:
            if PERSONAL not in kept:
                self._note(PERSONAL, encode_report(spec.personal_layout, spec.personal(source)))
            personal = self._personal
        name = str(spec.class_of(self._key, personal))
        if name not in kept:
            group = spec.class_of(self._key, personal)
            self._note(name, encode_report(spec.answer_layout, spec.permanent_of(group, personal, source)))
        return spec.joined(personal, spec.instantaneous(decode_report(spec.answer_layout, kept[name]), source))

    @property
    def _opened(self) -> dict[str, bytes]:
        if self._kept is None:
            raise ProtocolError("diary", "not opened", allowed="one that was opened with what the device keeps", fix="call open() first")
        return self._kept

    @property
    def _personal(self) -> Any:
        return decode_report(self.spec.personal_layout, self._opened[PERSONAL])

    def _note(self, name: str, value: bytes) -> None:
        self._opened[name] = self.drawn[name] = value


def history(spec: Longitudinal, values: Iterable[Any], source: Source = SYSTEM) -> tuple[Any, ...]:
    """Return the successive reports of one device that holds these values in turn, and keeps what it must keep.

    >>> from deniable.client import LongitudinalGRR
    >>> len(history(LongitudinalGRR(domain_size=3, epsilon=2.0), [0, 0, 1]))
    3
    """
    kept: dict[str, bytes] = {}
    reports = []
    for value in values:
        diary = Diary(spec, value)
        diary.open(kept)
        reports.append(diary.report(source))
        kept |= diary.drawn
    return tuple(reports)
