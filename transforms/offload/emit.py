"""
Emission of a script: reorder a block by the script, so that each operation reads the current copies of its tensors.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TypeVar

from xdsl.builder import Builder
from xdsl.dialects.builtin import DenseArrayBase, i32
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, Operation, SSAValue
from xdsl.rewriter import InsertPoint

from ...analysis.offload.kinds import Kind
from ...dialects.dataflow import ReshapeOp
from ...dialects.dataflow.types import tensor_of
from ...dialects.locations import at, keeps_location
from ...dialects.memory.attributes import Space
from ...dialects.memory.formats import Format
from ...dialects.memory.stash import (
    AwaitOp,
    CompletionOp,
    CompressOp,
    DecompressOp,
    MoveOp,
    RecomputeOp,
    SwapInOp,
    SwapOutOp,
    YieldOp,
    stash_of,
)
from ...dialects.memory.stash_check import memory_of
from ...dialects.memory.stash_types import StashType, TokenType
from .script import Absence, Act, FunctionParts, Script, is_free

Added = TypeVar("Added", bound=Operation)
Moved = TypeVar("Moved", bound=MoveOp)


class Emitter:
    """Rewrites a function's block by a script."""

    def __init__(self, function: FuncOp, parts: FunctionParts, format: Format) -> None:
        self.block: Block = function.body.block
        self.parts = parts
        self.format = format
        self.now: dict[SSAValue, SSAValue] = {}
        """Original value of a tensor -> the value that currently holds it."""
        self.leaving: set[SSAValue] = set()
        """Values that are offloaded in the new block."""
        self.views: dict[tuple[SSAValue, SSAValue], SSAValue] = {}
        self.done: dict[SSAValue, list[CompletionOp]] = {}
        """Value -> operations for the token of its completion that the block already had."""
        self.packed: dict[int, SSAValue] = {}
        self.on_host: dict[tuple[int, bool], SSAValue] = {}
        self.arrived: dict[int, SSAValue] = {}
        self.reads = [tuple(op.operands) for op in parts.ops]

    def emit(self, script: Script) -> list[Operation]:
        """Rewrite the block. Returns the operation of each item."""
        last = self.block.last_op
        assert last is not None
        views = [op for op in self.block.ops if isinstance(op, ReshapeOp | AwaitOp)]
        for op in self.block.ops:
            if isinstance(op, CompletionOp):
                self.done.setdefault(memory_of(op.value), []).append(op)
        for op in list(self.block.ops):
            op.detach()
        self._insert_completions(self.block.args)
        for op in [value.owner for value in self.parts.tensors]:
            if isinstance(op, Operation) and is_free(op):
                self.block.add_op(op)
        made = [self._item(script, item.act, item.number) for item in script.items]
        self._read_all(last)
        self.block.add_op(last)
        for op in reversed(views):
            op.erase()
        return made

    def _insert_completions(self, values: Sequence[SSAValue]) -> None:
        """Insert completion tokens after the operations that compute the values."""
        for value in values:
            for op in self.done.get(value, ()):
                op.operands = [value]
                self.block.add_op(op)

    def _item(self, script: Script, act: Act, number: int) -> Operation:
        if act is Act.RUN:
            op = self.parts.ops[number]
            reduced = memory_of(op.source) if isinstance(op, MoveOp) and not op.RESTORES else None
            self._read_all(op)
            self._add(op)
            if reduced is not None:
                self.leaving.add(self.now.get(reduced, reduced))
            self._insert_completions(op.results)
            return op
        absence = script.absences[number]
        tensor = self.parts.tensors[absence.tensor]
        with at(tensor):
            return self._save(act, number, absence, tensor)

    def _save(self, act: Act, number: int, absence: Absence, tensor: SSAValue) -> Operation:
        """Create an operation that offloads or restores a tensor."""
        packed = absence.kind is Kind.COMPRESS_SWAP
        match act:
            case Act.COMPRESS:
                move = self._reduce(CompressOp(self._here(tensor), self.format), tensor)
                self.packed[absence.tensor] = move.result
            case Act.OUT:
                source = self.packed[absence.tensor] if packed else self._here(tensor)
                type = source.type
                stash = StashType(
                    type.tensor if isinstance(type, StashType) else tensor_of(source),
                    Space.HOST,
                    type.format if isinstance(type, StashType) else None,
                )
                move = SwapOutOp(source, stash)
                move = self._add(move) if packed else self._reduce(move, tensor)
                self.on_host[absence.tensor, packed] = move.result
            case Act.IN:
                source = self.on_host[absence.tensor, packed]
                type = stash_of(source)
                result = StashType(type.tensor, Space.DRAM, type.format) if packed else type.tensor
                move = self._add(SwapInOp(source, result))
                if packed:
                    self.arrived[number] = move.result
                else:
                    self._back(tensor, move.result)
            case Act.DECOMPRESS:
                source = self.arrived[number] if packed else self.packed[absence.tensor]
                move = self._add(DecompressOp(source, stash_of(source).tensor))
                self._back(tensor, move.result)
            case _:
                return self._again(absence, tensor)
        move.result.name_hint = tensor.name_hint
        return move

    def _add(self, op: Added) -> Added:
        self.block.add_op(op)
        return op

    def _reduce(self, op: Moved, tensor: SSAValue) -> Moved:
        self._add(op)
        self.leaving.add(self.now.get(tensor, tensor))
        return op

    def _back(self, tensor: SSAValue, value: SSAValue) -> None:
        self.now[tensor] = value

    def _here(self, tensor: SSAValue) -> SSAValue:
        """The value that currently holds a tensor."""
        value = self.now.get(tensor, tensor)
        if value in self.leaving:
            value = self._add(AwaitOp(value)).result
            value.name_hint = tensor.name_hint
            self.now[tensor] = value
        return value

    def _read(self, value: SSAValue) -> SSAValue:
        """
        The current replacement of a value of the function, which has the same shape and waits for the same tokens.
        """
        if isinstance(value.type, TokenType):
            return value
        root = memory_of(value)
        tokens = _tokens_on_the_way(value)
        here = self.now.get(root, root) if tokens else self._here(root)
        if value is root:
            return here
        if (here, value) not in self.views:
            view = here
            if tokens:
                view = self._add(AwaitOp(view, tokens)).result
            if tensor_of(view).get_shape() != tensor_of(value).get_shape():
                view = self._add(ReshapeOp(view, tuple(tensor_of(value).get_shape()))).results[0]
            view.name_hint = value.name_hint
            self.views[here, value] = view
        return self.views[here, value]

    @keeps_location
    def _read_all(self, op: Operation) -> None:
        for position, value in enumerate(op.operands):
            op.operands[position] = self._read(value)

    def _again(self, absence: Absence, tensor: SSAValue) -> RecomputeOp:
        """The recomputation of the chain's operations, whose body has an argument for each value from outside."""
        body, inside = Block(), dict[SSAValue, SSAValue]()
        inputs: list[SSAValue] = []
        for number in absence.chain:
            op = self.parts.ops[number]
            for value in self.reads[number]:
                root = memory_of(value)
                if root not in inside:
                    inputs.append(self._here(root))
                    inside[root] = body.insert_arg(root.type, len(body.args))
                if value not in inside:
                    shaped = ReshapeOp(inside[root], tuple(tensor_of(value).get_shape()))
                    body.add_op(shaped)
                    inside[value] = shaped.results[0]
            copy = op.clone()
            copy.operands = [inside[value] for value in self.reads[number]]
            body.add_op(copy)
            inside.update(zip(op.results, copy.results, strict=True))
        body.add_op(YieldOp([inside[tensor]]))
        again = self._add(RecomputeOp(inputs, body))
        again.values[0].name_hint = tensor.name_hint
        self._back(tensor, again.values[0])
        return again


def _tokens_on_the_way(value: SSAValue) -> list[SSAValue]:
    """The tokens that a view of a tensor waits for, through all views between them."""
    found: dict[SSAValue, None] = {}
    while isinstance(owner := value.owner, ReshapeOp | AwaitOp):
        found |= dict.fromkeys(owner.tokens if isinstance(owner, AwaitOp) else ())
        value = owner.operands[0]
    return list(found)


def add_control(block: Block, ops: list[Operation], edges: Iterable[tuple[int, int]]) -> None:
    """
    Add control edges (from, to) between operations of the block, given by numbers in `ops`; operations that are
    replaced are also replaced in `ops`.
    """
    sources: dict[int, list[int]] = {}
    for source, target in edges:
        sources.setdefault(target, []).append(source)
    tokens: dict[int, SSAValue] = {}
    for target in sorted(sources):
        waits = [_token(ops, source, tokens) for source in sorted(set(sources[target]))]
        op = ops[target]
        if isinstance(op, MoveOp):
            op.operands = [*op.operands, *waits]
        elif isinstance(op, RecomputeOp):
            _add_tokens(op, waits)
        elif op.operands:
            _gate(op, waits)
        else:
            ops[target] = _wrapped(op, waits)
    for op in [op for op in block.ops if isinstance(op, AwaitOp) and op.result.first_use is None]:
        op.detach()
        op.erase()


def _token(ops: list[Operation], number: int, tokens: dict[int, SSAValue]) -> SSAValue:
    """The token of an operation's completion."""
    op = ops[number]
    if isinstance(op, MoveOp | RecomputeOp):
        return op.token
    if number not in tokens:
        with at(op):
            done = CompletionOp(op.results[0])
        Builder(InsertPoint.after(op)).insert(done)
        tokens[number] = done.token
    return tokens[number]


def _add_tokens(op: RecomputeOp, waits: list[SSAValue]) -> None:
    inputs, tokens = list(op.inputs), [*op.tokens, *waits]
    op.operands = [*inputs, *tokens]
    op.properties["operandSegmentSizes"] = DenseArrayBase.from_list(i32, [len(inputs), len(tokens)])


@keeps_location
def _gate(op: Operation, waits: list[SSAValue]) -> None:
    """Let one operand of an operation wait for a token."""
    index, value = 0, op.operands[0]
    for position, operand in enumerate(op.operands):
        if isinstance(operand.owner, AwaitOp):
            index, value = position, operand
            if not operand.owner.tokens:
                value = operand.owner.value
            break
    after = AwaitOp(value, waits)
    after.result.name_hint = value.name_hint
    Builder(InsertPoint.before(op)).insert(after)
    op.operands[index] = after.result


@keeps_location
def _wrapped(op: Operation, waits: list[SSAValue]) -> RecomputeOp:
    """An operation without operands, wrapped in a region that waits."""
    body = Block()
    copy = op.clone()
    body.add_op(copy)
    body.add_op(YieldOp(copy.results))
    wrapped = RecomputeOp([], body, waits)
    Builder(InsertPoint.before(op)).insert(wrapped)
    for value, result in zip(wrapped.values, op.results, strict=True):
        value.name_hint = result.name_hint
        result.replace_all_uses_with(value)
    op.detach()
    op.erase()
    return wrapped
