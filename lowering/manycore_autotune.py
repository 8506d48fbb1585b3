"""
Pass `manycore-autotune`: operators become tasks with the tilings, cores and prefetch that are fastest when emulated.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.dialects.func import ReturnOp
from xdsl.ir import Block, Region
from xdsl.passes import ModulePass
from xdsl.rewriter import Rewriter

from ..analysis.semantic_effect import SemanticEffect, reassociating
from ..chips import Chip
from ..dialects.dataflow import ConstantOp, WeightOp
from ..dialects.dataflow.entry_function import find_main
from ..dialects.locations import at
from ..dialects.manycore import SubgraphOp, TaskOp, YieldOp
from ..dialects.manycore.stage import networks_of
from ..transforms.shared.chip_option import chip_for
from .autotune.compile_pool import CompilePool
from .cache.compile_cache import CompileCache, Failure, cache_for
from .cache.subgraph_code import SubgraphCode
from .cache.subgraph_text import SubgraphText, is_stand_in, subgraph_text
from .ir.launch_names import unique_names
from .ir.numbered_locations import restore_locations
from .ir.refuse_launches import refuse_launches
from .offload.saved_module import saves_memory
from .options.effort import EffortOptions
from .options.subgraph_options import default_jobs
from .sequence.inline_subgraphs import launches_of
from .sequence.launch_sequence import module_of_operators, module_of_subgraph, operators
from .sequence.plan_launches import plan_launches
from .sequence.residency_decisions import residence_of, write_inputs
from .subgraphs.outline_function import outline_function
from .subgraphs.subgraph import Subgraph


@dataclass(frozen=True)
class ManycoreAutotunePass(EffortOptions, ModulePass):
    """
    Make tasks of the operators of `@main`, or of those in its subgraphs, and tile, place and prefetch them: plans are
    compiled, and the one whose emulation takes the fewest cycles is written to the tasks, in the order that is best.
    Subgraphs specify where the values that they share are kept between them (`in`, `weights in`, `alone`); what is
    specified already is kept. Existing tasks keep their order and their tilings; prefetch is chosen for those that do
    not specify it.

    `chip`: a name, or the path of a `.toml`; without it, the module's. `jobs`: number of processes that compile
    subgraphs in parallel (default: all processors). `effort`: fast, default or high, see `effort.py`. `order`: of the
    tasks that the pass makes: program, searched (tried beside the program's) or a method of `manycore-schedule`.
    `stop-at`: once a variant of a subgraph takes at most this many cycles, no other is tried. `placement`: of tiles,
    searched, or a method of `manycore-place` alone.
    """

    name = "manycore-autotune"
    semantic_effect: ClassVar[SemanticEffect] = reassociating(1e-4)

    chip: str | None = None
    jobs: int | None = None

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        refuse_launches(op, self.name)
        effort = self.read_effort()
        for network in networks_of(op):
            chip = chip_for(network, self.chip, f"{self.name}{{chip=NAME}}")
            autotune(network, chip, cache_for(chip, effort), default_jobs() if self.jobs is None else self.jobs)


def autotune(module: ModuleOp, chip: Chip, cache: CompileCache, jobs: int) -> list[SubgraphCode]:
    """
    Write the fastest plan of each subgraph of `@main`, or of all its operators, to the module. Returns the compiled
    subgraphs.

    Raises ResourceError naming a subgraph that does not fit the chip, and other errors of its compilation.
    """
    function = find_main(module)
    subgraphs = [op for op in function.walk() if isinstance(op, SubgraphOp)]
    parts = [module_of_subgraph(one) for one in subgraphs] or [module_of_operators(operators(function))]
    constants = [part.constants for part in parts]
    texts = [subgraph_text(part) for part in parts]
    names = [one.sym_name.data for one in subgraphs] or [""]
    codes = _compiled(texts, names, chip, cache, jobs)
    bodies = [_body(*one) for one in zip(texts, codes, constants, strict=True)]
    if not subgraphs:
        whole = Subgraph("all", operators(function))
        Rewriter.replace_op(function, outline_function(function, [whole], lambda part, own: bodies[0]))
        return codes
    for subgraph, body in zip(subgraphs, bodies, strict=True):
        last = body.last_op
        assert isinstance(last, ReturnOp)
        with at(subgraph.body.block.ops.last or subgraph):
            Rewriter.replace_op(last, YieldOp(*last.operands))
        for old, new in zip(subgraph.body.block.args, body.args, strict=True):
            new.name_hint = old.name_hint
        subgraph.detach_region(subgraph.body)
        subgraph.add_region(Region(body))
    if not saves_memory(module):
        _write_residence(module, subgraphs, codes, chip)
    return codes


def _write_residence(
    module: ModuleOp, subgraphs: Sequence[SubgraphOp], codes: Sequence[SubgraphCode], chip: Chip
) -> None:
    """Write to subgraphs where the values that they share are kept between them."""
    function, inlined = find_main(module), find_main(module.clone())
    groups = launches_of(inlined)
    if len(groups) < 2 or len(groups) != len(subgraphs):
        return
    sequence, residency = plan_launches(inlined, groups, [code.segments[-1] for code in codes], chip)
    write_inputs(function, sequence, residency.decided)
    for launch, subgraph in enumerate(subgraphs):
        results = groups[launch].results
        residence_of(sequence, residency.decided, launch, results).write(subgraph, results)


def _compiled(
    texts: Sequence[SubgraphText], names: Sequence[str], chip: Chip, cache: CompileCache, jobs: int
) -> list[SubgraphCode]:
    """The compiled subgraphs; equal ones are compiled once."""
    keys = [cache.key(text.text) for text in texts]
    wanted = {key: text for key, text in zip(keys, texts, strict=True) if cache.get(key) is None}
    with CompilePool(chip, cache.effort, jobs) as pool:
        for key, outcome in zip(wanted, pool.compile(list(wanted.values())), strict=True):
            cache.put(key, outcome)
    found: list[SubgraphCode] = []
    for key, text, name in zip(keys, texts, names, strict=True):
        outcome = cache.get(key)
        assert outcome is not None
        if isinstance(outcome, Failure):
            where = f"subgraph @{name}" if name else "the network"
            raise outcome.error(f"{where} does not compile for chip '{chip.name}': {text.named(outcome.message)}")
        found.append(outcome)
    return found


def _body(text: SubgraphText, code: SubgraphCode, constants: Sequence[ConstantOp | WeightOp]) -> Block:
    """The tiled tasks of a subgraph, with the names (made unique) and locations of the network, and its constants."""
    body = find_main(code.tiled.module.clone()).body.detach_block(0)
    left = iter(constants)
    for op in list(body.ops):
        if isinstance(op, WeightOp) and is_stand_in(op):
            constant = next(left)
            copy = constant.clone()
            Rewriter.replace_op(op, copy)
            copy.results[0].name_hint = constant.results[0].name_hint
            continue
        restore_locations(op, text.locations)
        for inside in op.walk():
            for result in inside.results:
                result.name_hint = text.named(result.name_hint) if result.name_hint else None
    tasks = [op for op in body.walk() if isinstance(op, TaskOp)]
    for task, name in zip(tasks, unique_names([text.named(task.sym_name.data) for task in tasks]), strict=True):
        task.sym_name = StringAttr(name)
    return body
