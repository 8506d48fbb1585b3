"""A heat map as PNG, drawn by matplotlib (extra `report`)."""

from __future__ import annotations

import io
from typing import Any

from ...support.errors import InputError
from .colours import SCALE
from .heat import SIDE, HeatMap


def to_png(heat: HeatMap) -> bytes:
    """The picture as the bytes of a PNG file. Raises InputError if matplotlib is not installed."""
    try:
        import matplotlib
    except ImportError as error:
        raise InputError(
            "a picture as PNG needs matplotlib (pip install 'meshloom[report]'); FILE.svg needs no package"
        ) from error
    matplotlib.use("Agg")
    from matplotlib.cm import ScalarMappable
    from matplotlib.collections import PatchCollection
    from matplotlib.colors import LinearSegmentedColormap, Normalize
    from matplotlib.figure import Figure
    from matplotlib.patches import Rectangle

    across, down = heat.columns[-1] + SIDE, heat.rows[-1] + SIDE
    width = min(max(0.5 * across, 6.0), 14.0)
    figure: Any = Figure(figsize=(width + 1.2, width * down / across + 1.4), dpi=100, layout="constrained")
    axes: Any = figure.add_subplot()
    boxes: list[Rectangle] = []
    paints: list[str] = []
    for x1, y1, x2, y2, thick, paint in heat.lines():
        half = thick / 2
        upright = x1 == x2
        boxes.append(
            Rectangle((x1 - half, y1), thick, y2 - y1) if upright else Rectangle((x1, y1 - half), x2 - x1, thick)
        )
        paints.append(paint)
    axes.add_collection(PatchCollection(boxes, facecolors=paints))
    squares = list(heat.tiles())
    cores = [Rectangle((x, y), SIDE, SIDE) for x, y, _ in squares]
    axes.add_collection(
        PatchCollection(cores, facecolors=[paint for _, _, paint in squares], edgecolors="#555555", linewidths=0.4)
    )
    axes.set(xlim=(-0.3, across + 0.3), ylim=(down + 0.3, -0.3), aspect="equal")
    axes.set_axis_off()
    axes.set_title(f"{heat.title}\n{heat.core_legend}\n{heat.link_legend}", fontsize=9, loc="left")
    colours = LinearSegmentedColormap.from_list("load", [tuple(part / 255 for part in entry) for entry in SCALE])
    figure.colorbar(ScalarMappable(Normalize(0, 100), colours), ax=axes, shrink=0.7, label="%")
    data = io.BytesIO()
    # Without metadata: the same mapping gives the same bytes.
    figure.savefig(data, format="png", metadata={"Software": None})
    return data.getvalue()
