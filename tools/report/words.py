"""Numbers as text for readers."""

from __future__ import annotations


def in_bytes(value: float) -> str:
    """Bytes with a binary prefix, three digits: `98.9 KiB`."""
    if value < 1024:
        return f"{value:.0f} B"
    for prefix in ("KiB", "MiB", "GiB", "TiB"):
        value /= 1024
        if value < 999.5 or prefix == "TiB":
            break
    return f"{significant(value)} {prefix}"


def significant(value: float) -> str:
    """Three significant digits, not in powers of ten; whole numbers stay whole."""
    if value == round(value) or abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{value:.2f}" if abs(value) < 10 else f"{value:.1f}"


def percent(share: float) -> str:
    """A share of 1 in percent, one decimal; a positive share is never shown as 0."""
    if 0 < share < 0.0005:
        return "<0.1%"
    return f"{100 * share:.1f}%"


def by(sizes: tuple[int, ...] | list[int]) -> str:
    """Sizes of dimensions: `1 x 4 x 2`."""
    return "\N{MULTIPLICATION SIGN}".join(str(size) for size in sizes)


def plural(count: int, noun: str) -> str:
    """`1 task`, `2 tasks`."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def middle_out(name: str, room: int) -> str:
    """A name shortened to `room` characters without its middle part, because names often differ in their ends only."""
    if len(name) <= room:
        return name
    head = (room - 1) // 3
    return f"{name[:head]}\N{HORIZONTAL ELLIPSIS}{name[len(name) - (room - 1 - head) :]}"


def compact(value: int) -> str:
    """A count in four digits, or in three with a decimal prefix: `9,999`, `1.63 M`."""
    scaled, prefix = float(value), ""
    for following in ("k", "M", "G", "T"):
        if scaled < (999.5 if prefix else 9999.5):
            break
        scaled, prefix = scaled / 1000, following
    return f"{significant(scaled)} {prefix}" if prefix else f"{value:,}"
