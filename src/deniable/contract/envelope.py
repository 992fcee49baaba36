r"""The envelope: one report on its way from a device to a collector.

A batch is envelopes one after the other, a single report is a batch of one. Integers are little-endian::

    offset    size   field
    0         4      length of what follows
    4         1      version, 1
    5         1      0
    6         2      T, length of the token
    8         2      question: its place in the round
    10        2      stratum: ``Task.stratum``
    12        4      period, or round of a task of several rounds
    16        32     task id
    48        16     report id, random, or given by a one-time token; a resend carries the same one
    64        T      token, where the task asks for one: see ``contract/admission``
    64 + T    ...    payload: the report as its spec encodes it, of one length for each question

No time, no device, no address: a period is all that a collector learns about when.

>>> sent = Envelope(task=bytes(32), period=7, question=0, stratum=0, id=bytes(16), payload=b"\x03")
>>> data = sent.pack()
>>> len(data), open_batch(data) == [sent]
(65, True)
"""

from __future__ import annotations

import struct
from typing import NamedTuple

from deniable.errors import WireError

MEDIA_TYPE = "application/vnd.deniable.reports.v1"
"""What a batch of envelopes is called in HTTP."""
VERSION = 1
HEADER = struct.Struct("<IBBHHHI32s16s")
_LENGTH = struct.Struct("<I")


class Envelope(NamedTuple):
    """One report with its address."""

    task: bytes
    period: int
    question: int
    stratum: int
    id: bytes
    payload: bytes
    token: bytes = b""

    def pack(self) -> bytes:
        """Return the envelope as bytes."""
        length = HEADER.size - _LENGTH.size + len(self.token) + len(self.payload)
        try:
            if len(self.task) != 32 or len(self.id) != 16:
                raise struct.error("ids of another length")
            head = HEADER.pack(length, VERSION, 0, len(self.token), self.question, self.stratum, self.period, self.task, self.id)
        except struct.error as error:
            allowed = "a task id of 32 bytes, a report id of 16, numbers that fit"
            raise WireError("envelope", self[:5], allowed=allowed, fix=str(error)) from error
        return head + self.token + self.payload


def open_batch(data: bytes, *, most: int = 1 << 20) -> list[Envelope]:
    """Return the envelopes of a batch; WireError if lengths do not add up, there are too many, or one is of another version."""
    envelopes: list[Envelope] = []
    start, end = 0, len(data)
    while start < end:
        if end - start < HEADER.size:
            raise _refuse(start, f"{end - start} bytes are left", f"{HEADER.size} or more")
        length, version, zero, token, question, stratum, period, task, report = HEADER.unpack_from(data, start)
        stop, body = start + _LENGTH.size + length, start + HEADER.size + token
        if version != VERSION or zero:
            raise _refuse(start, f"version {version}.{zero}", f"version {VERSION}.0")
        if not body <= stop <= end:
            raise _refuse(start, f"a length of {length}", "a length that fits its header and the batch")
        if len(envelopes) == most:
            raise _refuse(start, "one more", f"at most {most} reports in a batch")
        envelopes.append(Envelope(task, period, question, stratum, report, data[body:stop], data[start + HEADER.size : body]))
        start = stop
    return envelopes


def _refuse(start: int, received: str, allowed: str) -> WireError:
    return WireError(f"envelope at byte {start}", received, allowed=allowed, fix="send the batch whole; nothing of it was counted")
