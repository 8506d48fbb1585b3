"""Pass `sparse-balance-lanes`: permute output channels so that the lanes of a matrix unit have similar work."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass

from ..analysis.planning.split_inputs import best_split
from ..analysis.semantic_effect import SemanticEffect, reassociating
from ..analysis.sparse.balance_lanes import balance_panels, even_panels, panel_work
from ..analysis.sparse.layer_cost import Layer, LayerCost, Objective, best_panels, panel_widths
from ..analysis.sparse.smallest_encoding import Choice, all_choices
from ..chips import Chip
from ..chips.cycles import encoded_lanes, load_cycles
from ..dialects.dataflow import Contraction
from ..dialects.dataflow.types import element_of, shape_of
from ..dialects.dataflow.unroll_loops import unroll_loops
from ..dialects.locations import keeps_location
from ..formats.sparse.bits import Ints
from ..formats.sparse.encode import Mask
from .shared.channel_provenance import ChannelAxis, Channels
from .shared.chip_option import chip_for
from .shared.constants import Doubles, constant_array, constant_source, source_name, source_of
from .shared.contraction_weights import WeightUse, stored_values, weight_uses
from .shared.rewrite_once import erase_unread
from .shared.sparse_plan import layer_of, on_panels
from .shared.split_operator import insert_before
from .sparse_split_inputs import may_split

ROUNDS = 4
"""Largest number of channels that a lane processes in turn; with several, dense and sparse channels are balanced."""
EVEN_PANELS_RATIO = 0.9
"""
Panels of similar size are chosen only if layers then take less than this share of the cycles; estimates err by less.
"""
ACCEPT_RATIO = 0.99
"""Channels are permuted only if layers then take less than this share of their price (`LayerCost.price`)."""


@dataclass(frozen=True)
class Balanced:
    """The result of permuting the channels of some contractions."""

    names: tuple[str, ...]
    """Names of their weights."""
    before: float
    """Useful cycles of the lanes over all cycles, with channels in the order of the network."""
    after: float


@dataclass(frozen=True)
class SparseBalanceLanesPass(ModulePass):
    """
    Order the output channels of contractions with constant weights by their numbers of weights that are not zero, so
    that the columns of a matrix unit (`chip`'s, or the module's) get similar work.

    The same permutation is applied to later constants with these channels: biases and scales, and the input channels of
    the contractions that read them. Channels are not permuted if the order would be visible, as in results of the
    network.

    With `objective=loads`, panels of layers bound by their weights are chosen for the fewest loads.
    """

    name = "sparse-balance-lanes"
    semantic_effect: ClassVar[SemanticEffect] = reassociating(1e-5)

    chip: str | None = None
    objective: Objective = "cycles"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        unroll_loops(op)
        chip = chip_for(op, self.chip, f"{self.name}{{chip=NAME}}")
        balance_lanes(op, chip, self.objective)


def balance_lanes(module: ModuleOp, chip: Chip, objective: Objective = "cycles") -> list[Balanced]:
    """Permute channels if that helps a chip's matrix units. Returns the results."""
    uses = {use.op: use for use in weight_uses(module) if use.position == 1}
    seen: set[SSAValue] = set()
    reports: list[Balanced] = []
    edits: dict[tuple[Operation, int], list[tuple[ChannelAxis, Ints]]] = {}
    for use in uses.values():
        if use.op.results[0] in seen:
            continue
        channels = Channels()
        result = use.op.results[0]
        axis = use.op.result_axis(use.position)
        channels.follow(result, ChannelAxis(axis, shape_of(result)[axis]))
        seen.update(channels.axes)
        if channels.fixed or (found := _order(channels, uses, chip, objective)) is None:
            continue
        permutation, report = found
        reports.append(report)
        for edit in channels.edits:
            edits.setdefault((edit.op, edit.operand), []).append((edit.axis_of_channels, permutation))
    for (op, operand), orders in edits.items():
        _reorder(op, operand, orders)
    return reports


def _order(
    channels: Channels, uses: dict[Contraction, WeightUse], chip: Chip, objective: Objective
) -> tuple[Ints, Balanced] | None:
    """The best order of the channels; None if the present one is as good."""
    producers: list[_Producer] = []
    for edit in (edit for edit in channels.edits if edit.produces):
        if not isinstance(edit.op, Contraction) or (use := uses.get(edit.op)) is None:
            return None
        axis_of_channels = edit.axis_of_channels
        if use.position != edit.operand or (
            axis_of_channels.outer,
            axis_of_channels.inner,
            axis_of_channels.offset,
        ) != (1, 1, 0):
            return None
        if on_panels(use):
            producers.append(_Producer.of(use, chip, objective))
    if not producers:
        return None
    total: Doubles = np.sum([producer.work for producer in producers], axis=0)
    lanes, _ = encoded_lanes(chip)
    rounds = range(1, min(ROUNDS, -(-len(total) // chip.mpu_cols)) + 1)
    widths = {-(-len(total) // -(-len(total) // (count * chip.mpu_cols))) for count in rounds}
    if lanes == 1:  # only panels differ
        widths |= {width for one in producers for width in panel_widths(chip, one.layer, one.choice)}
    if any(producer.splits for producer in producers):
        widths.add(len(total))  # parts of the inputs have all outputs
    widths = sorted(widths)
    stays = np.arange(len(total))
    price, cycles = _price(producers, stays)
    orders = [balance_panels(total, width, lanes) for width in widths]
    found = [(_price(producers, order)[0], order) for order in orders]
    if lanes > 1:  # Panels of similar size load faster, but their lanes wait more.
        even = [(*_price(producers, order), order) for order in (even_panels(total, width, lanes) for width in widths)]
        if min(one[1] for one in even) < EVEN_PANELS_RATIO * cycles:
            found += [(other, order) for other, taken, order in even if taken < cycles]
    best, order = min(found, key=lambda one: one[0])
    if best >= price * ACCEPT_RATIO:
        return None
    names = tuple(producer.use.name for producer in producers)
    return order, Balanced(names, _efficiency(producers, stays), _efficiency(producers, order))


@dataclass(frozen=True, eq=False)
class _Producer:
    """A contraction that computes the channels."""

    use: WeightUse
    chip: Chip
    layer: Layer
    mask: Mask
    """[channels, inputs] mask of the weights that are not zero"""
    choice: Choice
    splits: bool
    """Whether the inputs may be cut (`sparse-split-inputs`)."""
    work: Doubles
    """Work of a lane for each channel, if the rows are divided over the cores."""

    @staticmethod
    def of(use: WeightUse, chip: Chip, objective: Objective) -> _Producer:
        values, layer = stored_values(use.source), layer_of(use, objective=objective)
        mask, choices = use.mask, all_choices(values, use.fibers)[1:]
        stored = mask.sum(axis=1)
        rows = max(1, use.rows // len(chip.usable_cores))
        each = (load_cycles(chip) + rows) / (chip.mpu_rows * layer.rate)
        choice = min(choices, key=lambda choice: choice.nbytes)
        return _Producer(use, chip, layer, mask, choice, may_split(use), each * stored)

    def cost(self, order: Ints) -> LayerCost:
        """Cost of the layer with its channels in this order."""
        if self.splits:
            return best_split(self.chip, self.layer, self.mask[order], self.choice).cost
        return best_panels(self.chip, self.layer, self.mask[order], self.choice)


def _price(producers: list[_Producer], order: Ints) -> tuple[float, float]:
    """(price by which panels are compared, cycles) of all layers with their channels in this order."""
    costs = [producer.cost(order) for producer in producers]
    return sum(cost.price for cost in costs), sum(cost.cycles for cost in costs)


def _efficiency(producers: list[_Producer], order: Ints) -> float:
    """Useful cycles of the lanes over all cycles, with channels in this order, in the best panels."""
    useful = spent = 0.0
    for producer in producers:
        panels = producer.cost(order).panels
        assert panels is not None
        lanes = min(encoded_lanes(producer.chip)[0], panels.width)
        useful += float(producer.work.sum())
        spent += lanes * panel_work(producer.work[order], panels.width, lanes)
    return useful / spent if spent else 1.0


@keeps_location
def _reorder(op: Operation, operand: int, orders: list[tuple[ChannelAxis, Ints]]) -> None:
    """Permute a constant operand of an operation."""
    value = op.operands[operand]
    source, array = constant_source(value), constant_array(value)
    assert source is not None
    assert array is not None
    array = np.broadcast_to(array, shape_of(value))
    for axis_of_channels, permutation in orders:
        array = np.take(
            array, axis_of_channels.order(array.shape[axis_of_channels.axis], permutation), axis=axis_of_channels.axis
        )
    new = source_of(np.ascontiguousarray(array), element_of(value), f"{source_name(source)}_balanced")
    new.results[0].name_hint = value.name_hint
    op.operands[operand] = insert_before(new, op)
    erase_unread(value)
