"""
Where values that subgraphs share are kept between launches: as specified in the IR, else as decided.

`manycore.subgraph` says it of its results and weights; of inputs that several subgraphs read, the attribute `RESIDENCE`
of the argument of `@main`; of results that stay for another chip, that of the result.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, UnitAttr
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation, OpResult, SSAValue

from ...analysis.planning.plan_network import storage_root
from ...dialects.locations import located
from ...dialects.manycore import SubgraphOp
from ...dialects.memory.attributes import Space, SpaceAttr
from ...support.errors import InputError
from ..ir.residence_attribute import RESIDENCE, said_of_arguments
from .dram_residency import Decisions
from .launch_sequence import LaunchSequence


@dataclass(frozen=True)
class Residence:
    """The residency that a subgraph specifies."""

    values: Mapping[SSAValue, Space] = field(default_factory=dict[SSAValue, Space])
    """The residency of its results, as values of the function."""
    weights: Space | None = None
    alone: bool | None = None

    @staticmethod
    def of(op: SubgraphOp) -> Residence:
        """The residency that the text of a subgraph specifies."""
        if not op.says_residence:
            return Residence()
        spaces = [one.data for one in op.residence or ()]
        values = dict(zip(map(storage_root, op.yielded), spaces, strict=False))
        return Residence(values, op.weights.data if op.weights is not None else None, op.alone is not None)

    @staticmethod
    def together(parts: Sequence[Residence]) -> Residence:
        """
        The joint residency of subgraphs that become one: of all results, and of weights and copies where they agree.
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


def given_decisions(function: FuncOp, sequence: LaunchSequence, said: Sequence[Residence]) -> Decisions:
    """The decisions that subgraphs and arguments of the function specify."""
    values: dict[int, bool] = {}
    for number, space in zip(_inputs(sequence), said_of_arguments(function), strict=True):
        if number is not None and space is not None:
            values[number] = space is Space.HOST
    for part, one in zip(sequence.parts, said, strict=True):
        for value, number in zip(part.values, part.results, strict=True):
            if value in one.values:
                values[number] = one.values[value] is Space.HOST
    for number, value in enumerate(sequence.values):
        if value.stays and values.setdefault(number, False):
            message = "a result of @main is to stay in dram, and to lie on the host between subgraphs: say dram of both"
            raise located(InputError(message), function)
    weights = {launch: one.weights is Space.HOST for launch, one in enumerate(said) if one.weights is not None}
    alone = {launch: one.alone for launch, one in enumerate(said) if one.alone is not None}
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
    """Write to the inputs that several launches read the memory that keeps them between these."""
    attributes = [dict(one.data) for one in function.arg_attrs or [DictionaryAttr({})] * len(function.body.block.args)]
    for number, one in zip(_inputs(sequence), attributes, strict=True):
        one.pop(RESIDENCE, None)
        if number is not None and len(sequence.values[number].readers) > 1:
            one[RESIDENCE] = SpaceAttr(Space.HOST if decided.values.get(number) else Space.DRAM)
    if attributes:
        function.arg_attrs = ArrayAttr([DictionaryAttr(one) for one in attributes])


def _inputs(sequence: LaunchSequence) -> list[int | None]:
    """The number of each input that is sent whole."""
    return [one.segments[0].number if len(one.segments) == 1 else None for one in sequence.inputs]
