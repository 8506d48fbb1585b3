"""Tests of prefetch: the tasks at which loads of constants start, and a search that moves them."""

from __future__ import annotations

from itertools import pairwise

from meshloom.analysis.planning.network_estimate import Code, TaskWorks, network_estimate
from meshloom.analysis.planning.network_plan import NetworkPlan
from meshloom.analysis.planning.placement import column_major
from meshloom.analysis.planning.plan_network import plan_network
from meshloom.analysis.planning.prefetch_candidates import PREFETCH_POLICIES, prefetch_starts
from meshloom.analysis.planning.shift_prefetch import SHIFTS, shift_prefetch
from meshloom.analysis.search import ACCEPT_RATIO
from meshloom.chips import load_chip
from meshloom.dialects.dataflow import Dataflow
from meshloom.dialects.dataflow.entry_function import find_main
from meshloom.lowering.dataflow_to_manycore import lower_block
from xdsl.context import Context
from xdsl.dialects.builtin import Builtin
from xdsl.dialects.func import Func
from xdsl.parser import Parser

TINY = load_chip("tiny")


def layers(*widths: int) -> NetworkPlan:
    """The plan of a chain of matrix products on 8 rows, each with separate weights."""
    lines: list[str] = []
    for number, (k, n) in enumerate(pairwise(widths)):
        weight, result = f"tensor<{k}x{n}xf32>", f"tensor<8x{n}xf32>"
        lines += [
            f'%w{number} = dataflow.weight @w{number} {{source = "mem", offset = 0 : i64, bytes = {4 * k * n} : i64, '
            f'sha256 = "{"0" * 64}"}} : {weight}',
            f"%x{number + 1} = dataflow.matmul %x{number}, %w{number} : (tensor<8x{k}xf32>, {weight}) -> {result}",
        ]
    head = f"func.func @main(%x0: tensor<8x{widths[0]}xf32>) -> tensor<8x{widths[-1]}xf32> {{"
    tail = f"func.return %x{len(widths) - 1} : tensor<8x{widths[-1]}xf32>\n}}"
    context = Context()
    for dialect in (Builtin, Func, Dataflow):
        context.load_dialect(dialect)
    function = find_main(Parser(context, "\n".join([head, *lines, tail])).parse_module())
    lower_block(function.body.block)
    return plan_network(function, TINY, column_major(TINY))


def test_a_large_layer_moves_earlier_loads_forward() -> None:
    """Loading 16 x 128 weights takes 1,024 cycles, longer than all the small layers before them compute."""
    small = prefetch_starts(layers(16, 16, 16, 16, 16, 16).plans, TINY)
    large = prefetch_starts(layers(16, 16, 16, 16, 16, 128).plans, TINY)
    assert small == {1: 0, 2: 1, 3: 2, 4: 3}
    assert large == {1: 0, 2: 0, 3: 0, 4: 0}


def test_loads_keep_the_order_of_tasks_and_stay_near() -> None:
    ahead = prefetch_starts(layers(16, 64, 8, 128, 8, 16, 64, 8, 200, 16).plans, TINY)
    starts = [ahead[task] for task in sorted(ahead)]
    assert starts == sorted(starts)
    assert all(task - PREFETCH_POLICIES[0].max_distance <= start < task for task, start in ahead.items())


def test_loads_are_moved_if_that_lowers_the_estimate() -> None:
    network = layers(128, 128, 8, 8, 8, 128, 128, 8)
    works = TaskWorks(network)

    def estimate(ahead: dict[int, int]) -> int:
        code = Code(ahead, (), {})
        return sum(network_estimate(code, TINY, works.beside(code)))

    # The weights of a layer are loaded from the start of the layer before it: too late for large ones.
    late = {task: task - 1 for task in range(1, 7)}
    for ahead in (late, {}, prefetch_starts(network.plans, TINY)):
        moved = shift_prefetch(network, Code(ahead, (), {}), TINY, works)
        assert estimate(moved) <= estimate(ahead)
        assert all(task - network.policy.max_distance <= start < task for task, start in moved.items())
        # A task without prefetch stays without.
        assert set(moved) <= set(ahead)
    assert estimate(shift_prefetch(network, Code(late, (), {}), TINY, works)) < estimate(late)


def test_moves_equal_those_of_a_search_with_full_estimates() -> None:
    """The moves equal those of the same search with `network_estimate` for each trial."""
    network = layers(128, 128, 8, 64, 8, 128, 128, 8, 16)
    works = TaskWorks(network)

    def ends(ahead: dict[int, int]) -> list[int]:
        code = Code(ahead, (), {})
        return network_estimate(code, TINY, works.beside(code))

    for ahead in ({task: task - 1 for task in range(1, 8)}, prefetch_starts(network.plans, TINY)):
        lost = [time - plan.cycles for time, plan in zip(ends(ahead), network.plans, strict=True)]
        best, expected = sum(ends(ahead)), dict(ahead)
        for task in sorted(ahead, key=lambda task: (-max(lost[ahead[task] : task + 1]), task)):
            for start in (ahead[task] + shift for shift in SHIFTS):
                if max(0, task - network.policy.max_distance) <= start <= task:
                    moved = {**expected, task: start}
                    moved = {one: first for one, first in moved.items() if first < one}
                    if sum(ends(moved)) < best * ACCEPT_RATIO:
                        best, expected = sum(ends(moved)), moved
        assert shift_prefetch(network, Code(ahead, (), {}), TINY, works) == expected
