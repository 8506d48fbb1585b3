"""Memory saving for a budget: a plan, its operations in the order of the plan, and the control edges that hold it."""

from __future__ import annotations

from dataclasses import dataclass, replace

from xdsl.dialects.builtin import f32
from xdsl.dialects.func import FuncOp
from xdsl.ir import BlockArgument, SSAValue

from ...analysis.cost_graphs.from_dataflow import cost_graph_of
from ...analysis.cost_graphs.graph import Ints
from ...analysis.offload.evaluate import Evaluator
from ...analysis.offload.kinds import allowed_kinds
from ...analysis.offload.model import Model
from ...analysis.offload.plan import OffloadPlan, plan_offload
from ...analysis.offload.problem import OffloadProblem, offload_problem
from ...analysis.offload_steps.edges import with_memory_edges
from ...analysis.offload_steps.from_function import ChipCosts, function_steps
from ...analysis.offload_steps.steps import Execution
from ...dialects.dataflow.types import element_of
from ...dialects.memory.formats import Format
from ...support.errors import InputError
from .emit import Emitter, add_control
from .planned import planned_script
from .script import FunctionParts, function_parts


@dataclass(frozen=True)
class FormatModel(Model):
    """A model whose compressed sizes are those of a format."""

    format: Format = Format.F16

    def packed(self, size: Ints) -> Ints:
        """[c] bytes after compression of f32 tensors of this size."""
        return size // 4 * self.format.nbytes


def insert_for_budget(
    function: FuncOp, costs: ChipCosts, budget: float, kinds: frozenset[str], format: Format, seed: int = 0
) -> OffloadPlan | None:
    """
    Rewrite a function of `dataflow` operations so that its device memory stays within the budget: bytes, or, up to 1, a
    share of the peak. Returns the plan, None where all fits as it is. Raises InputError where no plan of these kinds
    fits, with the smallest budget that works.
    """
    parts = function_parts(function)
    problem = offload_problem(cost_graph_of(function, costs.chip))
    limit = problem.budget_bytes(budget)
    if limit >= problem.peak:
        return None
    model = FormatModel(costs.link, costs.compress_rate, format=format)
    problem, plan = least_plan(problem, parts, model, limit, kinds, seed)
    insert_plan(function, costs, problem, plan, limit, format)
    return plan


def insert_plan(
    function: FuncOp, costs: ChipCosts, problem: OffloadProblem, plan: OffloadPlan, limit: int, format: Format
) -> None:
    """
    Rewrite a function as a plan for its cost graph says; control edges keep its device memory within `limit` bytes.
    """
    planned = planned_script(problem, plan)
    ops = Emitter(function, function_parts(function), format).emit(planned.script)
    numbered = function_steps(function.body.block, costs)
    if list(numbered.ops) != ops:
        raise AssertionError("every item of the script is one step")
    prefetched = list(numbered.program.steps)
    for source, target in planned.prefetch:
        step = prefetched[target]
        prefetched[target] = replace(step, waits=(*step.waits, source))
    program = replace(numbered.program, steps=tuple(prefetched))
    held = with_memory_edges(Execution(program, planned.start, planned.end), limit)
    edges = [(source, target) for target, step in enumerate(held.steps) for source in step.waits]
    add_control(function.body.block, ops, edges)


def _may_round(value: SSAValue) -> bool:
    """Whether a tensor may be compressed: f32, and no input, which the host has as it is."""
    return element_of(value) == f32 and not isinstance(value, BlockArgument)


def least_plan(
    problem: OffloadProblem, parts: FunctionParts, model: Model, budget: int, kinds: frozenset[str], seed: int
) -> tuple[OffloadProblem, OffloadPlan]:
    """
    The quicker of two plans: with compression, where only computed tensors of f32 leave; and without it.

    Raises InputError where there is neither.
    """
    found: list[tuple[OffloadProblem, OffloadPlan]] = []
    error: InputError | None = None
    only_f32 = problem
    if "compress" in kinds:
        good = [_may_round(parts.tensors[int(tensor)]) for tensor in problem.tensor]
        only_f32 = replace(
            problem,
            tensor=problem.tensor[good],
            size=problem.size[good],
            before=problem.before[good],
            after=problem.after[good],
            producer=problem.producer[good],
        )
    choices = [(only_f32, kinds)]
    if only_f32.gaps < problem.gaps and (others := kinds - {"compress"}):
        choices.append((problem, others))
    for choice, names in choices:
        try:
            plan = plan_offload(Evaluator(choice, model), budget, allowed_kinds(names), seed=seed)
        except InputError as one:
            error = one
            continue
        found.append((choice, plan))
    if not found:
        assert error is not None
        raise error
    return min(found, key=lambda pair: pair[1].time_ns)
