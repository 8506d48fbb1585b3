"""Pass `meshloom`: all that the compiler searches, down to a program of the `memory` level."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from ..analysis.nature import Nature, reassociating
from ..chips import Chip, load_chip
from ..dialects.locations import at
from ..dialects.manycore import chip_of
from ..emulator.timing import run_timing
from ..support.errors import InputError
from .compile_function import Compilation
from .offload.budget_options import parse_budget
from .pipeline import compile_module
from .replace_module import replace_module
from .sparse_weights import compile_encoded
from .subgraph_options import SubgraphOptions, default_jobs, parse_subgraphs


@dataclass(frozen=True)
class MeshloomPass(ModulePass):
    """
    Compile `@main`: simplify, split what does not fit, choose tilings, cores, prefetch and memory saving by emulated
    cycles. The result is a program of launches over buffers; `memory-to-coreasm` goes on from it.

    The options are those of `meshloom-compile`. `chip`: a name, or the path of a `.toml`; without it, the module's.
    """

    name = "meshloom"
    nature: ClassVar[Nature] = reassociating(1e-4)

    chip: str | None = None
    subgraphs: str = "auto"
    fuse: str = "auto"
    sparse: bool = False
    budget: str | None = None
    save: str | None = None
    compress_to: str | None = None
    launch_bytes: str | None = None

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        chip = load_chip(self.chip) if self.chip is not None else chip_of(op)
        if chip is None:
            raise InputError(f"no chip is given: use {self.name}{{chip=NAME}}, or module attribute manycore.chip")
        with at(op):
            made = self._compile(op, chip).module
        replace_module(op, made)

    def _compile(self, module: ModuleOp, chip: Chip) -> Compilation:
        rule, split_failures = parse_subgraphs(self.subgraphs)
        options = SubgraphOptions(rule, split_failures, self.fuse, default_jobs())
        budget = None
        if self.budget is not None:
            budget = parse_budget(self.budget, self.save, self.compress_to, self.launch_bytes)

        def compile(one: ModuleOp) -> Compilation:
            return compile_module(one, chip, options=options, budget=budget)

        if not self.sparse:
            return compile(module)
        return compile_encoded(module, chip, compile, _cycles, budget_bytes=_budget_bytes).compilation


def _cycles(compilation: Compilation) -> int:
    return run_timing(compilation.executable).cycles


def _budget_bytes(compilation: Compilation) -> int:
    return 0 if compilation.saving is None else compilation.saving.capacity
