"""Tables as lines of text."""

from __future__ import annotations

from collections.abc import Sequence


def table(rows: Sequence[Sequence[str]]) -> str:
    """Rows below a header; the first and the last column are aligned to the left."""
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]

    def line(row: Sequence[str]) -> str:
        first, *numbers, last = row
        cells = [
            first.ljust(widths[0]),
            *(text.rjust(width) for text, width in zip(numbers, widths[1:-1], strict=True)),
        ]
        return "  " + "  ".join([*cells, last]).rstrip()

    return "\n".join(map(line, rows))
