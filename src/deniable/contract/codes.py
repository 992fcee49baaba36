"""Values as bit strings of one length, so that they can be found from their prefixes on.

==============  ==============================================================================================================
integers        the key, most significant bit first; so are labels and indices
text            UTF-8, filled up with bytes 0xFF, which UTF-8 never uses
bytes           the bytes, then 0x80, then zeros, one byte more than the longest: the last 0x80 ends the content, whatever it is
==============  ==============================================================================================================
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from deniable.contract.domain import Bytes, Domain, Text

_FILL = b"\xff"
_END = b"\x80"


def code_bits(domain: Domain) -> int:
    """Return the length of every code.

    >>> from deniable.contract.domain import Integers
    >>> code_bits(Integers(0, 999)), code_bits(Text(6)), code_bits(Bytes(6))
    (10, 48, 56)
    """
    if isinstance(domain, Text):
        return 8 * domain.max_length
    return 8 * (domain.max_length + 1) if isinstance(domain, Bytes) else domain.key_bits


def code_of(domain: Domain, value: Any) -> int:
    """Return the code of a value, as a number whose most significant bit comes first; DomainError if the value is not allowed.

    >>> f"{code_of(Text(4), 'té'):x}", f"{code_of(Bytes(3), bytes([0, 7])):x}", code_of(Bytes(3), b"")
    ('74c3a9ff', '78000', 2147483648)
    """
    key = domain.key(value)  # refuses what is not allowed
    if isinstance(domain, Text):
        return int.from_bytes(value.encode().ljust(domain.max_length, _FILL), "big")
    if isinstance(domain, Bytes):
        return int.from_bytes((value + _END).ljust(domain.max_length + 1, b"\0"), "big")
    return key


def real_codes(domain: Domain, codes: Iterable[int]) -> list[int]:
    """Return those of some codes that are a value's.

    >>> real_codes(Text(1), (0x41, 0xC3)), real_codes(Bytes(1), (0x4180, 0x4100))
    ([65], [16768])
    """
    if not isinstance(domain, Bytes):
        return [code for code in codes if code < domain.size]
    return [code for code in codes if value_of(domain, code) is not None]


def value_of(domain: Domain, code: int) -> Any:
    """Return the value with this code; None if no value has it.

    >>> value_of(Text(4), code_of(Text(4), "té")), value_of(Text(4), 0xFF << 24), value_of(Bytes(3), 0)
    ('té', None, None)
    """
    if not isinstance(domain, Bytes):
        return domain.value(code) if code < domain.size else None
    content = code.to_bytes(code_bits(domain) // 8, "big")
    content = content.rstrip(_FILL) if isinstance(domain, Text) else content.rstrip(b"\0")[:-1]
    try:
        value = content.decode() if isinstance(domain, Text) else content
    except UnicodeDecodeError:
        return None
    return value if code_of(domain, value) == code else None
