"""Memory maps of a core: each buffer is a rectangle over addresses and tasks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from .html import Markup, tag
from .style import fill
from .svg import WIDTH, drawing, line, rect, round_up, text, ticks
from .words import in_bytes

HEIGHT, LEFT, TOP = 300, 74, 6
PLOT = WIDTH - LEFT


@dataclass(frozen=True)
class Block:
    """A buffer: its addresses, and the first and last task at which it is in use."""

    name: str
    address: int
    size: int
    first: int
    last: int
    colour: str


def alive_bytes(blocks: Sequence[Block], tasks: int) -> list[int]:
    """Bytes of the buffers in use at each task; their maximum is a lower bound of every allocation."""
    change = [0] * (tasks + 1)
    for block in blocks:
        change[block.first] += block.size
        change[block.last + 1] -= block.size
    alive: list[int] = []
    for number in range(tasks):
        alive.append(change[number] + (alive[-1] if alive else 0))
    return alive


def memory_map(label: str, blocks: Sequence[Block], tasks: Sequence[str], capacity: int) -> Markup:
    """
    Vertical axis: addresses; horizontal axis: tasks. The line shows the bytes in use.

    The axis ends at the capacity, or earlier if less than half of it is used.
    """
    peak = max((block.address + block.size for block in blocks), default=0)
    unit = 1024 if peak >= 1024 else 1
    end = capacity if 2 * peak >= capacity else min(round_up(peak / unit, 6) * unit, capacity)
    down, across = HEIGHT / (end or 1), PLOT / max(len(tasks), 1)
    ground = TOP + HEIGHT
    parts: list[Markup] = [rect(LEFT, TOP, PLOT, HEIGHT, class_="track")]
    for value in ticks(end / unit, 6):
        y = ground - value * unit * down
        parts += [
            line(LEFT, y, WIDTH, y, class_="axis", stroke_opacity=0.6),
            text(LEFT - 8, y + 4, in_bytes(value * unit), "small muted end"),
        ]
    for block in blocks:
        x, width = LEFT + block.first * across, (block.last - block.first + 1) * across
        y, height = ground - (block.address + block.size) * down, block.size * down
        until = f" to {block.last}" if block.last > block.first else ""
        title = tag("title", f"{block.name}: {in_bytes(block.size)} at {block.address}, task {block.first}{until}")
        inset = 0.5 if across > 4 and height > 2 else 0.0
        style = {"style": fill(block.colour), "fill_opacity": 0.85}
        parts.append(rect(x + inset, y + inset, width - 2 * inset, height - 2 * inset, title, **style))
    path = ""
    for number, alive in enumerate(alive_bytes(blocks, len(tasks))):
        y = ground - alive * down
        path += f"{'L' if path else 'M'}{LEFT + number * across:.1f} {y:.1f}H{LEFT + (number + 1) * across:.1f}"
    if path:
        parts.append(tag("path", d=path, fill="none", style="stroke:var(--ink)", stroke_width=1.3))
    every = max(1, round(22 / across + 0.5))
    for number, name in enumerate(tasks):
        if number % every == 0:
            x = LEFT + (number + 0.5) * across
            parts.append(tag("text", tag("title", name), str(number), x=x, y=ground + 14, class_="small muted middle"))
    return drawing(WIDTH, ground + 20, label, *parts)
