"""A compiled network at the `manycore` level: its subgraphs with tasks as they were tiled, placed and scheduled."""

from __future__ import annotations

import json
from collections.abc import Sequence

from xdsl.dialects.builtin import DictionaryAttr, ModuleOp, StringAttr
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Block, Operation, Region, SSAValue

from ..chips import Chip
from ..dialects.dataflow import WeightOp
from ..dialects.dataflow.entry_function import find_main
from ..dialects.manycore import SubgraphOp, TaskOp, YieldOp
from .name_chip import name_chip
from .part_locations import restore_locations
from .piece_text import is_stand_in
from .program_notes import IDEAL, NOTES
from .serial import PartModule, part_module
from .subgraph import Subgraph


def tiled_module(function: FuncOp, parts: Sequence[Subgraph], ideal: dict[str, int], chip: Chip) -> ModuleOp:
    """
    The module of a function whose parts have compiled: a `manycore.subgraph` for each, or the tasks alone where there
    is one. Compiled from here on, it gives the same executable.
    """
    return _Builder(function, ideal).module(parts, chip)


class _Builder:
    def __init__(self, function: FuncOp, ideal: dict[str, int]) -> None:
        self.function, self.ideal = function, ideal
        self.block = Block(arg_types=[value.type for value in function.body.block.args])
        self.values: dict[SSAValue, SSAValue] = {}
        """Values of the function -> the same here."""
        for old, new in zip(function.body.block.args, self.block.args, strict=True):
            new.name_hint = old.name_hint
            self.values[old] = new

    def module(self, parts: Sequence[Subgraph], chip: Chip) -> ModuleOp:
        for part in parts:
            self._part(part, part_module(part.operators), alone=len(parts) == 1)
        last = self.function.body.block.last_op
        assert isinstance(last, ReturnOp)
        returned = [self._value(value) for value in last.operands]
        self.block.add_op(ReturnOp(*returned))
        made = FuncOp(
            "main",
            self.function.function_type,
            Region(self.block),
            arg_attrs=self.function.arg_attrs,
            res_attrs=self.function.res_attrs,
        )
        module = ModuleOp([made])
        name_chip(module, chip)
        module.attributes[NOTES] = DictionaryAttr({IDEAL: StringAttr(json.dumps(self.ideal))})
        return module

    def _value(self, value: SSAValue) -> SSAValue:
        """A value of the function here; what only looks at others, or is known, comes along."""
        if value not in self.values:
            owner = value.owner
            assert isinstance(owner, Operation)
            for operand in owner.operands:
                self._value(operand)
            self.block.add_op(owner.clone(self.values))
        return self.values[value]

    def _part(self, part: Subgraph, own: PartModule, alone: bool) -> None:
        text = part.text
        assert text is not None
        tiled = find_main(part.code.tiled.module).body.block
        entering = [self._value(value) for value in own.arguments]
        mapping: dict[SSAValue, SSAValue] = {}
        if alone:
            inner = self.block
            mapping |= zip(tiled.args, entering, strict=True)
        else:
            inner = Block(arg_types=[value.type for value in entering])
            mapping |= zip(tiled.args, inner.args, strict=True)
            for value, argument in zip(entering, inner.args, strict=True):
                argument.name_hint = value.name_hint
        constants = iter(own.constants)
        leaving: Sequence[SSAValue] = ()
        for op in tiled.ops:
            if isinstance(op, ReturnOp):
                leaving = [mapping[value] for value in op.operands]
            elif isinstance(op, WeightOp) and is_stand_in(op):
                constant = next(constants).clone()
                mapping[op.result] = constant.results[0]
                inner.add_op(constant)
            else:
                copy = op.clone(mapping)
                if isinstance(copy, TaskOp):
                    copy.sym_name = StringAttr(text.named(copy.sym_name.data))
                restore_locations(copy, text.locations)
                for inside in copy.walk():
                    for result in inside.results:
                        result.name_hint = text.named(result.name_hint) if result.name_hint else None
                inner.add_op(copy)
        if not alone:
            inner.add_op(YieldOp(*leaving))
            types = [value.type for value in leaving]
            subgraph = SubgraphOp(part.label, entering, types, Region(inner))
            self.block.add_op(subgraph)
            leaving = list(subgraph.outputs)
        for old, new in zip(own.results, leaving, strict=True):
            self.values[old] = new
            new.name_hint = old.name_hint
