"""A heat map as SVG, written without a library; any browser shows it."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape

from .colours import UNUSABLE, colour
from .heat import SIDE, HeatMap

MARGIN = 24
TEXT = 13


def to_svg(heat: HeatMap) -> str:
    """The picture as the text of an SVG file."""
    return "\n".join(_elements(heat)) + "\n"


def _elements(heat: HeatMap) -> Iterator[str]:
    mesh = heat.mesh
    pitch = max(10.0, min(56.0, 1000 / max(mesh.width, mesh.height)))
    across = (heat.columns[-1] + SIDE) * pitch
    down = (heat.rows[-1] + SIDE) * pitch
    captions = [heat.title, heat.core_legend, heat.link_legend]
    width = max(across, max(len(text) for text in captions) * TEXT * 0.56, 360) + 2 * MARGIN
    top = MARGIN + len(captions) * TEXT * 1.5
    height = top + down + 2 * MARGIN + 2 * TEXT
    yield (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height:.0f}" '
        f'viewBox="0 0 {width:.0f} {height:.0f}" font-family="sans-serif" font-size="{TEXT}">'
    )
    yield '<rect width="100%" height="100%" fill="#ffffff"/>'
    for line, text in enumerate(captions):
        weight = ' font-weight="bold"' if line == 0 else ""
        yield f'<text x="{MARGIN}" y="{MARGIN + line * TEXT * 1.5:.1f}"{weight}>{escape(text)}</text>'
    yield f'<g transform="translate({MARGIN} {top:.1f}) scale({pitch:.4g})">'
    for x1, y1, x2, y2, thick, paint in heat.lines():
        yield (
            f'<line x1="{x1:.3f}" y1="{y1:.3f}" x2="{x2:.3f}" y2="{y2:.3f}" stroke="{paint}" '
            f'stroke-width="{thick:.3f}"/>'
        )
    for core, (x, y, paint) in enumerate(heat.tiles()):
        share = heat.cores[core]
        meaning = "not usable" if share != share else f"{share:.1%} of the capacity"
        yield (
            f'<rect x="{x:.3f}" y="{y:.3f}" width="{SIDE}" height="{SIDE}" fill="{paint}" stroke="#555555" '
            f'stroke-width="0.02"><title>core {core}: {meaning}</title></rect>'
        )
    yield "</g>"
    yield from _scale(top + down + MARGIN)
    yield "</svg>"


def _scale(y: float) -> Iterator[str]:
    steps, box = 10, 20
    for step in range(steps):
        yield f'<rect x="{MARGIN + step * box}" y="{y:.1f}" width="{box}" height="{TEXT}" fill="{colour(step / 9)}"/>'
    yield f'<text x="{MARGIN}" y="{y + 2 * TEXT:.1f}">0</text>'
    yield f'<text x="{MARGIN + steps * box}" y="{y + 2 * TEXT:.1f}" text-anchor="end">100%</text>'
    x = MARGIN + (steps + 1) * box
    yield f'<rect x="{x}" y="{y:.1f}" width="{box}" height="{TEXT}" fill="{UNUSABLE}"/>'
    yield f'<text x="{x + 1.3 * box}" y="{y + TEXT * 0.9:.1f}">not usable</text>'
