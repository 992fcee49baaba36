"""Numbers as people read them: the same digits in tables, on screens, in statements and in messages."""

from __future__ import annotations

from math import ceil, exp, floor, inf, isfinite, log, log10

LARGE = 100.0
"""An epsilon whose e^epsilon is shown as a power of ten."""


def number(value: float) -> str:
    """Return a number in three significant digits, or whole from a thousand on.

    >>> number(12345.6), number(-1234.5), number(999.7), number(0.01234), number(19.2), number(0.99966), number(-0.0)
    ('12,346', '-1,234', '1,000', '0.0123', '19.2', '0.9997', '0')
    """
    return f"{value + 0.0:,.0f}" if value == 0 or 999.5 <= abs(value) < 1e15 else below(value, 1, 3)


def percent(share: float, decimals: int | None = None) -> str:
    """Return a share, in three significant digits or in so many decimals. What is not certain never shows as 100 %.

    >>> percent(0.0191), percent(0.99999), percent(0.12345, 1), percent(0.9999, 1), percent(-0.004, 0), percent(-0.02, 1), percent(9.997)
    ('1.91 %', '99.999 %', '12.3 %', '99.99 %', '0 %', '-2.0 %', '1,000 %')
    """
    if decimals is None:
        return f"{below(100 * share, 100, 3) if 0 < abs(share) < 1 else number(100 * share)} %"
    text = f"{100 * share:.{decimals}f}"
    while 100 * share < 100 <= float(text):
        decimals += 1
        text = f"{100 * share:.{decimals}f}"
    return f"{text.lstrip('-') if float(text) == 0 else text} %"


def digits(width: float) -> int:
    """Return how many decimals of a percentage an interval of this width is worth.

    >>> [digits(width) for width in (0.3, 0.026, 0.0026, 0.0)]
    [0, 1, 2, 4]
    """
    return 4 if width <= 0 else min(max(1 - floor(log10(100 * width)), 0), 4)


def between(low: float, high: float, decimals: int) -> str:
    """Return an interval of shares."""
    return f"{percent(low, decimals)} to {percent(high, decimals)}"


def below(value: float, limit: float, significant: int) -> str:
    """Return a number in so many significant digits, or in more where rounding would make it reach a limit that it stays below.

    >>> below(0.99966, 1, 3), below(0.99966, 1, 4), below(0.25, 1, 3), below(1.0, 1, 3)
    ('0.9997', '0.9997', '0.25', '1')
    """
    text = f"{value:.{significant}g}"
    while value < limit <= float(text):
        significant += 1
        text = f"{value:.{significant}g}"
    return text


def confidence(level: float) -> str:
    """Return a confidence level.

    >>> confidence(0.95), confidence(0.999999)
    ('95 %', '99.9999 %')
    """
    return f"{below(100 * level, 100, 4)} %"


def epsilon_text(epsilon: float) -> str:
    """Return the privacy parameter.

    >>> epsilon_text(0.5), epsilon_text(inf)
    ('0.5', 'infinite: nothing is hidden')
    """
    return f"{epsilon:.4g}" if isfinite(epsilon) else "infinite: nothing is hidden"


def epsilon_up(epsilon: float) -> str:
    """Return a promised epsilon in four decimals, rounded up: a promise is not rounded down.

    >>> epsilon_up(1.0), epsilon_up(0.1 * 3), epsilon_up(0.69315), epsilon_up(2.00001), epsilon_up(1e-12)
    ('1', '0.3', '0.6932', '2.0001', '0.0001')
    """
    if epsilon == inf:
        return "infinite"
    return f"{ceil(epsilon * 10_000 * (1 - 1e-12)) / 10_000:,.4f}".rstrip("0").rstrip(".")


def factor_up(epsilon: float) -> str:
    """e^epsilon in two decimals, rounded up: how many times as likely one answer can make a report as another.

    >>> factor_up(1.0), factor_up(0.0), factor_up(800.0), factor_up(inf)
    ('2.72', '1.00', '10^348', 'infinitely many')
    """
    if epsilon > LARGE:
        return f"10^{ceil(epsilon / log(10))}" if epsilon < inf else "infinitely many"
    return f"{ceil(exp(epsilon) * 100) / 100:,.2f}"
