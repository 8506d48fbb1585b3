"""Compile subgraphs of a function separately, and find the cycles of launch sequences that fit in DRAM."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from xdsl.dialects.func import FuncOp

from ...analysis.cost_graphs.function_graph import BlockGraph
from ...analysis.cost_graphs.function_graph import block_graph as graph_of_block
from ...analysis.search import Search, Trial
from ...analysis.subgraphs.op_graph import Ints, Segments, serial_order
from ...emulator.machine.costs import host_cycles
from ..autotune.compile_pool import CompilePool
from ..autotune.subgraph_cycles import subgraph_cycles
from ..cache.compile_cache import Failure, Outcome
from ..cache.subgraph_code import SubgraphCode
from ..cache.subgraph_text import SubgraphText, subgraph_text
from ..launch.dram_segments import bytes_of, padded
from ..linker.sequence_cycles import total_cycles
from ..options.compilation_log import Action, LogEntry, over
from ..sequence.dram_residency import Residency, plan_residency
from ..sequence.host_layout import HostLayout
from ..sequence.launch_sequence import LaunchSequence, launch_sequence, module_key, module_of_operators
from ..sequence.link_sequence import network_of
from ..session import Session
from .subgraph import Subgraph, Subgraphs


class SubgraphCompiler:
    """Compiles subgraphs of one function, logs the outcomes, and finds the cycles of a launch sequence."""

    def __init__(self, function: FuncOp, session: Session) -> None:
        self.function = function
        self.chip, self.cache, self.log, self.progress = session.chip, session.cache, session.log, session.progress
        self.most_dram = self.most_alone = session.chip.dram_bytes
        """Bytes of DRAM that a launch of several operators may need, and that one of a single operator may need."""
        self._graph: BlockGraph | None = None
        self._cycles: dict[str, float] = {}
        """Cycles of compiled subgraphs, by key."""

    def whole(self) -> Subgraph:
        """All operations as one subgraph."""
        graph = self.block_graph()
        order = serial_order(graph.graph) if len(graph.ops) else np.zeros(0, np.int64)
        return Subgraph("all", tuple(graph.ops[int(node)] for node in order))

    def block_graph(self) -> BlockGraph:
        """The graph of the function's present operations."""
        if self._graph is None:
            self._graph = graph_of_block(self.function.body.block)
        return self._graph

    def forget_graph(self) -> None:
        """Drop the graph after a change of the function."""
        self._graph = None

    def is_changed(self) -> bool:
        """Whether the function has changed since its graph was built."""
        return self._graph is None

    def order(self, parts: Sequence[Subgraph]) -> Ints:
        """The nodes of a list, as numbers in the function's graph."""
        graph = self.block_graph()
        number_of = {op: number for number, op in enumerate(graph.ops)}
        return np.array([number_of[op] for part in parts for op in part.nodes], np.int64)

    def subgraphs(self, parts: Sequence[Subgraph]) -> Subgraphs:
        """A list that fits, with its residency."""
        sequence, residency = self.fit(parts)
        bounds = np.cumsum([0, *(len(part.nodes) for part in parts)]).tolist()
        return Subgraphs(
            tuple(parts), sequence, residency, Segments(self.order(parts), tuple(bounds)), self.block_graph()
        )

    def compile(self, parts: Sequence[Subgraph], pool: CompilePool) -> None:
        """Compile the subgraphs that have no result yet."""
        waiting = [part for part in parts if part.outcome is None]
        wanted: dict[str, SubgraphText] = {}
        known = {id(part): part.key for part in waiting}
        for part in waiting:
            made = module_key(part.operators)
            if part.text is None or part.text_of != made:
                part.text, part.text_of = subgraph_text(module_of_operators(part.operators)), made
                part.key = self.cache.key(part.text.text)
            if self.cache.get(part.key) is None and (failure := self._crossing(part)) is not None:
                part.outcome = failure
            elif self.cache.get(part.key) is None:
                wanted[part.key] = part.text
            self.log.attempts += known[id(part)] != part.key
        if waiting:
            count = f"{len(waiting)} subgraphs" if len(waiting) > 1 else f"subgraph {waiting[0].label}"
            self.progress(f"compile {count}")
        for key, data in zip(wanted, pool.compile(list(wanted.values())), strict=True):
            self.cache.put(key, data)
        for part in waiting:
            if part.outcome is None:
                part.outcome = self._within_dram(part, self.cache.get(part.key))
            if known[id(part)] == part.key:
                continue  # compiled again because another part has changed
            if isinstance(part.outcome, Failure):
                self.note("compile", part, False, self.reason(part, part.outcome, "does not compile"))
            else:
                code = part.code
                text = (
                    f"compiles to {len(code.tasks)} tasks, about {code.estimated_cycles:,} cycles, {code.sram_peak:,} "
                    f"bytes of SRAM per core, {code.dram_bytes:,} bytes of DRAM"
                )
                self.note("compile", part, True, text)
                self.note_trials(code.trials, part)

    def _within_dram(self, part: Subgraph, outcome: Outcome | None) -> Outcome | None:
        most = self.most_dram if len(part.operators) > 1 else self.most_alone
        if not isinstance(outcome, SubgraphCode) or outcome.dram_bytes <= most:
            return outcome
        what = f"with inputs, results, and {outcome.segments[-1]:,} bytes in between"
        return Failure(what, "DRAM", outcome.dram_bytes, most)

    def _crossing(self, part: Subgraph) -> Failure | None:
        """
        The failure of a subgraph of several operators whose inputs and results alone exceed its limit; it is not
        compiled.
        """
        if len(part.operators) == 1 or self.most_dram >= self.chip.dram_bytes:
            return None
        own = module_of_operators(part.operators)
        needed = sum(padded(bytes_of(value)) for value in (*own.arguments, *own.results))
        if needed <= self.most_dram:
            return None
        return Failure("with inputs and results alone", "DRAM", needed, self.most_dram)

    def reason(self, part: Subgraph, failure: Failure, what: str) -> str:
        """The reason why a subgraph failed, with figures."""
        message = part.text.named(failure.message) if part.text is not None else failure.message
        figures = over(failure.resource, failure.needed, failure.available)
        return f"{what}: {figures} ({message})" if figures else f"{what}: {message}"

    def fit(self, parts: Sequence[Subgraph]) -> tuple[LaunchSequence, Residency]:
        """The launches of a list, and the residency of values and weights. Raises DramCapacityError."""
        sequence = launch_sequence(self.function, [part.operators for part in parts])
        network = network_of(sequence, [part.code.segments[-1] for part in parts])
        return sequence, plan_residency(network, self.chip.dram_bytes)

    def least(self, parts: Sequence[Subgraph], sequence: LaunchSequence, residency: Residency) -> float:
        """Lower bound of the cycles of a list, if all copies overlap with launches."""
        launches = HostLayout(sequence, residency).boundaries()
        copies = [copy for launch in launches for copy in (*launch.before, *launch.beside)]
        inward = sum(int(host_cycles(self.chip, copy.nbytes)) for copy in copies)
        return max(inward, sum(self.cycles_of(part) for part in parts))

    def total(self, parts: Sequence[Subgraph], sequence: LaunchSequence, residency: Residency) -> float:
        """Cycles of a list with its host copies."""
        boundaries = HostLayout(sequence, residency).boundaries()
        return total_cycles(self.chip, boundaries, [self.cycles_of(part) for part in parts])

    def search(self) -> Search[list[Subgraph]]:
        """A search among lists that fit in DRAM in turn, by their cycles with host copies."""
        return Search(lambda parts: self.total(parts, *self.fit(parts)), self.cache.effort.measure)

    def cycles_of(self, part: Subgraph) -> float:
        """Cycles of a compiled subgraph in isolation, estimated or emulated depending on the effort."""
        if part.key not in self._cycles:
            self._cycles[part.key] = subgraph_cycles(part.code, self.chip, self.cache.effort)
        return self._cycles[part.key]

    def note_trials(self, trials: Sequence[Trial], part: Subgraph | None = None) -> None:
        """Log the trials of a subgraph or of the whole list."""
        part = self.whole() if part is None else part
        for trial in trials:
            self.note("try", part, True, str(trial))

    def note(self, action: Action, part: Subgraph, ok: bool, text: str) -> None:
        """Write a line of the log."""
        failure = part.outcome if not ok and isinstance(part.outcome, Failure) else Failure("")
        first, last = part.ends
        self.log.add(
            LogEntry(
                action, part.label, len(part.operators), first, last, ok, text,
                failure.resource, failure.needed, failure.available,
            )
        )  # fmt: skip
