"""
The compile driver: compiles the network as a whole; subgraphs that fail are split, and their parts compiled, until all
compile (spec 2, S13).

An operator that does not compile alone is split.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from typing import NoReturn

from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation
from xdsl.transforms.dead_code_elimination import region_dce

from ...analysis.search import ACCEPT_RATIO
from ...analysis.subgraphs.op_graph import Segment
from ...analysis.subgraphs.split_rule import SplitRule
from ...analysis.subgraphs.weight_bytes import AtWeightBytes
from ...dialects.locations import located
from ...support.errors import MeshloomError, ResourceError
from ..autotune.compile_pool import CompilePool
from ..cache.compile_cache import Failure
from ..options.compilation_log import CompilationLog, LogEntry, over
from ..sequence.dram_residency import DramCapacityError
from ..sequence.inline_subgraphs import Group
from ..session import Session
from .operator_split import DeviceSplitter, OperatorSplitter
from .subgraph import Subgraph, Subgraphs, is_node, name_of, subgraphs_of, with_work
from .subgraph_compiler import SubgraphCompiler

ATTEMPTS_AN_OPERATOR = 8
"""
Largest number of subgraphs that are compiled, per operator of the network; two or three per operator are needed to
reach single operators.
"""
FEWEST_ATTEMPTS = 256
OVERLAP_SHARE = 8
"""
Subgraphs with streamed weights are cut into parts with this fraction (1 / OVERLAP_SHARE) of DRAM, if that is faster.
"""


class Driver:
    """Compiles one function. Operators that do not fit are split in the function itself."""

    def __init__(self, function: FuncOp, session: Session) -> None:
        self.function, self.session = function, session
        self.chip, self.options, self.log, self.progress = session.chip, session.options, session.log, session.progress
        self.compiler = SubgraphCompiler(function, session)
        self.splitter = OperatorSplitter(function, session.chip)
        nodes = sum(is_node(op) for op in function.body.block.ops)
        self._most = max(FEWEST_ATTEMPTS, ATTEMPTS_AN_OPERATOR * nodes)

    def run(self, given: Sequence[Group] = ()) -> Subgraphs:
        """
        Split and compile. `given`: the subgraphs that the module specifies.

        Raises ResourceError naming an operator that does not fit, with the bytes that it needs and those of the chip.
        """
        with self._pool() as pool:
            parts = self._settle(self._first(given), pool)
            if not given and self.options.rule is None and self.options.split_failures:
                parts = self._overlapped(parts, pool)
        return self.compiler.subgraphs(parts)

    def compiled(self, most_dram: int, most_alone: int, given: Sequence[Group] = ()) -> list[Subgraph]:
        """
        Subgraphs that all compile, the `given` ones or parts of the whole; those of several operators need at most
        `most_dram` bytes of DRAM, those of one at most `most_alone`, otherwise they are split. None of them has DRAM
        addresses. Raises ResourceError as `run` does.
        """
        self.splitter = DeviceSplitter(self.function, self.chip)
        self.compiler.most_dram, self.compiler.most_alone = most_dram, most_alone
        with self._pool() as pool:
            return self._compiled(subgraphs_of(given) if given else [self.compiler.whole()], pool)

    def fitting(self, given: Sequence[Group] = ()) -> list[Subgraph]:
        """Subgraphs that all compile alone, whether or not all fit in DRAM in turn. Raises as `run` does."""
        with self._pool() as pool:
            return self._compiled(self._first(given), pool)

    def for_another(self, function: FuncOp) -> Driver:
        """A driver for a function that must compile without being split."""
        return Driver(function, self.session.with_options(split_failures=False).logged(CompilationLog()))

    def cycles(self, found: Subgraphs) -> float:
        """Cycles of a launch sequence with its host copies."""
        return self.compiler.total(found.parts, found.sequence, found.residency)

    def _pool(self) -> CompilePool:
        return CompilePool(self.chip, self.session.cache.effort, self.options.jobs)

    def _first(self, given: Sequence[Group]) -> list[Subgraph]:
        """The initial subgraphs: those that are given, those of a rule, or the whole network."""
        if given:
            return subgraphs_of(given)
        whole = self.compiler.whole()
        if self.options.rule is None:
            return [replace(whole, to_fit=True)]
        return self._parts(whole, self._cut([whole], 0, self.options.rule)) or [whole]

    # ---- Compile, split on failure

    def _settle(self, parts: list[Subgraph], pool: CompilePool) -> list[Subgraph]:
        """Split until every subgraph compiles and all fit in DRAM in turn."""
        while True:
            parts = self._compiled(parts, pool)
            try:
                self.compiler.fit(parts)
                return parts
            except DramCapacityError as error:
                failed = parts[error.launch]
                failure = Failure(str(error), error.resource, error.needed, error.available)
                failed.outcome = failure
                self.compiler.note(
                    "fit", failed, False, self.compiler.reason(failed, failure, "does not fit with the resident values")
                )
            parts = self._divided(parts)

    def _compiled(self, parts: list[Subgraph], pool: CompilePool) -> list[Subgraph]:
        """Split until every subgraph compiles within the DRAM that a launch may need."""
        while True:
            self.compiler.compile(parts, pool)
            if not any(isinstance(part.outcome, Failure) for part in parts):
                return parts
            parts = self._divided(parts)

    def _divided(self, parts: list[Subgraph]) -> list[Subgraph]:
        """The subgraphs, with failed ones split."""
        for part in parts:
            if isinstance(part.outcome, Failure) and (not self.options.split_failures or part.is_specified):
                self._give_up(part)
        if self.log.attempts > self._most:
            failed = [part for part in parts if isinstance(part.outcome, Failure)]
            self._give_up(min(failed, key=lambda part: len(part.operators)), f" after {self._most} parts were tried")
        settled = self._split_failed(parts)
        if self.compiler.is_changed():  # an operator was split, which may have left values without readers
            region_dce(self.function.body)
        return with_work([part for part in (self._alive(part) for part in settled) if part.nodes])

    def _split_failed(self, parts: Sequence[Subgraph]) -> list[Subgraph]:
        """The list with every failed subgraph cut, or its only operator split."""
        made: dict[int, list[Subgraph]] = {}
        failed = [number for number, part in enumerate(parts) if isinstance(part.outcome, Failure)]
        # Operators change the function when they are split: all cuts come first.
        for number in failed:
            if len(parts[number].operators) > 1:
                made[number] = self._split(parts, number)
        cut = [one for number, part in enumerate(parts) for one in made.get(number, [part])]
        for number in failed:
            # A failed operator may have been split together with its operands.
            if number not in made and isinstance(parts[number].outcome, Failure):
                self._split_operator(cut, parts[number])
        return cut

    def _split(self, parts: Sequence[Subgraph], number: int) -> list[Subgraph]:
        """Cut a failed subgraph."""
        part = parts[number]
        operators = part.operators
        made = self._parts(part, self._cut(parts, number, self.options.again))
        if len(made) < 2:  # the rule cuts between reshapes only
            middle = part.nodes.index(operators[len(operators) // 2])
            made = self._parts(part, [middle])
        last = [name_of(one.operators[-1]) for one in made[:-1]]
        after = ", ".join(f"'{name}'" for name in last[:4]) + (", ..." if len(last) > 4 else "")
        self.compiler.note("split", part, True, f"is split into {len(made)} parts, after {after}")
        return made

    def _split_operator(self, parts: Sequence[Subgraph], part: Subgraph) -> None:
        """
        Split the only operator of a failed subgraph in the function, and its readers in other subgraphs if necessary.
        """
        operators = part.operators
        failure = part.outcome
        assert isinstance(failure, Failure)
        if not operators:  # inputs that are also outputs
            self._give_up(part)
        ends = part.ends
        try:
            split = self.splitter.split(next(iter(operators)), failure)
        except ResourceError as error:
            raise self._mapping_fails(part, failure, str(error)) from error
        if split is None:
            self._give_up(part)
        self.log.add(LogEntry("split operator", part.label, 1, *ends, True, split.text))
        self.compiler.forget_graph()
        self.log.attempts += 1
        for other in parts:
            if any(op in split.replaced for op in other.nodes):
                there = (split.replaced.get(op, [op]) for op in other.nodes)
                nodes = tuple(new for ops in there for new in ops if is_node(new))
                self._most += ATTEMPTS_AN_OPERATOR * max(0, len(nodes) - len(other.nodes))
                other.nodes, other.outcome = nodes, None
            elif not isinstance(other.outcome, Failure):
                other.outcome = None  # the values at its border may have changed
        parts[0].nodes = (*split.added, *parts[0].nodes)

    def _mapping_fails(self, part: Subgraph, failure: Failure, detail: str) -> ResourceError:
        op = part.operators[0]
        message = part.text.named(failure.message) if part.text is not None else failure.message
        figures = over(failure.resource, failure.needed, failure.available)
        error = ResourceError(
            f"operator '{name_of(op)}' ({op.name}) does not fit chip '{self.chip.name}', not even alone and in parts: "
            f"it {f'{figures} ({message})' if figures else message}; in parts, {detail}",
            failure.resource, failure.needed, failure.available, name_of(op),
        )  # fmt: skip
        return located(error, op)

    def _give_up(self, part: Subgraph, when: str = "") -> NoReturn:
        """Raise the error of a subgraph that does not compile; `when` follows the name of the chip."""
        failure = part.outcome
        assert isinstance(failure, Failure)
        message = part.text.named(failure.message) if part.text is not None else failure.message
        if not failure.resource:
            raise located(MeshloomError(message), _only(part.operators))
        names = part.operators
        what = f"operator '{name_of(names[0])}' ({names[0].name})" if len(names) == 1 else "the network"
        if part.is_specified:
            what += ", as it is tiled and prefetched,"
        figures = over(failure.resource, failure.needed, failure.available)
        error = ResourceError(
            f"{what} does not fit chip '{self.chip.name}'{when}: it {figures} ({message})",
            failure.resource, failure.needed, failure.available, name_of(names[0]) if len(names) == 1 else "",
        )  # fmt: skip
        raise located(error, _only(names))

    def _alive(self, part: Subgraph) -> Subgraph:
        nodes = tuple(op for op in part.nodes if op.parent is not None)
        return part if len(nodes) == len(part.nodes) else replace(part, nodes=nodes, outcome=None)

    # ---- Cuts

    def _cut(self, parts: Sequence[Subgraph], number: int, rule: SplitRule) -> list[int]:
        """Positions in the nodes of a subgraph at which a rule cuts it."""
        start = sum(len(part.nodes) for part in parts[:number])
        graph, order = self.compiler.block_graph().graph, self.compiler.order(parts)
        cuts = rule(graph, Segment(order, start, start + len(parts[number].nodes)))
        return [cut - start for cut in cuts]

    def _parts(self, part: Subgraph, cuts: Sequence[int]) -> list[Subgraph]:
        bounds = [0, *cuts, len(part.nodes)]
        fitting = [part.nodes[low:high] for low, high in pairwise(bounds)]
        made = with_work([Subgraph("", nodes) for nodes in fitting if nodes])
        prefix = "" if part.label == "all" else f"{part.label}."
        return [
            Subgraph(f"{prefix}{number}", one.nodes, to_fit=part.to_fit, residence=part.residence)
            for number, one in enumerate(made, 1)
        ]

    def _overlapped(self, parts: list[Subgraph], pool: CompilePool) -> list[Subgraph]:
        """
        With streamed weights, smaller subgraphs let copies overlap with the previous launches: the list with large
        subgraphs cut by their weights, if that is estimated to be faster.
        """
        sequence, residency = self.compiler.fit(parts)
        if not residency.blocks:
            return parts
        search = self.compiler.search()
        search.try_variant(f"{len(parts)} launches", lambda: parts)
        if search.least() * ACCEPT_RATIO <= self.compiler.least(parts, sequence, residency):
            return parts
        rule = AtWeightBytes(self.chip.dram_bytes // OVERLAP_SHARE)
        cut = [self._parts(part, self._cut(parts, number, rule)) for number, part in enumerate(parts)]
        finer = [one for part, made in zip(parts, cut, strict=True) for one in (made if len(made) > 1 else [part])]
        if len(finer) == len(parts):
            return parts

        def compiled() -> list[Subgraph]:
            self.compiler.compile(finer, pool)
            for part in finer:
                if isinstance(part.outcome, Failure):
                    raise MeshloomError(
                        self.compiler.reason(part, part.outcome, f"subgraph {part.label} does not compile")
                    )
            self.compiler.fit(finer)
            return finer

        search.try_variant(
            f"{len(finer)} launches, so that weights are copied during other launches", compiled, share=ACCEPT_RATIO
        )
        self.compiler.note_trials(search.trials)
        return search.best()


def _only(operators: Sequence[Operation]) -> Sequence[Operation]:
    """The operator that an error is about, if there is only one."""
    return operators if len(operators) == 1 else ()
