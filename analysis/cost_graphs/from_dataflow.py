"""
The cost graph of a `dataflow` function on a chip, by a simple model: every operation is divided evenly over all cores,
and takes the time that its unit needs for the arithmetic (or, for pure movement, for the bytes).

    MPU: multiply-accumulates / (cores x array x rate of the type)
    VPU: element operations / (cores x lanes x rate of the type), at least
    DAU: bytes read and written / 2 / (cores x bytes a cycle of the local memory)

Latencies, distances and the shapes of tiles are not modelled; compilation takes them into account.
"""

from __future__ import annotations

import math

import numpy as np
from xdsl.dialects.func import FuncOp
from xdsl.ir import SSAValue

from ...chips import Chip
from ...chips.cycles import RATE_BY_WIDTH
from ...dialects.dataflow import ConstantOp, ReshapeOp, WeightOp
from ...dialects.dataflow.tiling import Box, OpCost, TilingInterface, Unit
from ...dialects.dataflow.types import element_bytes, element_of, shape_of
from .graph import CostGraph, lists_of
from .select import FORWARD


def cost_graph_of(function: FuncOp, chip: Chip, name: str = "main") -> CostGraph:
    """Operations of a function of `dataflow` operations in their order; reshapes are views and cost nothing."""
    number: dict[SSAValue, int] = {}
    kinds: list[str] = []
    values: list[SSAValue] = []

    def add(value: SSAValue, kind: str) -> int:
        number[value] = len(values)
        values.append(value)
        kinds.append(kind)
        return number[value]

    for argument in function.body.block.args:
        add(argument, "input")
    names, units = list[str](), list[str]()
    durations, flops, ins, outs = list[int](), list[int](), list[list[int]](), list[list[int]]()
    for op in function.body.block.ops:
        if isinstance(op, ReshapeOp):
            number[op.results[0]] = number[op.operands[0]]
        elif isinstance(op, ConstantOp | WeightOp):
            add(op.results[0], "weight")
        elif isinstance(op, TilingInterface):
            cost = _whole(op)
            unit, ns = operation_ns(op, chip)
            names.append(op.results[0].name_hint or op.name.removeprefix("dataflow."))
            units.append(unit)
            durations.append(ns)
            flops.append(2 * cost.macs if cost.matmul is not None else cost.vpu_ops)
            ins.append(list(dict.fromkeys(number[value] for value in op.operands)))
            outs.append([add(op.results[0], "act")])
    unit_names = tuple(dict.fromkeys(units))
    sizes = [math.prod(shape_of(value)) * element_bytes(element_of(value)) for value in values]
    return CostGraph(
        name,
        tuple(names),
        tuple(range(len(names))),
        unit_names,
        np.array([unit_names.index(unit) for unit in units], np.int64),
        np.array(durations, np.int64),
        np.array(flops, np.int64),
        (FORWARD,) * len(names),
        lists_of(ins),
        lists_of(outs),
        tuple(range(len(values))),
        tuple(kinds),
        tuple(shape_of(value) for value in values),
        np.array(sizes, np.int64),
    )


def operation_ns(op: TilingInterface, chip: Chip) -> tuple[Unit, int]:
    """(unit, ns, rounded up) of a whole operation divided over the chip's cores."""
    cost = _whole(op)
    return cost.unit, math.ceil(_cycles(cost, chip, _bytes_each(op)) / chip.clock_ghz)


def _whole(op: TilingInterface) -> OpCost:
    return op.cost(Box.whole(tuple(dim.size for dim in op.iteration_space())))


def _bytes_each(op: TilingInterface) -> int:
    """Bytes of an element of the first operand, which determines the rate of a unit."""
    return element_bytes(element_of(op.operands[0] if op.operands else op.results[0]))


def _cycles(cost: OpCost, chip: Chip, item_bytes: int) -> float:
    cores = len(chip.usable_cores)
    rate = RATE_BY_WIDTH.get(item_bytes, 1)
    if cost.matmul is not None:
        return cost.macs / (cores * chip.mpu_rows * chip.mpu_cols * rate)
    if cost.unit == "DAU":
        return cost.bytes_moved / 2 / (cores * chip.sram_bytes_per_cycle)
    return cost.vpu_ops / (cores * chip.vpu_lanes * rate)
