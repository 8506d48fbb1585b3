"""Tests of orders of tasks by segments between key nodes: borders, search within segments, and linking."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import permutations

import numpy as np
import pytest
from meshloom.analysis.cost_graphs.graph import lists_of
from meshloom.analysis.orders.anneal import anneal
from meshloom.analysis.orders.search import Effort
from meshloom.analysis.orders.segments import in_segments, segments_first
from meshloom.analysis.orders.simple import all_if_few
from meshloom.analysis.orders.unit_profiles import ProfileCost, UnitProfiles
from meshloom.dialects.dataflow import Dataflow
from meshloom.dialects.dataflow.entry_function import find_main
from meshloom.dialects.manycore import Manycore, SubgraphOp
from meshloom.transforms.manycore_schedule import ManycoreSchedulePass
from meshloom.transforms.shared.reorder import task_segments, tasks_of
from xdsl.context import Context
from xdsl.dialects.builtin import Builtin, ModuleOp
from xdsl.dialects.func import Func
from xdsl.parser import Parser


def task(name: str, body: str, reads: str) -> str:
    """A task of one operation on 64 x 64 values, on core 0."""
    rank = 3 if body.startswith("matmul") else 2
    ones, order = [1] * rank, list(range(rank))
    return (
        f"%{name} = manycore.task @{name}({reads}) -> tensor<64x64xf32>\n"
        f"    tiled <grid = {ones}, cores = [0], steps = {ones}, order = {order}> {{\n"
        f"  %r = dataflow.{body} -> tensor<64x64xf32>\n  manycore.yield %r : tensor<64x64xf32>\n}}\n"
    )


def diamonds() -> str:
    """
    Figure 4 of spec 3 as tasks.

    The key nodes are 0, 3 and 6. The chain 1a, 1b is parallel to 2, between 0 and 3; the chain 5a, 5b is parallel to 4,
    between 3 and 6.
    """
    tanh, product = "tanh %p : (tensor<64x64xf32>)", "matmul %p, %p : (tensor<64x64xf32>, tensor<64x64xf32>)"
    add = "add %p, %q : (tensor<64x64xf32>, tensor<64x64xf32>)"
    type = "tensor<64x64xf32>"
    lines = [
        ("t0", tanh, ("x",)), ("t1a", product, ("t0",)), ("t1b", tanh, ("t1a",)), ("t2", tanh, ("t0",)),
        ("t3", add, ("t1b", "t2")), ("t4", product, ("t3",)), ("t5a", tanh, ("t3",)), ("t5b", product, ("t5a",)),
        ("t6", add, ("t4", "t5b")),
    ]  # fmt: skip
    return "".join(
        task(name, body, ", ".join(f"%{a} = %{value} : {type}" for a, value in zip("pq", reads, strict=False)))
        for name, body, reads in lines
    )


def parse(body: str) -> ModuleOp:
    context = Context()
    for dialect in (Builtin, Func, Dataflow, Manycore):
        context.load_dialect(dialect)
    text = f"func.func @main(%x: tensor<64x64xf32>) -> tensor<64x64xf32> {{\n{body}}}"
    return Parser(context, text).parse_module()


def test_segments_of_the_two_diamonds() -> None:
    """As in figure 4, the first segment includes both of its key nodes, the second one only the key node at its end."""
    module = parse(diamonds() + "func.return %t6 : tensor<64x64xf32>\n")
    parts = task_segments(find_main(module).body.block)
    assert [part.tolist() for part in parts] == [[0, 1, 2, 3, 4], [5, 6, 7, 8]]


def random_profiles(seed: int, count: int) -> UnitProfiles:
    """Tasks of random profiles; every fifth is a key node: it reads all tasks since the last one, the others some."""
    random = np.random.default_rng(seed)
    before: list[list[int]] = [[]]
    for number in range(1, count):
        key = (number - 1) // 5 * 5
        some = {key, int(random.integers(key, number))}
        before.append(list(range(key, number)) if number % 5 == 0 else sorted(some))
    names = tuple(str(number) for number in range(count))
    busy = random.integers(0, 50, (count, 2))
    offset = np.where(busy > 0, random.integers(0, 10, (count, 2)), 0)
    load, latency = random.integers(0, 30, count), np.full(count, 3)
    held = random.integers(1, 20, count)
    return UnitProfiles(names, ("X", "Y"), offset, busy, load, latency, lists_of(before), held, 60, 1.5)


def orders(before: list[list[int]]) -> Iterator[tuple[int, ...]]:
    """All topological orders, by trying all permutations."""
    for order in permutations(range(len(before))):
        place = {task: index for index, task in enumerate(order)}
        if all(place[source] < place[task] for task, sources in enumerate(before) for source in sources):
            yield order


@pytest.mark.parametrize("seed", range(8))
def test_small_segments_are_searched_exhaustively(seed: int) -> None:
    """The search of a small segment finds the least cost over all topological orders, or none if they are too many."""
    cost = ProfileCost(random_profiles(seed, 6))
    before = [cost.profiles.predecessors.row(number) for number in range(6)]
    least = min(cost.cost(np.array(order)) for order in orders(before))
    found = all_if_few(cost, Effort(2_000_000))
    assert found is not None
    assert found.cost == least
    many = sum(1 for _ in orders(before)) > 1  # than one, the limit of the effort
    assert (all_if_few(cost, Effort(1)) is None) == many


@pytest.mark.parametrize("seed", range(8))
def test_each_segment_is_ordered_optimally(seed: int) -> None:
    """Each segment has its least cost over all topological orders; the total is that of the linked order."""
    cost = ProfileCost(random_profiles(seed, 16))
    parts = [np.arange(0, 6), np.arange(6, 11), np.arange(11, 16)]
    found = in_segments(parts, cost, Effort(20_000_000))
    assert found is not None
    low = 0
    for part in parts:
        mine = found.order[low : low + len(part)] - part[0]
        alone = cost.part(part)
        before = [alone.profiles.predecessors.row(number) for number in range(len(part))]
        assert alone.cost(mine) == min(alone.cost(np.array(order)) for order in orders(before))
        low += len(part)
    assert found.cost == cost.cost(found.order)


@pytest.mark.parametrize("seed", range(4))
def test_annealing_continues_across_segments(seed: int) -> None:
    cost, effort = ProfileCost(random_profiles(seed, 16)), Effort(2_000_000)
    parts = [np.arange(0, 6), np.arange(6, 11), np.arange(11, 16)]
    linked, found = in_segments(parts, cost, effort), segments_first(parts, cost, effort)
    assert linked is not None
    assert found is not None
    assert found.cost <= linked.cost
    whole = anneal(cost, effort)
    assert whole is not None
    assert found.cost <= 1.05 * whole.cost


def test_part_of_profiles_keeps_its_dependences() -> None:
    """A part of profiles keeps the dependences within it: of tasks 1 and 3, 3 reads 1 and 2, and waits for 1 only."""
    profiles = random_profiles(0, 4)
    whole = UnitProfiles(
        profiles.names, profiles.unit_names, np.zeros((4, 2), np.int64), np.array([[1, 0], [10, 0], [100, 0], [0, 7]]),
        np.zeros(4, np.int64), np.full(4, 2), lists_of([[], [0], [1], [1, 2]]), profiles.held, 1000, 1.0,
    )  # fmt: skip
    part = ProfileCost(whole).part(np.array([1, 3]))
    # 10 cycles on X, 2 of latency, 7 on Y.
    assert part.cost(np.array([0, 1])) == 10 + 2 + 7


def test_the_pass_orders_the_tasks_of_subgraphs() -> None:
    """The pass moves t2 before t1b, for which the vector unit waits in the program's order."""
    inner = diamonds().replace("%x", "%y").replace("\n", "\n  ")
    module = parse(
        "%s = manycore.subgraph @s(%y = %x : tensor<64x64xf32>) -> tensor<64x64xf32> {\n"
        f"  {inner}manycore.yield %t6 : tensor<64x64xf32>\n}}\n"
        "func.return %s : tensor<64x64xf32>\n"
    )
    ManycoreSchedulePass(chip="tiny").apply(Context(), module)
    module.verify()
    (subgraph,) = (op for op in module.walk() if isinstance(op, SubgraphOp))
    names = [one.sym_name.data for one in tasks_of(subgraph.body.block)]
    assert names.index("t2") < names.index("t1b")
    assert sorted(names) == ["t0", "t1a", "t1b", "t2", "t3", "t4", "t5a", "t5b", "t6"]
