"""Sparse weights by layer: densities, chosen encodings, savings, and break-even densities."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ...analysis.sparse.layer_cost import Layer, break_even
from ...formats.sparse.index_formats import Format, Kind
from ...formats.sparse.nonzero import Nonzero
from .bars import Bar, bar_chart
from .html import Child, join, meter, name_cell, table, tag
from .line_chart import Limit, Line, line_chart
from .page import Section
from .scale import Unit
from .words import by, in_bytes, percent, significant

if TYPE_CHECKING:
    from ...chips import Chip
    from ...transforms.shared.sparse_plan import PlannedWeight

DENSITIES = (0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.65, 0.8, 1.0)
"""Points of the break-even curves."""
CURVES = ("mpu", "vpu", "dau", "load")
"""Colours of the curves; their number limits the number of curves."""
LARGEST = 1 << 24
"""Largest number of weights of a layer with a curve, which takes seconds for larger layers."""


@dataclass(frozen=True)
class SparseLayer:
    """A weight of a matrix product or convolution, and what was decided for it."""

    name: str
    shape: tuple[int, ...]
    element: str
    """The type of the elements, as IR spells it."""
    density: float
    format: Format | None
    """None: dense."""
    dense_bytes: int
    nbytes: int
    dense_cycles: float | None
    """Estimated cycles of the layer; None if the choice is by bytes."""
    cycles: float | None
    layer: Layer
    reason: str = ""
    """The reason why the weights stay dense; "" if they do not."""
    neurons: Nonzero | None = None
    """The density of the activations, if it was measured."""
    neurons_encoded: bool = False
    """Whether their zeros are skipped at run time."""


def sparse_layers(plans: Sequence[PlannedWeight]) -> list[SparseLayer]:
    """The decisions as plain data, because later passes may change the operations."""
    from ...dialects.dataflow.types import element_of
    from ...transforms.shared.sparse_plan import layer_of

    return [
        SparseLayer(
            plan.use.name, tuple(plan.use.fibers.shape), str(element_of(plan.use.source.result)), plan.choice.density,
            plan.choice.format, plan.choice.dense_bytes,
            plan.choice.nbytes if plan.chosen is None else plan.chosen.nbytes,
            None if plan.dense is None else plan.dense.cycles, None if plan.chosen is None else plan.chosen.cycles,
            layer_of(plan.use), plan.reason, plan.neurons, plan.encode_neurons,
        )
        for plan in plans
    ]  # fmt: skip


def sparse_section(layers: Sequence[SparseLayer], chip: Chip | None, taken: bool = True) -> Section:
    """The layers as a table and, with a chip, break-even curves for it; `taken`: the network was compiled that way."""
    timed = [one for one in layers if one.dense_cycles is not None and one.cycles is not None]
    before, after = sum(one.dense_bytes for one in layers), sum(one.nbytes for one in layers)
    bars = [
        Bar("bytes, dense", before, in_bytes(before), "host"),
        Bar("bytes, as chosen", after, in_bytes(after), "map"),
    ]
    parts: list[Child] = [bar_chart("bytes of weights, dense and as chosen", bars)]
    if timed:
        dense, chosen = (sum(getattr(one, name) for one in timed) for name in ("dense_cycles", "cycles"))
        bars = [
            Bar("cycles, dense", dense, f"{dense:,.0f}", "host"),
            Bar("cycles, as chosen", chosen, f"{chosen:,.0f}", "map"),
        ]
        parts.append(bar_chart("estimated cycles, dense and as chosen", bars))
    parts.append(_table(layers, bool(timed)))
    if chip is not None and (curves := _curves(layers, chip)):
        parts += [tag("h3", "Break-even densities of encoded weights"), curves]
    note = (
        "The density is the share of weights that are not zero. Each weight tensor stays dense, or gets a direct index "
        "(one bit per element) or a stride index (distances between nonzero elements), whichever takes the fewest "
    )
    note += "estimated cycles" if timed else "bytes"
    note += '; the tooltip of "dense" gives the reason.'
    if any(one.neurons is not None for one in layers):
        note += " Activations: the share that is not zero, measured in calibration."
    if not taken:
        note += " No encoding makes the whole network faster: it was compiled with dense weights."
    return Section("Sparse weights", join(parts), note)


def _table(layers: Sequence[SparseLayer], timed: bool) -> Child:
    head = ["weights", "shape", "type", "encoding", "density", "dense", "as chosen", "smaller"]
    head += ["dense cycles", "cycles", "faster"] if timed else []
    measured = any(one.neurons is not None for one in layers)
    head += ["activations"] if measured else []
    rows: list[list[Child]] = []
    for one in layers:
        encoding = tag("span", str(one.format or "dense"), title=f"dense: {one.reason}" if one.reason else None)
        row: list[Child] = [name_cell(one.name, 34), by(list(one.shape)), one.element, encoding]
        row += [meter(one.density, percent(one.density)), in_bytes(one.dense_bytes), in_bytes(one.nbytes)]
        row.append(_times(one.dense_bytes, one.nbytes))
        if timed and one.dense_cycles is not None and one.cycles is not None:
            row += [f"{one.dense_cycles:,.0f}", f"{one.cycles:,.0f}", _times(one.dense_cycles, one.cycles)]
        if measured:
            density = "" if one.neurons is None else percent(one.neurons.density)
            row.append(f"{density}, zeros skipped" if one.neurons_encoded else density)
        rows.append(row)
    return table(head, rows, 4)


def _times(before: float, after: float) -> str:
    return f"{significant(before / after)}\N{MULTIPLICATION SIGN}" if after else ""


def _curves(layers: Sequence[SparseLayer], chip: Chip) -> Child:
    """Speed against density for the layers with the most cycles, in their encoding (or with a direct index)."""
    fit = [one for one in layers if one.dense_cycles and one.layer.inputs * one.layer.outputs <= LARGEST]
    largest = sorted(fit, key=lambda one: -(one.dense_cycles or 0))[: len(CURVES)]
    lines: list[Line] = []
    for one, colour in zip(largest, CURVES, strict=False):
        format = one.format or Format(Kind.DIRECT)
        points = np.array(break_even(chip, one.layer, format, DENSITIES))
        name = f"{one.name}, {by(list(one.shape))}, {format}; its density: {percent(one.density)}"
        lines.append(Line(name, points[:, 0], points[:, 1], colour))
    if not lines:
        return ""
    note = (
        "Estimated cycles of dense over encoded random weights of each density, for the layers with the most cycles. "
        "Below the line, dense weights are faster."
    )
    chart = line_chart(
        "cycles dense over encoded by density", lines, Unit("density"), Unit("times faster than dense"),
        [Limit("as fast as dense", 1.0)],
    )  # fmt: skip
    return join([tag("p", note, class_="note"), chart])
