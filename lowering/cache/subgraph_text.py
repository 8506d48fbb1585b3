"""
A subgraph as text that contains all that its machine code depends on and nothing else: numbers as locations, no names
of the network, only shapes of weights and of constants that are read from memory. Equal layers are therefore compiled
once, and the text is the only key of the cache.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from xdsl.dialects.builtin import LocationAttr, ModuleOp
from xdsl.rewriter import Rewriter

from ...dialects.dataflow import ConstantOp, WeightOp
from ...dialects.dataflow.entry_function import find_main
from ...dialects.dataflow.types import tensor_bytes, tensor_of
from ..ir.immediate_operands import read_from_memory
from ..ir.launch_names import unique_names
from ..ir.module_text import located_text
from ..ir.numbered_locations import number_location
from ..sequence.launch_sequence import SubgraphModule
from .subgraph_code import SubgraphCode

_NUMBERED = re.compile(r"op\$(\d+)")
_ANY_HASH = "0" * 64


@dataclass(frozen=True)
class SubgraphText:
    """The text, and the network's names of the operations that are numbered in it."""

    text: str
    names: tuple[str, ...]
    locations: tuple[LocationAttr, ...]
    """The network's locations of the same operations."""
    module: ModuleOp
    """The module of the text, until it is compiled."""

    def named(self, message: str) -> str:
        """A message in which numbered operations are replaced by the network's names."""
        return _NUMBERED.sub(lambda found: self.names[int(found[1])], message)

    def task_names(self, compiled: SubgraphCode) -> tuple[str, ...]:
        """The network's names of the tasks of a compiled subgraph, made unique."""
        return tuple(unique_names([self.named(task) for task in compiled.tasks]))


def subgraph_text(part: SubgraphModule) -> SubgraphText:
    """The text of a subgraph. The module is changed: its names become numbers."""
    block = find_main(part.module).body.block
    names: list[str] = []
    locations: list[LocationAttr] = []
    for argument in block.args:
        argument.name_hint = None
    for number, op in enumerate(block.ops):
        hint = next((result.name_hint for result in op.results if result.name_hint), None)
        names.append(hint or op.name.partition(".")[2])
        locations.append(number_location(op, number))
        for inner in op.walk():
            arguments = (argument for region in inner.regions for one in region.blocks for argument in one.args)
            for value in (*inner.results, *arguments):
                value.name_hint = None
        for result in op.results:
            result.name_hint = f"op${number}"
    for op in list(read_from_memory(list(block.ops))):
        Rewriter.replace_op(op, _anonymous(op))
    return SubgraphText(located_text(part.module), tuple(names), tuple(locations), part.module)


def is_stand_in(op: WeightOp) -> bool:
    """Whether an operation represents a constant of the network in the text of a subgraph."""
    return op.sha256.data == _ANY_HASH


def _anonymous(op: ConstantOp | WeightOp) -> WeightOp:
    type = tensor_of(op.results[0])
    return WeightOp("w", type, source="mem", offset=0, nbytes=tensor_bytes(type), sha256=_ANY_HASH)
