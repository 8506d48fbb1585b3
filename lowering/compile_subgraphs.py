"""
The compile driver: the network whole; what fails is split and each part tried, until all compile (spec 2, S13).

An operator that does not compile alone is split itself. Then subgraphs are fused where a strategy says so, and linked.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from math import inf
from typing import NoReturn

import numpy as np
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation
from xdsl.transforms.dead_code_elimination import region_dce

from ..analysis.function_graph import BlockGraph, block_graph
from ..analysis.search import WORTHWHILE, Search, Trial
from ..analysis.subgraphs.fuse_grouped import PartSize
from ..analysis.subgraphs.fusion import FusionStrategy, Interval
from ..analysis.subgraphs.fusion import Outcome as FusionOutcome
from ..analysis.subgraphs.op_graph import Ints, Segment, Segments, serial_order
from ..analysis.subgraphs.split_rule import SplitRule
from ..analysis.subgraphs.weight_bytes import AtWeightBytes
from ..chips import Chip
from ..dialects.locations import located
from ..emulator.costs import host_cycles
from ..support.errors import MeshloomError, ResourceError
from .compilation_log import Action, CompilationLog, LogEntry, over
from .host_layout import HostLayout
from .inline_subgraphs import Group
from .link_network import network_of
from .operator_split import DeviceSplitter, OperatorSplitter
from .piece_cache import Failure, Outcome, PieceCache
from .piece_code import PieceCode
from .piece_cycles import piece_cycles
from .piece_pool import PiecePool
from .piece_text import PieceText, piece_text
from .residency import DramShortage, Residency, plan_residency
from .serial import Serial, constant_bytes_read, part_module, serial_list
from .stages import Progress
from .subgraph import Subgraph, Subgraphs, is_node, name_of, with_work
from .subgraph_options import FUSIONS, SubgraphOptions
from .timeline import total_cycles

ATTEMPTS_AN_OPERATOR = 8
"""Parts that are tried at most, by the network's operators; a network needs two or three times as many to fall into
single operators."""
FEWEST_ATTEMPTS = 256
FUSED_SHARE = 4
"""Automatic fusing compiles at most so many times the nodes that there are."""
FEWEST_FUSED = 4096
OVERLAP_SHARE = 8
"""Weights that come from the host are cut into parts of DRAM divided by this, where that is faster."""


class Driver:
    """Compiles one function. Operators that do not fit are split in the function itself."""

    def __init__(
        self,
        function: FuncOp,
        chip: Chip,
        options: SubgraphOptions,
        log: CompilationLog,
        progress: Progress,
        cache: PieceCache | None = None,
    ) -> None:
        self.function, self.chip, self.options, self.log, self.progress = function, chip, options, log, progress
        self.cache = PieceCache(chip, options.cache, options.effort) if cache is None else cache
        self.most_dram = self.most_alone = chip.dram_bytes
        """Bytes of DRAM that a launch of several operators may need, and one of a single operator."""
        self.splitter = OperatorSplitter(function, chip)
        self._graph: BlockGraph | None = None
        self._most = 0
        self._cycles: dict[str, float] = {}
        """Of compiled subgraphs, by key."""

    def run(self, given: Sequence[Group] = ()) -> Subgraphs:
        """
        Split, compile and fuse. `given`: the subgraphs that the module came in.

        Raises ResourceError naming an operator that does not fit, with what it needs and what the chip has.
        """
        self._begin()
        with PiecePool(self.chip, self.cache.effort, self.options.jobs) as pool:
            parts = self._settle(self._first(given), pool)
            automatic = not given and self.options.rule is None
            if automatic and self.options.split_failures:
                parts = self._overlapped(parts, pool)
            if len(parts) > 1 and (automatic or self.options.fuse != "auto"):
                parts = self._fused(parts, pool)
            serial, residency = self._fit(parts)
        graph = self._block_graph()
        return Subgraphs(tuple(parts), serial, residency, self._segments(graph, parts), graph)

    def compiled(self, most_dram: int, most_alone: int) -> list[Subgraph]:
        """
        Subgraphs that all compile; those of several operators need no more than `most_dram` bytes of DRAM for
        themselves, those of one no more than `most_alone`, else they are split. None of them has a place. Raises
        ResourceError as `run` does.
        """
        self._begin()
        self.splitter = DeviceSplitter(self.function, self.chip)
        self.most_dram, self.most_alone = most_dram, most_alone
        with PiecePool(self.chip, self.cache.effort, self.options.jobs) as pool:
            return self._compiled([self._whole()], pool)

    def pieces(self, given: Sequence[Group] = ()) -> list[Subgraph]:
        """
        Subgraphs that all compile alone, whether or not all fit in DRAM in turn, and that are not fused. Raises as
        `run` does.
        """
        self._begin()
        with PiecePool(self.chip, self.cache.effort, self.options.jobs) as pool:
            return self._compiled(self._first(given), pool)

    def for_another(self, function: FuncOp) -> Driver:
        """One for a function that is to compile without being split, or not at all."""
        options = replace(self.options, split_failures=False)
        return Driver(function, self.chip, options, CompilationLog(), self.progress, self.cache)

    def _first(self, given: Sequence[Group]) -> list[Subgraph]:
        """The subgraphs to begin with: those that are given, those of a rule, or the whole."""
        if given:
            return with_work([Subgraph(one.name, tuple(filter(is_node, one.operations))) for one in given])
        whole = self._whole()
        if self.options.rule is None:
            return [whole]
        return self._parts(whole, self._cut([whole], 0, self.options.rule)) or [whole]

    def _whole(self) -> Subgraph:
        graph = self._block_graph()
        order = serial_order(graph.graph) if len(graph.ops) else np.zeros(0, np.int64)
        return Subgraph("all", tuple(graph.ops[int(node)] for node in order))

    def _begin(self) -> None:
        nodes = sum(is_node(op) for op in self.function.body.block.ops)
        self._most = max(FEWEST_ATTEMPTS, ATTEMPTS_AN_OPERATOR * nodes)

    def _block_graph(self) -> BlockGraph:
        if self._graph is None:
            self._graph = block_graph(self.function.body.block)
        return self._graph

    # ---- Compile, split on failure

    def _settle(self, parts: list[Subgraph], pool: PiecePool) -> list[Subgraph]:
        """Split until every part compiles and all fit in DRAM in turn."""
        while True:
            parts = self._compiled(parts, pool)
            try:
                self._fit(parts)
                return parts
            except DramShortage as error:
                failed = parts[error.launch]
                failure = Failure(str(error), error.resource, error.needed, error.available)
                failed.outcome = failure
                self._note("fit", failed, False, self._reason(failed, failure, "does not fit beside what stays"))
            parts = self._divided(parts)

    def _compiled(self, parts: list[Subgraph], pool: PiecePool) -> list[Subgraph]:
        """Split until every part compiles within the DRAM that a launch may need."""
        while True:
            self._compile(parts, pool)
            if not any(isinstance(part.outcome, Failure) for part in parts):
                return parts
            parts = self._divided(parts)

    def _divided(self, parts: list[Subgraph]) -> list[Subgraph]:
        """The parts with those split that have failed."""
        if not self.options.split_failures:
            self._give_up(next(part for part in parts if isinstance(part.outcome, Failure)))
        if self.log.attempts > self._most:
            raise MeshloomError(
                f"the network does not fit chip '{self.chip.name}' after {self._most} parts were tried: choose a chip "
                "with more memory"
            )
        settled = self._split_failed(parts)
        if self._graph is None:  # an operator was split, which may have left values that nobody reads
            region_dce(self.function.body)
        return with_work([part for part in (self._alive(part) for part in settled) if part.nodes])

    def _compile(self, parts: Sequence[Subgraph], pool: PiecePool) -> None:
        """Compile the parts that have no outcome yet."""
        waiting = [part for part in parts if part.outcome is None]
        wanted: dict[str, PieceText] = {}
        known = {id(part): part.key for part in waiting}
        for part in waiting:
            part.text = piece_text(part_module(part.operators))
            part.key = self.cache.key(part.text.text)
            if self.cache.get(part.key) is None:
                wanted[part.key] = part.text
            self.log.attempts += known[id(part)] != part.key
        if waiting:
            count = f"{len(waiting)} subgraphs" if len(waiting) > 1 else f"subgraph {waiting[0].label}"
            self.progress(f"compile {count}")
        for key, data in zip(wanted, pool.compile(list(wanted.values())), strict=True):
            self.cache.put(key, data)
        for part in waiting:
            part.outcome = self._within_dram(part, self.cache.get(part.key))
            if known[id(part)] == part.key:
                continue  # looked at again because another part has changed
            if isinstance(part.outcome, Failure):
                self._note("compile", part, False, self._reason(part, part.outcome, "does not compile"))
            else:
                code = part.code
                text = (
                    f"compiles to {len(code.tasks)} tasks, about {code.estimated_cycles:,} cycles, {code.sram_peak:,} "
                    f"bytes of SRAM a core, {code.dram_bytes:,} bytes of DRAM"
                )
                self._note("compile", part, True, text)
                self.note_trials(code.trials, part)

    def _within_dram(self, part: Subgraph, outcome: Outcome | None) -> Outcome | None:
        most = self.most_dram if len(part.operators) > 1 else self.most_alone
        if not isinstance(outcome, PieceCode) or outcome.dram_bytes <= most:
            return outcome
        what = f"with inputs, results, and {outcome.segments[-1]:,} bytes in between"
        return Failure(what, "DRAM", outcome.dram_bytes, most)

    def _reason(self, part: Subgraph, failure: Failure, what: str) -> str:
        message = part.text.named(failure.message) if part.text is not None else failure.message
        figures = over(failure.resource, failure.needed, failure.available)
        return f"{what}: {figures} ({message})" if figures else f"{what}: {message}"

    def _split_failed(self, parts: Sequence[Subgraph]) -> list[Subgraph]:
        """The same list with every failed part in several, or with its only operator split."""
        made: dict[int, list[Subgraph]] = {}
        failed = [number for number, part in enumerate(parts) if isinstance(part.outcome, Failure)]
        # Operators change the function when they are split: all cuts come first.
        for number in failed:
            if len(parts[number].operators) > 1:
                made[number] = self._split(parts, number)
        cut = [one for number, part in enumerate(parts) for one in made.get(number, [part])]
        for number in failed:
            # What failed may have been split along with what it reads.
            if number not in made and isinstance(parts[number].outcome, Failure):
                self._split_operator(cut, parts[number])
        return cut

    def _split(self, parts: Sequence[Subgraph], number: int) -> list[Subgraph]:
        """A failed part in several."""
        part = parts[number]
        operators = part.operators
        made = self._parts(part, self._cut(parts, number, self.options.again))
        if len(made) < 2:  # the rule cuts between reshapes only
            middle = part.nodes.index(operators[len(operators) // 2])
            made = self._parts(part, [middle])
        last = [name_of(one.operators[-1]) for one in made[:-1]]
        after = ", ".join(f"'{name}'" for name in last[:4]) + (", ..." if len(last) > 4 else "")
        self._note("split", part, True, f"is split into {len(made)} parts, after {after}")
        return made

    def _split_operator(self, parts: Sequence[Subgraph], part: Subgraph) -> None:
        """Split the only operator of a failed part, in the function; and in other parts what reads it, if need be."""
        operators = part.operators
        failure = part.outcome
        assert isinstance(failure, Failure)
        if not operators:  # inputs that are given back
            self._give_up(part)
        ends = part.ends
        try:
            split = self.splitter.split(next(iter(operators)), failure)
        except ResourceError as error:
            raise self._hopeless(part, failure, str(error)) from error
        if split is None:
            self._give_up(part)
        self.log.add(LogEntry("split operator", part.label, 1, *ends, True, split.text))
        self._graph = None
        self.log.attempts += 1
        for other in parts:
            if any(op in split.replaced for op in other.nodes):
                there = (split.replaced.get(op, [op]) for op in other.nodes)
                nodes = tuple(new for ops in there for new in ops if is_node(new))
                self._most += ATTEMPTS_AN_OPERATOR * max(0, len(nodes) - len(other.nodes))
                other.nodes, other.outcome = nodes, None
            elif not isinstance(other.outcome, Failure):
                other.outcome = None  # what crosses its border may have changed
        parts[0].nodes = (*split.added, *parts[0].nodes)

    def _hopeless(self, part: Subgraph, failure: Failure, detail: str) -> ResourceError:
        op = part.operators[0]
        message = part.text.named(failure.message) if part.text is not None else failure.message
        figures = over(failure.resource, failure.needed, failure.available)
        error = ResourceError(
            f"operator '{name_of(op)}' ({op.name}) does not fit chip '{self.chip.name}', not even alone and in parts: "
            f"it {f'{figures} ({message})' if figures else message}; in parts, {detail}",
            failure.resource, failure.needed, failure.available,
        )  # fmt: skip
        return located(error, op)

    def _give_up(self, part: Subgraph) -> NoReturn:
        """Raise the error of a part that does not compile."""
        failure = part.outcome
        assert isinstance(failure, Failure)
        message = part.text.named(failure.message) if part.text is not None else failure.message
        if not failure.resource:
            raise located(MeshloomError(message), _only(part.operators))
        names = part.operators
        what = f"operator '{name_of(names[0])}' ({names[0].name})" if len(names) == 1 else "the network"
        figures = over(failure.resource, failure.needed, failure.available)
        error = ResourceError(
            f"{what} does not fit chip '{self.chip.name}': it {figures} ({message})",
            failure.resource, failure.needed, failure.available,
        )  # fmt: skip
        raise located(error, _only(names))

    def _alive(self, part: Subgraph) -> Subgraph:
        nodes = tuple(op for op in part.nodes if op.parent is not None)
        return part if len(nodes) == len(part.nodes) else replace(part, nodes=nodes, outcome=None)

    # ---- Where to cut

    def _cut(self, parts: Sequence[Subgraph], number: int, rule: SplitRule) -> list[int]:
        """Positions in the nodes of a part at which a rule cuts it."""
        graph = self._block_graph()
        order = self._order(graph, parts)
        start = sum(len(part.nodes) for part in parts[:number])
        cuts = rule(graph.graph, Segment(order, start, start + len(parts[number].nodes)))
        return [cut - start for cut in cuts]

    def _order(self, graph: BlockGraph, parts: Sequence[Subgraph]) -> Ints:
        number_of = {op: number for number, op in enumerate(graph.ops)}
        return np.array([number_of[op] for part in parts for op in part.nodes], np.int64)

    def _segments(self, graph: BlockGraph, parts: Sequence[Subgraph]) -> Segments:
        bounds = np.cumsum([0, *(len(part.nodes) for part in parts)]).tolist()
        return Segments(self._order(graph, parts), tuple(bounds))

    def _parts(self, part: Subgraph, cuts: Sequence[int]) -> list[Subgraph]:
        bounds = [0, *cuts, len(part.nodes)]
        pieces = [part.nodes[low:high] for low, high in pairwise(bounds)]
        made = with_work([Subgraph("", nodes) for nodes in pieces if nodes])
        prefix = "" if part.label == "all" else f"{part.label}."
        return [Subgraph(f"{prefix}{number}", one.nodes) for number, one in enumerate(made, 1)]

    # ---- DRAM, and fusing

    def _fit(self, parts: Sequence[Subgraph]) -> tuple[Serial, Residency]:
        serial = serial_list(self.function, [part.operators for part in parts])
        network = network_of(serial, [part.code.segments[-1] for part in parts])
        return serial, plan_residency(network, self.chip.dram_bytes)

    def _overlapped(self, parts: list[Subgraph], pool: PiecePool) -> list[Subgraph]:
        """
        Where weights come from the host, smaller parts let them come in beside the launches before: the list with large
        parts cut by their weights, if that is expected to be faster.
        """
        serial, residency = self._fit(parts)
        if not residency.blocks:
            return parts
        search = self._search()
        search.try_variant(f"{len(parts)} launches", lambda: parts)
        if search.least() * WORTHWHILE <= self._least(parts, serial, residency):
            return parts
        rule = AtWeightBytes(self.chip.dram_bytes // OVERLAP_SHARE)
        cut = [self._parts(part, self._cut(parts, number, rule)) for number, part in enumerate(parts)]
        finer = [one for part, made in zip(parts, cut, strict=True) for one in (made if len(made) > 1 else [part])]
        if len(finer) == len(parts):
            return parts

        def compiled() -> list[Subgraph]:
            self._compile(finer, pool)
            for part in finer:
                if isinstance(part.outcome, Failure):
                    raise MeshloomError(self._reason(part, part.outcome, f"subgraph {part.label} does not compile"))
            self._fit(finer)
            return finer

        search.try_variant(f"{len(finer)} launches, for weights to come in beside others", compiled, share=WORTHWHILE)
        self.note_trials(search.trials)
        return search.best()

    def _search(self) -> Search[list[Subgraph]]:
        """A search of lists that fit in DRAM in turn, by what they take with their host copies."""
        return Search(lambda parts: self._total(parts, *self._fit(parts)), self.options.effort.measure)

    def cycles(self, found: Subgraphs) -> float:
        """What a list takes with its host copies."""
        return self._total(found.parts, found.serial, found.residency)

    def _least(self, parts: Sequence[Subgraph], serial: Serial, residency: Residency) -> float:
        """Cycles that the list takes at least, however well copies hide behind launches."""
        launches = HostLayout(serial, residency).boundaries()
        copies = [copy for launch in launches for copy in (*launch.before, *launch.beside)]
        inward = sum(int(host_cycles(self.chip, copy.nbytes)) for copy in copies)
        return max(inward, sum(self.cycles_of(part) for part in parts))

    def _total(self, parts: Sequence[Subgraph], serial: Serial, residency: Residency) -> float:
        boundaries = HostLayout(serial, residency).boundaries()
        return total_cycles(self.chip, boundaries, [self.cycles_of(part) for part in parts])

    def _fused(self, parts: list[Subgraph], pool: PiecePool) -> list[Subgraph]:
        """The list with neighbours made one, as the options say."""
        make = FUSIONS[self.options.fuse]
        if make is None:
            return parts
        self.progress("fuse subgraphs")
        chosen = self._fuse(parts, make([self._size(part) for part in parts]), pool)
        if self.options.fuse == "auto" and len(chosen) < len(parts):
            search = self._search()
            search.try_variant(f"{len(chosen)} launches, of fused subgraphs", lambda: chosen)
            search.try_variant(f"{len(parts)} launches", lambda: parts, share=WORTHWHILE)
            self.note_trials(search.trials)
            chosen = search.best()
        for part in chosen:
            if part.members:
                self._note("fuse", part, True, f"stands for {len(part.members)} subgraphs")
        return chosen

    def _fuse(self, parts: list[Subgraph], strategy: FusionStrategy, pool: PiecePool) -> list[Subgraph]:
        """Make neighbours one where a strategy finds that to be good, and all still fit in DRAM in turn."""
        timed = self.options.fuse == "optimal"
        last = self.log.attempts + self._most
        automatic = self.options.fuse == "auto"
        left = max(FEWEST_FUSED, FUSED_SHARE * sum(len(part.nodes) for part in parts)) if automatic else inf
        # Weights that come from the host should still come in beside other launches.
        most = self.chip.dram_bytes
        if automatic and self._fit(parts)[1].blocks:
            most //= OVERLAP_SHARE
        made: dict[Interval, Subgraph] = {}

        def candidate(start: int, stop: int) -> FusionOutcome:
            nonlocal left
            members = tuple(parts[start:stop])
            fused = members[0]
            if len(members) > 1:
                nodes = tuple(op for member in members for op in member.nodes)
                size = constant_bytes_read(nodes)
                between = sum(member.code.segments[-1] for member in members)
                # What passes through DRAM inside the members will most likely do so in the whole, too.
                if automatic and (size > most or size + between > self.chip.dram_bytes):
                    return FusionOutcome(None, f"{size} bytes of weights and {between} between them are too many")
                if self.log.attempts >= last or len(nodes) > left:
                    return FusionOutcome(None, "enough have been tried")
                left -= len(nodes)
                fused = Subgraph(f"{members[0].label}+{members[-1].label}", nodes, members=members)
                self._compile([fused], pool)
            made[start, stop] = fused
            if isinstance(fused.outcome, Failure):
                return FusionOutcome(None, fused.outcome.message)
            return FusionOutcome(self.cycles_of(fused) if timed else fused.code.estimated_cycles)

        intervals = strategy(len(parts), candidate)
        chosen = [made[start, stop] if stop - start > 1 else parts[start] for start, stop in intervals]
        while True:
            try:
                self._fit(chosen)
                break
            except DramShortage as error:
                whole = chosen[error.launch]
                if not whole.members:
                    raise
                self._note("fit", whole, False, f"does not fit beside what stays, and is taken apart ({error})")
                chosen[error.launch : error.launch + 1] = whole.members
        return chosen

    def _size(self, part: Subgraph) -> PartSize:
        graph = self._block_graph()
        number_of = {op: number for number, op in enumerate(graph.ops)}
        nodes = [number_of[op] for op in part.nodes]
        work = int(graph.graph.macs[nodes].sum() + graph.graph.other_ops[nodes].sum())
        return PartSize(work, constant_bytes_read(part.operators), len(part.code.tasks))

    def cycles_of(self, part: Subgraph) -> float:
        """Cycles of a compiled subgraph by itself, estimated or emulated as the effort says."""
        if part.key not in self._cycles:
            self._cycles[part.key] = piece_cycles(part.code, self.chip, self.cache.effort)
        return self._cycles[part.key]

    def note_trials(self, trials: Sequence[Trial], part: Subgraph | None = None) -> None:
        """What was tried, of a part or of the whole list."""
        part = self._whole() if part is None else part
        for trial in trials:
            self._note("try", part, True, str(trial))

    def _note(self, action: Action, part: Subgraph, ok: bool, text: str) -> None:
        failure = part.outcome if not ok and isinstance(part.outcome, Failure) else Failure("")
        first, last = part.ends
        self.log.add(
            LogEntry(
                action, part.label, len(part.operators), first, last, ok, text,
                failure.resource, failure.needed, failure.available,
            )
        )  # fmt: skip


def _only(operators: Sequence[Operation]) -> Sequence[Operation]:
    """What an error is about: an operator where it is alone, else none of them."""
    return operators if len(operators) == 1 else ()
