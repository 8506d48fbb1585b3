"""A sequential colour scale that is also readable in greyscale: from pale to dark, through orange and red."""

from __future__ import annotations

SCALE = ((0xFF, 0xF7, 0xEC), (0xFD, 0xD4, 0x9E), (0xFC, 0x8D, 0x59), (0xD7, 0x30, 0x1F), (0x7F, 0x00, 0x00))
"""Five colours of ColorBrewer's scale OrRd (colorbrewer2.org, C. Brewer)."""
UNUSABLE = "#c8ccd0"


def colour(share: float) -> str:
    """The colour `#rrggbb` of a share between 0 and 1; larger shares have the last colour."""
    at = min(max(share, 0.0), 1.0) * (len(SCALE) - 1)
    low = min(int(at), len(SCALE) - 2)
    mixed = (round(a + (b - a) * (at - low)) for a, b in zip(SCALE[low], SCALE[low + 1], strict=True))
    return "#" + "".join(f"{part:02x}" for part in mixed)
