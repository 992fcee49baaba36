"""Numbers in few digits that are not rounded up to certainty."""

from __future__ import annotations


def below(value: float, limit: float, digits: int) -> str:
    """A number in so many significant digits, or in more where rounding would make it reach a limit that it stays below.

    >>> below(0.99966, 1, 3), below(0.99966, 1, 4), below(0.25, 1, 3), below(1.0, 1, 3)
    ('0.9997', '0.9997', '0.25', '1')
    """
    text = f"{value:.{digits}g}"
    while value < limit <= float(text):
        digits += 1
        text = f"{value:.{digits}g}"
    return text


def level_text(level: float) -> str:
    """A confidence level in percent.

    >>> level_text(0.95), level_text(0.999999)
    ('95 %', '99.9999 %')
    """
    return f"{below(100 * level, 100, 4)} %"
