"""Outlining: a function whose operators are divided into subgraphs becomes a function of `manycore.subgraph`."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.rewriter import Rewriter

from ...dialects.dataflow.entry_function import find_main
from ...dialects.locations import at
from ...dialects.manycore import SubgraphOp, YieldOp
from ..sequence.launch_sequence import SubgraphModule, module_of_operators
from .subgraph import Subgraph, name_of

Body = Callable[[Subgraph, SubgraphModule], Block]
"""Builds the body of a subgraph from its `@main`: on its arguments, with its constants."""


def unchanged_body(part: Subgraph, own: SubgraphModule) -> Block:
    """The operations of a subgraph, unchanged."""
    return find_main(own.module).body.detach_block(0)


def outline_function(
    function: FuncOp,
    parts: Sequence[Subgraph],
    body: Body = unchanged_body,
    *,
    launches: bool = False,
) -> FuncOp:
    """
    The function with a `manycore.subgraph` for each group of operators, or the operators alone if there is one group.
    Operations of the host stay outside. `launches`: a single group becomes a subgraph, too, and all results have a
    name.
    """
    with at(function):
        return _Builder(function, launches).function_of(parts, body)


class _Builder:
    def __init__(self, function: FuncOp, launches: bool) -> None:
        self.function, self.launches = function, launches
        self.block = Block(arg_types=[value.type for value in function.body.block.args])
        self.values: dict[SSAValue, SSAValue] = {}
        """Values of the function -> values of the new function."""
        for old, new in zip(function.body.block.args, self.block.args, strict=True):
            new.name_hint = old.name_hint
            self.values[old] = new

    def function_of(self, parts: Sequence[Subgraph], body: Body) -> FuncOp:
        for part in parts:
            own = module_of_operators(part.operators)
            self._part(part, own, body(part, own), alone=len(parts) == 1 and not self.launches)
        last = self.function.body.block.last_op
        assert isinstance(last, ReturnOp)
        returned = [self._value(value) for value in last.operands]
        self.block.add_op(ReturnOp(*returned))
        return FuncOp(
            "main",
            self.function.function_type,
            Region(self.block),
            arg_attrs=self.function.arg_attrs,
            res_attrs=self.function.res_attrs,
        )

    def _value(self, value: SSAValue) -> SSAValue:
        """A value of the function in the new function; constants and views are copied along."""
        if value not in self.values:
            owner = value.owner
            assert isinstance(owner, Operation)
            for operand in owner.operands:
                self._value(operand)
            self.block.add_op(owner.clone(self.values))
        return self.values[value]

    def _part(self, part: Subgraph, own: SubgraphModule, body: Block, alone: bool) -> None:
        entering = [self._value(value) for value in own.arguments]
        last = body.last_op
        assert isinstance(last, ReturnOp)
        leaving: Sequence[SSAValue] = list(last.operands)
        Rewriter.erase_op(last)
        for argument, value in zip(body.args, entering, strict=True):
            argument.name_hint = value.name_hint
        if alone:
            for argument, value in zip(body.args, entering, strict=True):
                argument.replace_all_uses_with(value)
            for op in list(body.ops):
                op.detach()
                self.block.add_op(op)
        else:
            types = [value.type for value in leaving]
            with at(part.nodes[0] if part.nodes else self.function):  # the list of all would be too long
                body.add_op(YieldOp(*leaving))
                subgraph = SubgraphOp(part.label, entering, types, Region(body), to_fit=part.to_fit)
                part.residence.write(subgraph, own.results)
            self.block.add_op(subgraph)
            leaving = list(subgraph.outputs)
        for old, new in zip(own.results, leaving, strict=True):
            self.values[old] = new
            new.name_hint = old.name_hint
            if self.launches and new.name_hint is None and isinstance(old.owner, Operation):
                new.name_hint = name_of(old.owner)
