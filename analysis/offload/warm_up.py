"""Loads all kernels, which are compiled on first use, so that measured planning times do not include this."""

from __future__ import annotations

from ..cost_graphs.read import parse_cost_graph
from .evaluate import Evaluator
from .kinds import NAMES, allowed_kinds
from .model import Model
from .plan import plan_offload
from .problem import offload_problem


def warm_up() -> None:
    """Plan a network of a few operations with all kinds."""
    size, chain = 100, 6
    # Forward results 0 to 5, gradients 6 to 11: each needs the forward result of its layer.
    tensors = [{"id": number, "kind": "act", "size": size} for number in range(2 * chain)]
    forward = [{"ins": [number - 1] if number else [], "outs": [number]} for number in range(chain)]
    backward = [{"ins": [chain + index - 1, chain - 1 - index], "outs": [chain + index]} for index in range(chain)]
    # Durations that differ: choices among equals would end some searches at once.
    ops = [
        {"id": number, "unit": "VPU" if number % 2 else "MPU", "dur_ns": 100 + 37 * number, **one}
        for number, one in enumerate(forward + backward)
    ]
    problem = offload_problem(parse_cost_graph({"tensors": tensors, "ops": ops}))
    for names in (*NAMES, *[",".join(NAMES)]):
        # Copies that cannot be hidden, so that the search runs to its end.
        evaluator = Evaluator(problem, Model(1e7))
        plan_offload(evaluator, problem.peak - 2 * size, allowed_kinds(frozenset(names.split(","))))
