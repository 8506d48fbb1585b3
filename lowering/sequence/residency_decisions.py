"""
The memory of values that subgraphs share between launches: as specified in the IR, otherwise as decided.

`manycore.subgraph` specifies this for its results and weights. For an input that several subgraphs read, the attribute
`RESIDENCE` of the argument of `@main` does, for a result that stays in DRAM for another chip, that of the result.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, UnitAttr
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation, OpResult, SSAValue

from ...analysis.planning.network_plan import storage_root
from ...dialects.locations import located
from ...dialects.manycore import SubgraphOp
from ...dialects.memory.attributes import Space, SpaceAttr
from ...support.errors import InputError
from ..ir.residence_attribute import RESIDENCE, spaces_of_arguments
from .dram_residency import Decisions
from .launch_sequence import LaunchSequence


@dataclass(frozen=True)
class Residence:
    """The residency that a subgraph specifies."""

    values: Mapping[SSAValue, Space] = field(default_factory=dict[SSAValue, Space])
    """The memory that keeps its results, which are values of the function, between launches."""
    weights: Space | None = None
    """The memory that keeps its weights."""
    alone: bool | None = None
    """Whether no copies run concurrently with its launch."""

    @staticmethod
    def of(op: SubgraphOp) -> Residence:
        """The residency that the text of a subgraph specifies."""
        if not op.specifies_residence:
            return Residence()
        spaces = [one.data for one in op.residence or ()]
        values = dict(zip(map(storage_root, op.yielded), spaces, strict=False))
        return Residence(values, op.weights.data if op.weights is not None else None, op.alone is not None)

    @staticmethod
    def together(parts: Sequence[Residence]) -> Residence:
        """
        The residency of subgraphs that become one: that of all results, and that of weights and copies if they agree.
        """
        values = {value: space for part in parts for value, space in part.values.items()}
        weights, alone = {part.weights for part in parts}, {part.alone for part in parts}
        return Residence(values, weights.pop() if len(weights) == 1 else None, alone.pop() if len(alone) == 1 else None)

    def of_copies(self, copies: Mapping[Operation, Operation]) -> Residence:
        """The same residency for copies of the operations."""
        values: dict[SSAValue, Space] = {
            copies[value.owner].results[value.index]: space
            for value, space in self.values.items()
            if isinstance(value, OpResult) and value.owner in copies
        }
        return Residence(values, self.weights, self.alone)

    def write(self, op: SubgraphOp, results: Sequence[SSAValue]) -> None:
        """Write the residency to a subgraph with these results."""
        spaces = [self.values.get(storage_root(value)) for value in results]
        known = [SpaceAttr(space) for space in spaces if space is not None]
        op.residence = ArrayAttr(known) if known and len(known) == len(spaces) else None
        op.weights = None if self.weights is None else SpaceAttr(self.weights)
        op.alone = UnitAttr() if self.alone else None


def given_decisions(function: FuncOp, sequence: LaunchSequence, specified: Sequence[Residence]) -> Decisions:
    """The decisions that the IR specifies: `specified` by the subgraphs, and by arguments of the function."""
    values: dict[int, bool] = {}
    for number, space in zip(_inputs(sequence), spaces_of_arguments(function), strict=True):
        if number is not None and space is not None:
            values[number] = space is Space.HOST
    for part, one in zip(sequence.parts, specified, strict=True):
        for value, number in zip(part.values, part.results, strict=True):
            if value in one.values:
                values[number] = one.values[value] is Space.HOST
    for number, value in enumerate(sequence.values):
        if value.stays_in_dram and values.setdefault(number, False):
            message = "a result of @main stays in dram, but its subgraph keeps it on the host: specify dram for both"
            raise located(InputError(message), function)
    weights = {launch: one.weights is Space.HOST for launch, one in enumerate(specified) if one.weights is not None}
    alone = {launch: one.alone for launch, one in enumerate(specified) if one.alone is not None}
    return Decisions(values, weights, alone)


def residence_of(sequence: LaunchSequence, decided: Decisions, launch: int, results: Sequence[SSAValue]) -> Residence:
    """The residency that was decided for a launch with these results."""
    part = sequence.parts[launch]
    on_host = {value for value, number in zip(part.values, part.results, strict=True) if decided.values[number]}
    roots = map(storage_root, results)
    values = {root: Space.HOST if root in on_host else Space.DRAM for root in roots}
    weights = (Space.HOST if decided.weights.get(launch) else Space.DRAM) if part.constants else None
    return Residence(values, weights, decided.alone.get(launch, False))


def write_inputs(function: FuncOp, sequence: LaunchSequence, decided: Decisions) -> None:
    """Write the memory that was decided for each input that several launches read to its attribute `RESIDENCE`."""
    attributes = [dict(one.data) for one in function.arg_attrs or [DictionaryAttr({})] * len(function.body.block.args)]
    for number, one in zip(_inputs(sequence), attributes, strict=True):
        one.pop(RESIDENCE, None)
        if number is not None and len(sequence.values[number].readers) > 1:
            one[RESIDENCE] = SpaceAttr(Space.HOST if decided.values.get(number) else Space.DRAM)
    if attributes:
        function.arg_attrs = ArrayAttr([DictionaryAttr(one) for one in attributes])


def _inputs(sequence: LaunchSequence) -> list[int | None]:
    """The number of the value of each input; None for an input that is copied in several blocks."""
    return [one.segments[0].number if len(one.segments) == 1 else None for one in sequence.inputs]
