"""Compiled launches of subgraphs and of conversions between formats, and the cycles of each."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import ClassVar, cast

from xdsl.dialects.builtin import IntAttr, LocationAttr, ModuleOp, bf16, f16, f32
from xdsl.ir import Block, SSAValue

from ...chips import Chip
from ...dialects.dataflow import CastOp, ConstantOp, WeightOp
from ...dialects.dataflow.entry_function import main_function
from ...dialects.dataflow.types import Tensor, tensor
from ...dialects.manycore import SubgraphOp
from ...dialects.memory.formats import BF16, F16, Format
from ...dialects.memory.packing import PackingOp, PackOp, UnpackOp
from ...dialects.memory.stash import CompressOp, MoveOp, stash_of
from ..autotune.compile_pool import compile_anonymous
from ..autotune.subgraph_cycles import subgraph_cycles
from ..cache.compile_cache import CompileCache, Failure
from ..cache.subgraph_code import SubgraphCode
from ..cache.subgraph_text import SubgraphText, subgraph_text
from ..launch.result_values import Values
from ..sequence.launch_sequence import SubgraphModule, module_of_subgraph

ELEMENTS = {F16.name: f16, BF16.name: bf16}
"""Formats that are element types of the cores' arithmetic, too."""


@dataclass(frozen=True)
class CompiledLaunch:
    """One launch's machine code, with the network's names of its tasks."""

    code: SubgraphCode
    task_names: tuple[str, ...]
    constants: tuple[ConstantOp | WeightOp, ...]
    """Constants in the order of the code's segments."""
    cycles: int
    """Cycles of the launch in isolation."""
    locations: tuple[LocationAttr, ...]
    """The network's locations, where those of the code are numbers (see `numbered_locations`)."""
    text: SubgraphText
    """The subgraph's text, with the network's names of the values that are numbered in the code."""

    def values_named(self, values: tuple[Values, ...]) -> tuple[Values, ...]:
        """Values of the code by the network's names of them."""
        return tuple(tuple((self.text.named(name), type) for name, type in of_task) for of_task in values)


@dataclass
class CompiledLaunches:
    """Compiles launches; equal ones are compiled once."""

    chip: Chip
    cache: CompileCache
    _cycles: dict[str, int] = field(default_factory=dict[str, int])
    _numbered: list[CompiledLaunch] = field(default_factory=list[CompiledLaunch])
    _pack_cycles: dict[tuple[Tensor, Format], int] = field(default_factory=dict[tuple[Tensor, Format], int])
    NUMBER: ClassVar[str] = "launch"
    """Attribute with the number of a subgraph that was added."""

    def add(self, subgraph: SubgraphOp) -> int:
        """Compile a subgraph. Returns the number of its code."""
        self._numbered.append(self._of_subgraph(subgraph))
        return len(self._numbered) - 1

    def of_subgraph(self, subgraph: SubgraphOp) -> CompiledLaunch:
        """The code of a subgraph that was added, or of a copy of it."""
        return self._numbered[cast("IntAttr[int]", subgraph.attributes[self.NUMBER]).data]

    def _of_subgraph(self, subgraph: SubgraphOp) -> CompiledLaunch:
        """Compile a subgraph. Raises MeshloomError naming it if it does not compile."""
        part = module_of_subgraph(subgraph)
        # Code has no segment for a constant without readers, which passes may leave.
        read = tuple(op for op in part.constants if op.results[0].first_use is not None)
        return self._compile(replace(part, constants=read), subgraph.sym_name.data)

    def of_compress(self, type: Tensor, format: Format, name: str) -> CompiledLaunch:
        """The conversion of an f32 tensor to a narrower format."""
        if (element := ELEMENTS.get(format.name)) is not None:
            return self._conversion(type, lambda value: CastOp(value, element), name)
        return self._conversion(_flat(type), lambda value: PackOp(value, format), name)

    def of_decompress(self, type: Tensor, format: Format, name: str) -> CompiledLaunch:
        """The conversion back to an f32 tensor."""
        if (element := ELEMENTS.get(format.name)) is not None:
            return self._conversion(tensor(element, type.get_shape()), lambda value: CastOp(value, f32), name)
        packed = PackOp.packing_type(_flat(type), format)
        return self._conversion(packed, lambda value: UnpackOp(value, format), name)

    def pack_cycles(self, type: Tensor, format: Format) -> int:
        """Cycles of the slower of the two conversions."""
        key = type, format
        if key not in self._pack_cycles:
            ways = self.of_compress, self.of_decompress
            self._pack_cycles[key] = max(convert(type, format, "converted").cycles for convert in ways)
        return self._pack_cycles[key]

    def of_conversion(self, op: MoveOp) -> CompiledLaunch:
        """The launch that compresses or decompresses."""
        compresses = isinstance(op, CompressOp)
        stash = stash_of(op.result if compresses else op.source)
        assert stash.format is not None
        convert = self.of_compress if compresses else self.of_decompress
        return convert(stash.tensor, stash.format, op.result.name_hint or op.name.partition(".")[2])

    def _conversion(
        self, source: Tensor, convert: Callable[[SSAValue], CastOp | PackingOp], name: str
    ) -> CompiledLaunch:
        body = Block(arg_types=[source])
        op = convert(body.args[0])
        op.result.name_hint = name
        body.add_op(op)
        return self._compile(SubgraphModule(ModuleOp([main_function(body, [op.result])]), (), (), ()), name)

    def _compile(self, part: SubgraphModule, name: str) -> CompiledLaunch:
        text = subgraph_text(part)
        key = self.cache.key(text.text)
        if self.cache.get(key) is None:
            self.cache.put(key, compile_anonymous(text.module, self.chip, self.cache.effort))
        code = self.cache.get(key)
        if isinstance(code, Failure):
            raise code.error(f"launch '{name}' does not compile: {text.named(code.message)}")
        assert code is not None
        return CompiledLaunch(code, text.task_names(code), part.constants, self._time(key, code), text.locations, text)

    def _time(self, key: str, code: SubgraphCode) -> int:
        if key not in self._cycles:
            self._cycles[key] = subgraph_cycles(code, self.chip, self.cache.effort)
        return self._cycles[key]


def _flat(type: Tensor) -> Tensor:
    """The type with the same elements in one dimension: only their order in memory matters."""
    return tensor(type.element_type, (math.prod(type.get_shape()),))
