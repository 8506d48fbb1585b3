"""Fusion of neighbouring subgraphs (spec 2, step 3)."""

from __future__ import annotations

from math import inf

from xdsl.dialects.builtin import ModuleOp
from xdsl.rewriter import Rewriter

from ...analysis.search import ACCEPT_RATIO
from ...analysis.subgraphs.fuse_grouped import PartSize
from ...analysis.subgraphs.fusion import FusionStrategy, Interval, Outcome
from ...dialects.dataflow.entry_function import find_main
from ...dialects.manycore import SubgraphOp
from ...transforms.dataflow_merge_constants import merge_constants
from ..autotune.compile_pool import CompilePool
from ..cache.compile_cache import Failure
from ..options.compilation_log import CompilationLog
from ..options.subgraph_options import Fusion
from ..sequence.dram_residency import DramCapacityError
from ..sequence.inline_subgraphs import inline_subgraphs
from ..sequence.launch_sequence import constant_bytes_read
from ..sequence.residency_decisions import Residence
from ..session import Session
from .compile_subgraphs import ATTEMPTS_AN_OPERATOR, FEWEST_ATTEMPTS, OVERLAP_SHARE
from .outline_function import outline_function
from .subgraph import Subgraph, Subgraphs, subgraphs_of
from .subgraph_compiler import SubgraphCompiler

FUSED_SHARE = 4
"""Strategy `auto` compiles at most this many times the number of nodes."""
FEWEST_FUSED = 4096


def fuse_subgraphs(module: ModuleOp, fusion: Fusion, session: Session) -> Subgraphs | None:
    """
    Fuse neighbouring subgraphs of `@main` by a strategy. Returns the compiled subgraphs; None if there is nothing to
    fuse: `auto` fuses only if all subgraphs are marked `to_fit`. Afterwards no subgraph is marked `to_fit`: the
    remaining cuts are intended.

    Raises MeshloomError for a subgraph that does not compile, or does not fit the chip.
    """
    strategy, function = fusion.strategy, find_main(module)
    subgraphs = [op for op in function.body.block.ops if isinstance(op, SubgraphOp)]
    meant = strategy == "auto" and any(op.to_fit is None for op in subgraphs)
    for op in subgraphs:
        op.to_fit = None
    if strategy == "none" or len(subgraphs) < 2 or meant:
        return None
    parts = subgraphs_of(inline_subgraphs(function))
    merge_constants(function.body.block)
    session.progress("fuse subgraphs")
    compiler = SubgraphCompiler(function, session.logged(CompilationLog()))
    with CompilePool(session.chip, session.cache.effort, session.options.jobs) as pool:
        compiler.compile(parts, pool)  # they are in the cache, and already in the log
        compiler.log = session.log
        for part in parts:
            if isinstance(part.outcome, Failure):
                name = session.chip.name
                what = f"subgraph @{part.label} does not compile for chip '{name}', see manycore-outline-to-fit"
                raise part.outcome.error(compiler.reason(part, part.outcome, what))
        candidates = _Candidates(compiler, parts, strategy, pool)
        chosen = candidates.fuse(fusion.make([candidates.size(part) for part in parts]))
        if strategy == "auto" and len(chosen) < len(parts):
            search = compiler.search()
            search.try_variant(f"{len(chosen)} launches, of fused subgraphs", lambda: chosen)
            search.try_variant(f"{len(parts)} launches", lambda: parts, share=ACCEPT_RATIO)
            compiler.note_trials(search.trials)
            chosen = search.best()
    for part in chosen:
        if part.members:
            compiler.note("fuse", part, True, f"stands for {len(part.members)} subgraphs")
    found = compiler.subgraphs(chosen)
    Rewriter.replace_op(function, outline_function(function, chosen))
    return found


class _Candidates:
    def __init__(self, compiler: SubgraphCompiler, parts: list[Subgraph], strategy: str, pool: CompilePool) -> None:
        self.compiler, self.parts, self.pool = compiler, parts, pool
        self.automatic, self.timed = strategy == "auto", strategy == "optimal"
        nodes = sum(len(part.nodes) for part in parts)
        self.left = max(FEWEST_FUSED, FUSED_SHARE * nodes) if self.automatic else inf
        """Number of nodes that may still be compiled."""
        self.last = compiler.log.attempts + max(FEWEST_ATTEMPTS, ATTEMPTS_AN_OPERATOR * nodes)
        self.most = compiler.chip.dram_bytes
        """
        Largest number of bytes of streamed weights in a fused subgraph, so that they are copied during other launches.
        """
        if self.automatic and compiler.fit(parts)[1].blocks:
            self.most //= OVERLAP_SHARE
        self.made: dict[Interval, Subgraph] = {}

    def fuse(self, strategy: FusionStrategy) -> list[Subgraph]:
        """Fuse neighbours that the strategy selects, as long as all still fit in DRAM in turn."""
        intervals = strategy(len(self.parts), self._candidate)
        chosen = [self.made[start, stop] if stop - start > 1 else self.parts[start] for start, stop in intervals]
        while True:
            try:
                self.compiler.fit(chosen)
                return chosen
            except DramCapacityError as error:
                whole = chosen[error.launch]
                if not whole.members:
                    raise
                text = f"does not fit with the resident values, divided again ({error})"
                self.compiler.note("fit", whole, False, text)
                chosen[error.launch : error.launch + 1] = whole.members

    def _candidate(self, start: int, stop: int) -> Outcome:
        """Cycles of the subgraphs from `start` to before `stop` as one."""
        members = tuple(self.parts[start:stop])
        fused = members[0]
        if len(members) > 1:
            nodes = tuple(op for member in members for op in member.nodes)
            size = constant_bytes_read(nodes)
            between = sum(member.code.segments[-1] for member in members)
            # Values that are stored in DRAM inside the members most likely are in the whole, too.
            if self.automatic and (size > self.most or size + between > self.compiler.chip.dram_bytes):
                return Outcome(None, f"{size} bytes of weights and {between} of intermediate values are too many")
            if self.compiler.log.attempts >= self.last or len(nodes) > self.left:
                return Outcome(None, "the limit of attempts is reached")
            self.left -= len(nodes)
            said = Residence.together([member.residence for member in members])
            fused = Subgraph(f"{members[0].label}+{members[-1].label}", nodes, members=members, residence=said)
            self.compiler.compile([fused], self.pool)
        self.made[start, stop] = fused
        if isinstance(fused.outcome, Failure):
            return Outcome(None, fused.outcome.message)
        return Outcome(self.compiler.cycles_of(fused) if self.timed else fused.code.estimated_cycles)

    def size(self, part: Subgraph) -> PartSize:
        """The size of a subgraph for strategies with bounds."""
        graph = self.compiler.block_graph()
        number_of = {op: number for number, op in enumerate(graph.ops)}
        nodes = [number_of[op] for op in part.nodes]
        return PartSize(int(graph.graph.macs[nodes].sum()), constant_bytes_read(part.operators), len(part.code.tasks))
