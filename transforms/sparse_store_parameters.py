"""Pass `sparse-store-parameters`: convert pruned weights to parameters that store their nonzero elements only."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from xdsl.context import Context
from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, FunctionType, ModuleOp, StringAttr, UnitAttr, i1, i32
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter

from ..analysis.semantic_effect import INTERFACE_CHANGING, SemanticEffect
from ..chips import Chip
from ..dialects.dataflow import BroadcastOp, Contraction, ReshapeOp, ScatterOp, SelectOp, WeightOp
from ..dialects.dataflow.constants import numpy_type
from ..dialects.dataflow.entry_function import NAME, argument_names, find_main
from ..dialects.dataflow.types import Shape, element_of, is_float, tensor
from ..dialects.locations import at
from ..formats.sparse.bits import Ints
from ..support.errors import InputError
from .dataflow_differentiate import PARAMETER
from .shared.chip_option import chip_for
from .shared.constants import Array, source_of
from .shared.contraction_weights import stored_values
from .shared.options import Number, number
from .sparse_encode_stored import PanelPositions, best_encoding


@dataclass(frozen=True, eq=False)
class Connections:
    """The stored elements of a parameter, and their positions in storage."""

    shape: Shape
    positions: Ints
    """Numbers of the stored elements in the parameter in row-major order; in the order of storage."""
    slots: Ints
    """Position of each stored element in storage, ascending."""
    size: int
    """Number of elements of storage; those at other positions are 0."""

    @staticmethod
    def of(weights: Array) -> Connections:
        """The elements that are not zero, in row-major order."""
        positions = np.flatnonzero(weights)
        return Connections(weights.shape, positions, np.arange(len(positions)), len(positions))

    @staticmethod
    def in_panels(weights: Array, reader: Contraction, chip: Chip) -> Connections:
        """The elements that are not zero, in the order of the panels in which a contraction reads them."""
        connections = Connections.of(weights)
        cost = best_encoding(chip, reader, weights != 0)
        if cost is None or cost.panels is None:
            return connections
        numbers = np.zeros(weights.size, np.int64)
        numbers[connections.positions] = connections.positions + 1
        panels = PanelPositions.of(chip, reader, numbers.reshape(weights.shape), cost.panels)
        stored = panels.numbers.reshape(-1)
        slots = np.flatnonzero(stored)
        return Connections(weights.shape, stored[slots] - 1, slots, stored.size)

    def stored(self, weights: Array) -> Array:
        """The stored elements, [size]."""
        values = np.zeros(self.size, weights.dtype)
        values[self.slots] = weights.reshape(-1)[self.positions]
        return values

    def dense(self, values: Array) -> Array:
        """The whole parameter, zeros elsewhere."""
        whole = np.zeros(math.prod(self.shape), values.dtype)
        whole[self.positions] = values[self.slots]
        return whole.reshape(self.shape)


@dataclass(frozen=True)
class SparseStoreParametersPass(ModulePass):
    """
    Turn the float `dataflow.weight`s of matrix products and convolutions with at most the share `density` of elements
    that are not zero into parameters: inputs of their name that hold only these elements, in the order in which the
    matrix units of a chip (`chip`, or the module's) read them. The connections are constant, whatever the values
    become: a training step (`dataflow-differentiate`) changes no other elements.
    """

    name = "sparse-store-parameters"
    semantic_effect: ClassVar[SemanticEffect] = INTERFACE_CHANGING

    chip: str | None = None
    density: Number = 0.5

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        density = number("density", self.density, 0, 1)
        chip = chip_for(op, self.chip, f"{self.name}{{chip=NAME}}")
        main = find_main(op)
        names = argument_names(main)
        for weight in [one for one in main.body.block.ops if isinstance(one, WeightOp)]:
            if not is_float(element_of(weight.result)):
                continue
            connections = _connections(weight.result, stored_values(weight), chip, density)
            if connections is None:
                continue
            if (name := weight.sym_name.data) in names:
                raise InputError(f"weight '{name}' becomes an input, but the network has one of this name: rename it")
            names.append(name)
            value = _new_argument(main, names, weight.result, connections.size)
            weight.result.replace_all_uses_with(_placed(value, connections, name, weight))
            Rewriter.erase_op(weight)


def store_parameters(
    module: ModuleOp, values: Mapping[str, Array], chip: Chip, density: float = 0.5
) -> dict[str, Connections]:
    """
    Apply the pass to parameters that already are inputs, such as those of `import_with_parameters`; `values` are their
    elements. Returns the connections of the changed parameters by name.
    """
    main = find_main(module)
    found: dict[str, Connections] = {}
    first = main.body.block.first_op
    assert first is not None
    for name, argument in list(zip(argument_names(main), main.body.block.args, strict=True)):
        if name not in values or not is_float(element_of(argument)):
            continue
        connections = _connections(argument, values[name], chip, density)
        if connections is None:
            continue
        found[name] = connections
        element = element_of(argument)
        value = Rewriter.replace_value_with_new_type(argument, tensor(element, (connections.size,)))
        uses = list(value.uses)
        whole = _placed(value, connections, name, first)
        for use in uses:
            use.operation.operands[use.index] = whole
    inputs, results = [argument.type for argument in main.body.block.args], list(main.function_type.outputs)
    main.function_type = FunctionType.from_lists(inputs, results)
    return found


def _connections(value: SSAValue, weights: Array, chip: Chip, density: float) -> Connections | None:
    """The connections of weights that a product or convolution reads, if they are few enough."""
    reads = (use.operation for use in value.uses if use.index == 1)
    reader = next((op for op in reads if isinstance(op, Contraction)), None)
    if reader is None or not 0 < np.count_nonzero(weights) <= density * weights.size:
        return None
    return Connections.in_panels(weights, reader, chip)


def _placed(value: SSAValue, connections: Connections, name: str, before: Operation) -> SSAValue:
    """The dense parameter: its stored values among zeros."""
    size, element = math.prod(connections.shape), element_of(value)
    numbers, mask = np.zeros(connections.size, np.int32), np.zeros(connections.size, np.bool_)
    numbers[connections.slots], mask[connections.slots] = connections.positions, True
    with at(before):
        zero = source_of(np.zeros(1, numpy_type(element)), element, "zero")
        zeros = BroadcastOp(zero.results[0], (size,))
        positions = source_of(numbers, i32, f"{name}_places")
        # Elements of storage at other positions stay zero: they are not read, and have no gradient.
        used = [] if mask.all() else [source_of(mask, i1, f"{name}_slots")]
        values = [SelectOp(one.results[0], value, zero.results[0]) for one in used]
        flat = ScatterOp("add", zeros.result, positions.results[0], values[0].result if values else value)
        whole = ReshapeOp(flat, connections.shape)
    Rewriter.insert_op([zero, zeros, positions, *used, *values, flat, whole], InsertPoint.before(before))
    return whole.result


def _new_argument(main: FuncOp, names: Sequence[str], like: SSAValue, size: int) -> SSAValue:
    """Add an input to @main, the last of `names`, which is a parameter."""
    block = main.body.block
    value = block.insert_arg(tensor(element_of(like), (size,)), len(block.args))
    value.name_hint = like.name_hint
    main.function_type = FunctionType.from_lists([one.type for one in block.args], list(main.function_type.outputs))
    old = main.arg_attrs.data if main.arg_attrs is not None else ()
    entries = [dict(entry.data) for entry in old] + [{} for _ in range(len(names) - len(old))]
    entries[-1][PARAMETER] = UnitAttr()
    main.arg_attrs = ArrayAttr(
        DictionaryAttr({**entry, NAME: StringAttr(name)}) for entry, name in zip(entries, names, strict=True)
    )
    return value
