"""Numbers and tables for people: Markdown that also reads well in a terminal."""


def compact(number):
    """Three digits and a unit.

    >>> compact(1_234_567), compact(8_123), compact(0.5)
    ('1.23 M', '8.12 k', '0.5')
    """
    for size, unit in ((1e9, " G"), (1e6, " M"), (1e3, " k")):
        if number >= size:
            scaled = number / size
            return f"{scaled:.{max(0, 2 - (scaled >= 10) - (scaled >= 100))}f}{unit}"
    return f"{number:.3g}"


def markdown(header, rows):
    """A table with aligned columns: the first one to the left, the others to the right."""
    cells = [list(map(str, row)) for row in (header, *rows)]
    widths = [max(len(row[i]) for row in cells) for i in range(len(header))]
    lines = [
        "| " + " | ".join(_aligned(cell, width, i) for i, (cell, width) in enumerate(zip(row, widths, strict=True))) + " |" for row in cells
    ]
    rule = "|" + "|".join("-" * (width + 2) if i == 0 else "-" * (width + 1) + ":" for i, width in enumerate(widths)) + "|"
    return "\n".join([lines[0], rule, *lines[1:]])


def _aligned(cell, width, column):
    return cell.ljust(width) if column == 0 else cell.rjust(width)
