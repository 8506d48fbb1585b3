"""The last text that was read from each file, so that errors can show the line."""

from __future__ import annotations

SHOWN = 160
"""Characters of a line that are shown at most."""

_texts: dict[str, tuple[str, int]] = {}


def remember(name: str, text: str, lines_before: int = 0) -> None:
    """Record a text that is read now, with the number of lines of its file before it."""
    _texts[name] = text, lines_before


def excerpt(name: str, line: int, column: int) -> str | None:
    """A line (from 1) of a text that was read, with a caret below the column; None if it is not known."""
    if name not in _texts or column < 1 or line <= _texts[name][1]:
        return None
    text, before = _texts[name]
    lines = text.split("\n", line - before)
    if not 1 <= line - before <= len(lines):
        return None
    found = "".join(char if char.isprintable() else " " for char in lines[line - before - 1].rstrip())
    start = max(0, column - SHOWN // 2) if len(found) > SHOWN else 0
    shown = found[start : start + SHOWN]
    left, right = "..." * (start > 0), "..." * (start + SHOWN < len(found))
    return f"{left}{shown}{right}\n{' ' * (len(left) + column - 1 - start)}^"
