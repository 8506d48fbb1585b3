"""Memory saving for a budget: the search for the fastest plan with the permitted kinds of offload."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from xdsl.dialects.builtin import f32
from xdsl.ir import BlockArgument, SSAValue

from ...analysis.cost_graphs.graph import Ints
from ...analysis.offload.budget_grid_plans import BudgetGridPlans
from ...analysis.offload.effort import Preset
from ...analysis.offload.evaluate import Evaluator
from ...analysis.offload.kinds import allowed_kinds
from ...analysis.offload.model import Model
from ...analysis.offload.plan import OffloadPlan, plan_within
from ...analysis.offload.problem import OffloadProblem
from ...dialects.dataflow.types import element_of
from ...dialects.memory.formats import F16, Format
from ...support.errors import InputError
from .script import FunctionParts, fixed_tensors


@dataclass(frozen=True)
class FormatModel(Model):
    """A model whose compressed sizes are those of a format."""

    format: Format = F16

    def packed(self, size: Ints) -> Ints:
        """Bytes of f32 tensors of these sizes after compression."""
        return size // 4 * self.format.nbytes


def _may_round(value: SSAValue) -> bool:
    """Whether a tensor may be compressed: it is f32, and not an input, which is on the host anyway."""
    return element_of(value) == f32 and not isinstance(value, BlockArgument)


def _with_gaps(problem: OffloadProblem, good: list[bool]) -> OffloadProblem:
    """The problem restricted to some of its gaps."""
    keep = np.array(good, np.bool_)
    names = ("tensor", "size", "before", "after", "producer")
    return replace(problem, **{name: getattr(problem, name)[keep] for name in names})


class LeastPlans:
    """Plans of one problem for several budgets, which share the results of searches."""

    def __init__(self, problem: OffloadProblem, model: Model) -> None:
        self.problem = problem
        self.model = model
        self._known: dict[tuple[frozenset[str], int], list[BudgetGridPlans]] = {}
        """Results by kinds and seed."""

    def least(
        self, parts: FunctionParts, budget: int, kinds: frozenset[str], seed: int
    ) -> tuple[OffloadProblem, OffloadPlan]:
        """
        The faster of two plans: one with compression, in which only computed f32 tensors are offloaded, and one without
        compression. `parts` are the function parts of the problem, or those of a copy.

        Raises InputError if there is no plan.
        """
        found: list[tuple[OffloadProblem, OffloadPlan]] = []
        error: InputError | None = None
        if (kinds, seed) not in self._known:
            self._known[kinds, seed] = self._choices(parts, kinds, seed)
        for plans in self._known[kinds, seed]:
            try:
                plan = plan_within(plans, budget)
            except InputError as one:
                error = one
                continue
            found.append((plans.evaluator.problem, plan))
        if not found:
            assert error is not None
            raise error
        return min(found, key=lambda pair: pair[1].time_ns)

    def _choices(self, parts: FunctionParts, kinds: frozenset[str], seed: int) -> list[BudgetGridPlans]:
        """
        The budget grid plans of the problem: with compression, restricted to gaps that permit it, and without
        compression. Raises InputError if no kind is permitted.
        """
        problem = self.problem
        fixed = fixed_tensors(parts)
        if fixed:
            problem = _with_gaps(problem, [int(tensor) not in fixed for tensor in problem.tensor])
            # Results of operations of `memory` are not recomputed.
            kinds -= {"recompute"}
            if not kinds:
                raise InputError(
                    "results of operations of dialect 'memory' are not recomputed: allow another kind of offloading"
                )
        only_f32 = problem
        if "compress" in kinds:
            only_f32 = _with_gaps(problem, [_may_round(parts.tensors[int(tensor)]) for tensor in problem.tensor])
        choices = [(only_f32, kinds)]
        if only_f32.gaps < problem.gaps and (others := kinds - {"compress"}):
            choices.append((problem, others))
        return [
            BudgetGridPlans(Evaluator(choice, self.model), allowed_kinds(names), Preset.NORMAL, seed)
            for choice, names in choices
        ]
