"""Tests of warming up: all kernels of the planner are compiled before time is measured."""

from __future__ import annotations

import subprocess
import sys

from meshloom.analysis.offload.problem import offload_problem

from .training_graphs import training_graph

LOADED = """
from meshloom.analysis.offload import bounds, evaluate, slack
from meshloom.analysis.offload.warm_up import warm_up

warm_up()
kernels = {
    name: value
    for module in (bounds, evaluate, slack)
    for name, value in vars(module).items()
    if hasattr(value, "signatures")
}
assert len(kernels) >= 10, kernels
print(*[name for name, kernel in kernels.items() if not kernel.signatures])
"""


def test_warming_up_loads_every_kernel_of_the_planner() -> None:
    # In another process, because other tests may have loaded kernels in this one.
    missing = subprocess.run([sys.executable, "-c", LOADED], capture_output=True, text=True, check=True)
    assert missing.stdout.split() == []


def test_kernels_are_compiled_for_one_layout() -> None:
    """All arrays of a problem are contiguous, so that kernels need not be compiled again for another layout."""
    problem = offload_problem(training_graph(0))
    assert problem.gaps
    names = ("duration", "allocated", "freed", "live", "working_set", "tensor", "size", "before", "after", "producer")
    assert [name for name in names if not getattr(problem, name).flags.c_contiguous] == []
