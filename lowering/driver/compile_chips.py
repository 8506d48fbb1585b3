"""
Compile a network for several equal chips: it is cut into stages, one per chip, that take about the same time.

Dynamic programming on the emulated cycles of the network's parts determines the cuts
(`analysis.subgraphs.chip_stages`). Each stage is compiled as a separate network, whole or in subgraphs; its compiled
cycles correct the estimates, and the cuts are moved until there is no improvement.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise
from math import inf
from typing import TYPE_CHECKING

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation
from xdsl.rewriter import Rewriter

from ...analysis.search import ACCEPT_RATIO, Search, Trial
from ...analysis.subgraphs.chip_stages import Floats, cut_stages
from ...dialects.dataflow.entry_function import argument_names, find_main, result_names
from ...emulator.executable.chip_pipeline_file import MOST_CHIPS
from ...emulator.run_chip_pipeline import PipelineSchedule, schedule
from ...emulator.timing.engine import TimingResult, run_timing
from ...support.errors import BudgetError, InputError
from ...support.warn import held_back, warn
from ..autotune.compile_pool import CompilePool
from ..cache.subgraph_text import SubgraphText, subgraph_text
from ..ir.name_chip import name_chip
from ..multi_chip.write_stages import write_stages
from ..offload.saved_module import saves_memory
from ..options.compilation_log import CompilationLog, LogEntry
from ..sequence.inline_subgraphs import Group, inline_subgraphs
from ..sequence.launch_sequence import Operators, module_of_operators, operators
from ..session import Session
from ..subgraphs.compile_subgraphs import Driver
from ..subgraphs.outline_function import outline_function
from ..subgraphs.subgraph import Subgraph, name_of
from .chips_compilation import ChipsCompilation, chips_compilation
from .compile_function import Compilation, compile_function
from .compile_module import check_cut, simplify
from .stage_modules import StageModule, stage_modules, units_of
from .unit_costs import Units, unit_cycles

if TYPE_CHECKING:
    from ..offload.compile_launches import Budget

ROUNDS = 5
"""Largest number of times that the network is cut and compiled."""
REFUSED = 8
"""Number of stages that may exceed the budget before the search is given up."""
LEAST_SHARE = 4
"""Weights are assumed to have at least this fraction (1 / LEAST_SHARE) of a chip's DRAM."""


def check_chips(chips: int) -> None:
    """Check the number of chips. Raises InputError unless it is from 1 to `MOST_CHIPS`."""
    if not 1 <= chips <= MOST_CHIPS:
        raise InputError(f"--chips {chips}: expected a number from 1 to {MOST_CHIPS}")


@dataclass(frozen=True)
class _Stage:
    """A compiled stage."""

    operators: Operators
    compilation: Compilation
    timing: TimingResult
    notes: tuple[str, ...] = ()
    """Warnings of its compilation."""


@dataclass(frozen=True)
class _Tried:
    """A cut of the network that was tried, with its compiled stages."""

    bounds: tuple[int, ...]
    when: PipelineSchedule
    modules: list[StageModule]
    stages: list[_Stage]


def compile_for_chips(module: ModuleOp, chips: int, session: Session, budget: Budget | None = None) -> ChipsCompilation:
    """
    Compile @main of a module for up to `chips` equal chips, as many as make it faster. The module is changed. If the
    options have a rule, or the module has subgraphs, it is cut between subgraphs only. Raises as `compile_in_session`
    does.

    Each stage fits the `budget` of device memory; a share refers to the bytes that the stage needs without memory
    saving. With a share, no chip needs more bytes than the largest number that one needs without a budget: stages that
    do are cut elsewhere, at last as without a budget.
    """
    simplify(module, session.chip, session.progress)
    simplified = module.clone()
    given = inline_subgraphs(find_main(module))
    if saves_memory(module):
        raise InputError("the module contains operations of dialect 'memory', for one chip: compile it without --chips")
    if budget is not None:
        check_cut(session.options)
    driver = _ChipsDriver(module, chips, session, budget)
    if budget is not None and budget.is_share:
        copy = simplified.clone()
        plain = _ChipsDriver(copy, chips, session.logged(CompilationLog()), None)
        with held_back():
            needed = plain.run(inline_subgraphs(find_main(copy)))
        driver.most = max(one.dram_bytes_used for one in needed.pipeline.chips)
        driver.first = plain.bounds
    found = driver.run(given)
    return replace(found, above=(("simplify", simplified), *found.above))


class _ChipsDriver:
    def __init__(self, module: ModuleOp, chips: int, session: Session, budget: Budget | None) -> None:
        self.function, self.chips, self.session = find_main(module), chips, session
        self.chip, self.log = session.chip, session.log
        self.capacity = float(session.chip.dram_bytes)
        """Bytes of weights that are assumed to fit on a chip together with everything else."""
        self.budget = budget
        if budget is not None and budget.amount is not None and not budget.is_share:
            self.capacity = min(self.capacity, float(budget.amount))
        self.most: int | None = None
        """Bytes of DRAM that no chip may exceed, whatever its budget."""
        self.first: tuple[int, ...] | None = None
        """Bounds that are tried first."""
        self.bounds: tuple[int, ...] = ()
        """Bounds of the best cut, once it is found."""
        self.refused: list[tuple[int, int]] = []
        """Stages that exceed the budget; so do those that contain one of these, if the budget is in bytes."""
        self.operator_exceeds = False
        """Whether an operator by itself exceeds the budget."""
        self.in_subgraphs = session.options.rule is not None
        self._stages: dict[object, _Stage] = {}
        self._said: dict[Operators, Subgraph] = {}
        """The specified subgraphs by their operators: their names and residency."""

    def run(self, given: Sequence[Group]) -> ChipsCompilation:
        self.in_subgraphs |= bool(given)
        units = self._units(given)
        one_chip = (0, len(units.parts))
        alone = self._expected(units, one_chip)
        search = Search[_Tried](lambda one: one.when.interval, "emulated")
        seen: set[tuple[int, ...]] = set()
        tried: list[tuple[int, ...]] = []

        def attempt(bounds: tuple[int, ...]) -> None:
            seen.add(bounds)
            tried.append(bounds)
            refused = len(self.refused)
            search.try_variant(self._cuts(units, bounds), partial(self._try, units, bounds))
            if refused == len(self.refused):
                search.best()  # raises the error of the compilation

        if self.first is not None:
            attempt(self.first)
        while len(seen) < ROUNDS + len(self.refused) and len(self.refused) <= REFUSED and not self.operator_exceeds:
            bounds = (0, *cut_stages(self._costs(units), self.chips), len(units.parts))
            expected = self._expected(units, bounds)
            if bounds in seen or expected == inf or (search.is_any and expected >= search.least() * ACCEPT_RATIO):
                break
            attempt(bounds)
        faster = not search.is_any or search.least() > alone
        if one_chip not in seen and not self.operator_exceeds and faster and self._expected(units, one_chip) < inf:
            # Parts of a task list are not always compiled as well as the whole, and do not always fit the budget.
            attempt(one_chip)
        self._note_trials(units, search.trials)
        if not search.is_any and self.budget is not None and not self.budget.is_share:
            raise self._refusal(units, tried[0])
        best = search.best()
        when, modules, stages, bounds = best.when, best.modules, best.stages, best.bounds
        self.bounds = bounds
        for number, stage in enumerate(stages):
            for text in stage.notes:
                warn(f"chip {number}: {text}")
        note = self._note(len(stages), len(units.parts))
        compiled = [stage.compilation for stage in stages]
        programs = [one.module for one in compiled]
        feeds = [one.feeds for one in modules]
        staged = write_stages(programs, feeds, argument_names(self.function), self._outputs(modules), self.chip)
        cut = [self._stage_module(units.parts[low:high], one) for (low, high), one in self._spans(units, bounds)]
        level = write_stages(cut, feeds, argument_names(self.function), self._outputs(modules), self.chip)
        return chips_compilation(staged, compiled, when, self.log, note, [("stages", level)])

    def _spans(self, units: Units, bounds: Sequence[int]) -> Iterator[tuple[tuple[int, int], StageModule]]:
        """The stages between the bounds, each with its module as it was cut."""
        return zip(pairwise(bounds), self._modules(units, bounds), strict=True)

    def _stage_module(self, parts: Sequence[Operators], stage: StageModule) -> ModuleOp:
        """The module of a stage; with subgraphs if the network has some."""
        if self.in_subgraphs:
            given: list[Subgraph] = []
            for part in parts:
                said = self._said[part]
                nodes = tuple(stage.clones[op] for op in part)
                residence = said.residence.of_copies(stage.clones)
                given.append(Subgraph(said.label, nodes, to_fit=said.to_fit, residence=residence))
            function = find_main(stage.module)
            Rewriter.replace_op(function, outline_function(function, given))
        name_chip(stage.module, self.chip)
        return stage.module

    def _units(self, given: Sequence[Group]) -> Units:
        """The units between which the network may be cut, with their cycles from a compilation for one chip."""
        driver = Driver(self.function, self.session.with_options(split_failures=True).logged(CompilationLog()))
        compiled = driver.fitting(given)
        if self.in_subgraphs:
            self._said = {part.operators: part for part in compiled if part.operators}
            parts = list(self._said)
            cycles = [driver.compiler.cycles_of(part) for part in compiled if part.operators]
        else:
            parts = units_of(self.function)
            cycles = unit_cycles(parts, compiled, driver.compiler.cycles_of)
        return Units.of(self.function, parts, cycles, self.chip)

    def _costs(self, units: Units) -> Floats:
        """Cycles of all stages, infinite for those that exceed the budget."""
        costs = units.stage_costs(self.chip, self.capacity)
        for low, high in self.refused:
            if self.budget is not None and self.budget.is_share:
                costs[low, high] = inf
            else:
                costs[: low + 1, high:] = inf
        return costs

    def _expected(self, units: Units, bounds: Sequence[int]) -> float:
        """Expected cycles between two inputs."""
        costs = self._costs(units)
        return max((float(costs[low, high]) for low, high in pairwise(bounds) if low < high), default=0.0)

    def _try(self, units: Units, bounds: tuple[int, ...]) -> _Tried:
        """Compile the stages between the bounds, and correct the estimates by their cycles."""
        self._note_cuts(units, bounds, self._expected(units, bounds))
        modules, stages = self._compile(units, bounds)
        when = schedule([one.feeds for one in modules], [stage.timing.total_cycles for stage in stages])
        for (low, high), stage in zip(pairwise(bounds), stages, strict=True):
            self._learn(units, low, high, stage)
        return _Tried(bounds, when, modules, stages)

    # ---- Stages

    def _modules(self, units: Units, bounds: Sequence[int]) -> list[StageModule]:
        stages = [tuple(op for part in units.parts[low:high] for op in part) for low, high in pairwise(bounds)]
        return stage_modules(self.function, stages)

    def _compile(self, units: Units, bounds: Sequence[int]) -> tuple[list[StageModule], list[_Stage]]:
        """The compiled stages between the bounds; stages that were compiled before are reused."""
        modules = self._modules(units, bounds)
        keys = [
            (span, tuple(module.feeds), module.gives) for span, module in zip(pairwise(bounds), modules, strict=True)
        ]
        small: list[BudgetError] = []
        missing = [number for number, key in enumerate(keys) if key not in self._stages]
        self.session.progress(f"compile for {len(modules)} chips")
        # Whether saving has no gain depends on the least budget; of refused bytes, it is determined for one cut only.
        tried = self.budget
        if tried is not None and not tried.is_share:
            tried = replace(tried, names_least=False)
        if not self.in_subgraphs and self.budget is None:
            self._compile_whole([modules[number] for number in missing])
        for number in missing:
            log = CompilationLog(self.log.listener, chip=number)
            low, high = bounds[number], bounds[number + 1]
            try:
                with held_back() as notes:
                    compilation = self._compile_stage(units.parts[low:high], modules[number], log, tried)
            except BudgetError as error:
                self.refused.append((low, high))
                small.append(BudgetError(error.capacity, f"on chip {number}, {error.reason}", error.enough))
                self.operator_exceeds = error.of_operator
                if self.operator_exceeds:
                    break
                continue
            if self.most is not None and (used := compilation.executable.dram_bytes_used) > self.most:
                self.refused.append((low, high))
                reason = f"on chip {number}, the stage needs {used} bytes, more than a chip without a budget"
                small.append(BudgetError(self.most, reason, used))
                continue
            self.log.entries += log.entries
            ops = tuple(op for part in units.parts[low:high] for op in part)
            timing = run_timing(compilation.executable)
            self._stages[keys[number]] = _Stage(ops, compilation, timing, tuple(dict.fromkeys(notes)))
        if small:
            raise max(small, key=lambda error: error.enough)
        stages = [self._stages[key] for key in keys]
        self._note_stages(stages)
        return modules, stages

    def _refusal(self, units: Units, bounds: Sequence[int]) -> BudgetError:
        """
        The error for a budget in bytes that no cut fits: of the stages between these bounds, with a budget that all of
        them fit. Stages that were refused are first; the others need only fit the budget that is found for these.
        """
        assert self.budget is not None
        found: BudgetError | None = None
        spans = enumerate(zip(pairwise(bounds), self._modules(units, bounds), strict=True))
        for number, ((low, high), module) in sorted(spans, key=lambda one: one[1][0] not in self.refused):
            budget = self.budget if found is None else replace(self.budget, amount=found.enough)
            try:
                with held_back():
                    self._compile_stage(units.parts[low:high], module, CompilationLog(), budget)
            except BudgetError as error:
                capacity = error.capacity if found is None else found.capacity
                found = BudgetError(capacity, f"on chip {number}, {error.reason}", error.enough)
        assert found is not None, "a stage between the bounds was refused"
        return found

    def _compile_whole(self, modules: Sequence[StageModule]) -> None:
        """Compile whole stages in parallel, so that the next step finds them in the cache."""
        texts: dict[str, SubgraphText] = {}
        cache = self.session.cache
        for module in modules:
            text = subgraph_text(module_of_operators(operators(find_main(module.module))))
            key = cache.key(text.text)
            if cache.get(key) is None:
                texts[key] = text
        with CompilePool(self.chip, cache.effort, self.session.options.jobs) as pool:
            for key, data in zip(texts, pool.compile(list(texts.values())), strict=True):
                cache.put(key, data)

    def _compile_stage(
        self, parts: Sequence[Operators], stage: StageModule, log: CompilationLog, budget: Budget | None
    ) -> Compilation:
        # The rule has already cut the network into its subgraphs.
        session = self.session.with_options(rule=None) if self.in_subgraphs else self.session
        return compile_function(self._stage_module(parts, stage), session.logged(log), budget)

    def _learn(self, units: Units, low: int, high: int, stage: _Stage) -> None:
        """Correct the estimates by the compiled cycles."""
        if low < high:
            units.scale(low, high, sum(end - start for _, start, end in stage.timing.launches))
        exe = stage.compilation.executable
        if exe.host_weight_bytes:
            least = self.chip.dram_bytes / LEAST_SHARE
            self.capacity = max(min(self.capacity, float(exe.weight_bytes)), least)

    def _outputs(self, modules: Sequence[StageModule]) -> list[tuple[str, int]]:
        """The network's outputs, and the chip that computes each."""
        home = {name: number for number, module in enumerate(modules) for name in module.outputs}
        return [(name, home[name]) for name in result_names(self.function)]

    # ---- Log and notes

    def _cuts(self, units: Units, bounds: Sequence[int]) -> str:
        """A description of the cut for the log."""
        last = [f"'{name_of(units.parts[cut - 1][-1])}'" for cut in bounds[1:-1]]
        return f"{len(bounds) - 1} chips, cut after {', '.join(last)}" if last else "one chip"

    def _note_cuts(self, units: Units, bounds: Sequence[int], expected: float) -> None:
        text = f"{self._cuts(units, bounds)}: expected {expected:,.0f} cycles per input"
        self._add("all", [op for part in units.parts for op in part], text, None)

    def _note_trials(self, units: Units, trials: Sequence[Trial]) -> None:
        for trial in trials:
            self._add("all", [op for part in units.parts for op in part], str(trial), None)

    def _note_stages(self, stages: Sequence[_Stage]) -> None:
        for number, stage in enumerate(stages):
            total = stage.timing.total_cycles
            work = sum(end - start for _, start, end in stage.timing.launches)
            text = f"takes {total:,} cycles per input, {total - work:,} of them waiting for copies"
            self._add("", stage.operators, text, number)

    def _add(self, subgraph: str, ops: Sequence[Operation], text: str, chip: int | None) -> None:
        first, last = (name_of(ops[0]), name_of(ops[-1])) if ops else ("", "")
        self.log.add(LogEntry("chip", subgraph, len(ops), first, last, True, text, chip=chip))

    def _note(self, used: int, units: int) -> str:
        if used == self.chips:
            return ""
        verb = "is" if used == 1 else "are"
        what = "subgraphs" if self.in_subgraphs else "tasks"
        why = f"the network has {units} {what}" if used == units else "more would not be faster"
        why += ", or would exceed the budget" if self.refused else ""
        return f"{used} of {self.chips} chips {verb} used: {why}"
