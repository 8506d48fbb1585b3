"""Replacement of consecutive steps by one loop, after a proof that they are equal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from xdsl.ir import Attribute, Block, Operation, OpResult, Region, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from ...dialects.dataflow import Along, ConcatOp, LoopOp, ReshapeOp, SliceOp, YieldOp, ints
from ...dialects.dataflow.base import DataflowOp
from ...dialects.dataflow.types import element_of, shape_of, tensor
from ...dialects.locations import at


@dataclass(frozen=True)
class Step:
    """The operations of one step, equal in number and form in all steps."""

    ops: tuple[Operation, ...]


StepValue = tuple[int, int]
"""A value of a step: the number of its operation and of the result."""


@dataclass(frozen=True)
class Inner:
    """An operand from the same step."""

    position: StepValue


@dataclass(frozen=True)
class Carried:
    """An operand from the previous step; in the first step an initial value."""

    position: StepValue
    initial: SSAValue


@dataclass(frozen=True)
class Same:
    """An operand that is the same in all steps."""

    value: SSAValue


@dataclass(frozen=True)
class Own:
    """An operand that is a separate value for each step, all defined before the first step."""

    values: tuple[SSAValue, ...]


@dataclass(frozen=True)
class Part:
    """
    An operand that is, in each step, a slice of one value that is defined before the first step: `first` is the start
    of the first step's slice, and each further slice starts `distance` further along `axis`, where it has one element.
    """

    value: SSAValue
    axis: int
    first: int
    distance: int
    starts: tuple[int, ...]
    """Start of the first step's slice, along all axes."""
    sizes: tuple[int, ...]
    """Sizes of each step's slice, which has no strides."""


Source = Inner | Carried | Same | Own


def rolled_loop(steps: Sequence[Step]) -> RolledLoop | None:
    """The loop that is equivalent to the steps; None if a step has an operand that no body of a loop can have."""
    where: dict[SSAValue, tuple[int, StepValue]] = {}
    for number, step in enumerate(steps):
        for index, op in enumerate(step.ops):
            where.update((result, (number, (index, which))) for which, result in enumerate(op.results))
    loop = RolledLoop(tuple(steps), where)
    for index, op in enumerate(steps[0].ops):
        members = [step.ops[index] for step in steps]
        sources: list[Source] = []
        for operand in range(len(op.operands)):
            source = _source([one.operands[operand] for one in members], where)
            if source is None:
                return None
            sources.append(source)
        if isinstance(op, SliceOp):
            starts = [ints(one.starts) for one in members if isinstance(one, SliceOp)]
            if len(set(starts)) > 1:
                part = _part(op, starts, sources[0])
                if part is None:
                    return None
                loop.parts[index] = part
        loop.sources.append(sources)
    return loop


def _source(values: Sequence[SSAValue], where: dict[SSAValue, tuple[int, StepValue]]) -> Source | None:
    """The source of an operand, given its value in each step."""
    found = [where.get(value) for value in values]
    if all(one is None for one in found):
        return Same(values[0]) if len(set(values)) == 1 else Own(tuple(values))
    ahead = [None if one is None else (number - one[0], one[1]) for number, one in enumerate(found)]
    if len(set(ahead)) == 1 and ahead[0] is not None and ahead[0][0] == 0:
        return Inner(ahead[0][1])
    later = set(ahead[1:])
    if ahead[0] is None and len(later) == 1 and (one := later.pop()) is not None and one[0] == 1:
        return Carried(one[1], values[0])
    return None


def _part(op: SliceOp, starts: Sequence[tuple[int, ...]], source: Source) -> Part | None:
    """Slices of one value that begin at equal distances along an axis; None for others."""
    if not isinstance(source, Same) or any(step != 1 for step in ints(op.steps)):
        return None
    axes = [axis for axis in range(len(starts[0])) if len({one[axis] for one in starts}) > 1]
    if len(axes) != 1 or ints(op.sizes)[axes[0]] != 1:
        return None
    axis = axes[0]
    distance = starts[1][axis] - starts[0][axis]
    if not distance or any(one[axis] != starts[0][axis] + number * distance for number, one in enumerate(starts)):
        return None
    return Part(source.value, axis, starts[0][axis], distance, starts[0], ints(op.sizes))


@dataclass
class RolledLoop:
    """A loop that will replace its steps."""

    steps: tuple[Step, ...]
    where: dict[SSAValue, tuple[int, StepValue]]
    """Value of a step -> the step and the position in it."""
    sources: list[list[Source]] = field(default_factory=list[list[Source]])
    """Source of each operand of each operation of a step."""
    parts: dict[int, Part] = field(default_factory=dict[int, Part])
    """Operations whose slices differ between steps."""

    @property
    def carried(self) -> list[Carried]:
        """The carried values without duplicates."""
        return list(dict.fromkeys(one for sources in self.sources for one in sources if isinstance(one, Carried)))

    @property
    def carried_initial(self) -> list[SSAValue]:
        """Their initial values."""
        return [one.initial for one in self.carried]

    def result(self, step: int, position: StepValue) -> OpResult:
        """The value at a position in a step."""
        return self.steps[step].ops[position[0]].results[position[1]]

    def replace(self) -> None:
        """Replace the steps by the loop."""
        before = InsertPoint.before(self.steps[0].ops[0])
        self._free_sources(before)
        with at([op for step in self.steps for op in step.ops]):
            scanned: dict[Own | Part, tuple[SSAValue, Along]] = {}
            for index, sources in enumerate(self.sources):
                for source in [self.parts[index]] if index in self.parts else sources:
                    if isinstance(source, Own | Part) and source not in scanned:
                        scanned[source] = _whole(source, len(self.steps), before)
            body, values = self._body(scanned)
            outputs = self._outputs()
            yields = [values[one.position] for one in self.carried]
            for output in outputs:
                value = values[output.position]
                if output.drops_axis:
                    value = _add(body, ReshapeOp(value, output.along.of_step(shape_of(value))))
                yields.append(value)
            body.add_op(YieldOp(yields))
            alongs = [output.along for output in outputs]
            loop = LoopOp(len(self.steps), self.carried_initial, list(scanned.values()), alongs, Region(body))
            Rewriter.insert_op(loop, before)
            self._hand_over(loop, outputs)

    def _free_sources(self, before: InsertPoint) -> None:
        """Move the constants that are between the steps before the steps."""
        first, last = self.steps[0].ops[0], self.steps[-1].ops[-1]
        members = {op for step in self.steps for op in step.ops}
        op: Operation | None = first
        while op is not None and op is not last:
            following = op.next_op
            if op not in members:
                op.detach()
                Rewriter.insert_op(op, before)
            op = following

    def _body(self, scanned: Mapping[Own | Part, tuple[SSAValue, Along]]) -> tuple[Block, dict[StepValue, SSAValue]]:
        """The body, without its yield, and its values by position."""
        types: list[Attribute] = [one.initial.type for one in self.carried]
        types += [tensor(element_of(value), along.of_step(shape_of(value))) for value, along in scanned.values()]
        body = Block(arg_types=types)
        arguments: dict[Source | Part, SSAValue] = dict(zip([*self.carried, *scanned], body.args, strict=True))
        values: dict[StepValue, SSAValue] = {}
        for index, (op, sources) in enumerate(zip(self.steps[0].ops, self.sources, strict=True)):
            if index in self.parts:
                sizes = shape_of(op.results[0])
                values[index, 0] = _add(body, ReshapeOp(arguments[self.parts[index]], sizes))
                continue
            new = op.clone()
            for operand, (value, source) in enumerate(zip(op.operands, sources, strict=True)):
                new.operands[operand] = self._read(value, source, arguments, values)
            body.add_op(new)
            for which, result in enumerate(new.results):
                values[index, which] = result
        return body, values

    @staticmethod
    def _read(
        value: SSAValue,
        source: Source,
        arguments: Mapping[Source | Part, SSAValue],
        values: Mapping[StepValue, SSAValue],
    ) -> SSAValue:
        """The operand of an operation of the body that replaces that of the first step."""
        match source:
            case Inner(position):
                return values[position]
            case Same():
                return value
            case _:
                return arguments[source]

    def _outputs(self) -> list[Output]:
        """Values of the steps that are read after them, except carried values of the last."""
        finals = {one.position for one in self.carried}
        members = {op for step in self.steps for op in step.ops}
        last = len(self.steps) - 1
        found: list[Output] = []
        for index, op in enumerate(self.steps[0].ops):
            for which in range(len(op.results)):
                position = index, which
                rows = [self.result(number, position) for number in range(len(self.steps))]
                users = [[use.operation for use in row.uses if use.operation not in members] for row in rows]
                if not any(users) or (position in finals and not any(users[:last])):
                    continue
                stacked = _stack_of(rows, users, members)
                if stacked is not None:
                    found.append(Output(position, *stacked))
                    users = [[user for user in of_row if not _feeds(user, stacked[2])] for of_row in users]
                if any(users[:last]) or (users[last] and position not in finals):
                    found.append(Output(position, Along(0), False, None))
        return found

    def _hand_over(self, loop: LoopOp, outputs: Sequence[Output]) -> None:
        """Replace the uses of the steps' values after the steps by the loop's results, and erase the steps."""
        members = {op for step in self.steps for op in step.ops}
        count = len(self.steps)
        for output, result in zip(outputs, loop.stacked, strict=True):
            if output.concat is not None:
                rows = list(output.concat.inputs)
                output.concat.result.replace_all_uses_with(result)
                Rewriter.erase_op(output.concat)
                for row in rows:
                    if row.owner not in members and row.first_use is None and isinstance(row.owner, Operation):
                        Rewriter.erase_op(row.owner)
        for one, final in zip(self.carried, loop.final, strict=True):
            self.result(count - 1, one.position).replace_uses_with_if(final, lambda use: use.operation not in members)
        after = InsertPoint.after(loop)
        for output, result in zip(outputs, loop.stacked, strict=True):
            if output.concat is None:
                shape = shape_of(result)
                for number in range(count):
                    row = self.result(number, output.position)
                    if all(use.operation in members for use in row.uses):
                        continue
                    starts, sizes = [number, *(0,) * (len(shape) - 1)], [1, *shape[1:]]
                    part = _insert(SliceOp(result, starts, sizes), after)
                    own = _insert(ReshapeOp(part, shape[1:]), after)
                    row.replace_uses_with_if(own, lambda use: use.operation not in members)
        for step in self.steps[::-1]:
            for op in step.ops[::-1]:
                Rewriter.erase_op(op)


@dataclass(frozen=True)
class Output:
    """A value of all steps that is read after them."""

    position: StepValue
    along: Along
    drops_axis: bool
    """Whether the value of a step has an axis of size 1 for the steps, which the body drops."""
    concat: ConcatOp | None
    """The concatenation of the values; None: they are read one by one."""


def _stack_of(
    rows: Sequence[SSAValue], users: Sequence[Sequence[Operation]], members: set[Operation]
) -> tuple[Along, bool, ConcatOp] | None:
    """The concatenation of the values of all steps, in this order or reversed, each with an axis for the steps."""
    for user in users[0]:
        concat = next((use.operation for use in user.results[0].uses), None) if isinstance(user, ReshapeOp) else user
        if not isinstance(concat, ConcatOp) or len(concat.inputs) != len(rows) or concat in members:
            continue
        inputs = list(concat.inputs)
        axis = concat.axis_index
        for backwards in (False, True):
            expected = list(rows[::-1] if backwards else rows)
            along = Along(axis, backwards)
            if inputs == expected and shape_of(rows[0])[axis] == 1:
                return along, True, concat
            wide = along.of_all(shape_of(rows[0]), 1) if axis <= len(shape_of(rows[0])) else ()
            if all(
                isinstance(one.owner, ReshapeOp)
                and one.owner not in members
                and one.owner.operand is row
                and shape_of(one) == wide
                for one, row in zip(inputs, expected, strict=True)
            ):
                return along, False, concat
    return None


def _feeds(user: Operation, concat: ConcatOp) -> bool:
    """Whether a user of a step's value is the concatenation, or a reshape for it and nothing else."""
    return user is concat or (
        isinstance(user, ReshapeOp) and all(use.operation is concat for use in user.results[0].uses)
    )


def _whole(source: Own | Part, steps: int, before: InsertPoint) -> tuple[SSAValue, Along]:
    """The values of all steps together."""
    if isinstance(source, Own):
        ones = [_insert(ReshapeOp(value, (1, *shape_of(value))), before) for value in source.values]
        return _insert(ConcatOp(ones, 0), before), Along(0)
    shape = shape_of(source.value)
    axis, last = source.axis, source.first + (steps - 1) * source.distance
    others = all(start == 0 for dim, start in enumerate(source.starts) if dim != axis)
    whole = others and source.sizes == tuple(1 if dim == axis else size for dim, size in enumerate(shape))
    if whole and abs(source.distance) == 1 and shape[axis] == steps and 0 in (source.first, last):
        return source.value, Along(axis, source.distance < 0)
    sizes, strides = [*source.sizes], [1] * len(shape)
    sizes[axis], strides[axis] = steps, source.distance
    return _insert(SliceOp(source.value, source.starts, sizes, strides), before), Along(axis)


def _insert(op: DataflowOp, point: InsertPoint) -> SSAValue:
    Rewriter.insert_op(op, point)
    return op.results[0]


def _add(block: Block, op: DataflowOp) -> SSAValue:
    block.add_op(op)
    return op.results[0]
