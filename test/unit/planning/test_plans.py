"""Tests of grouping and planning, against numbers computed by hand from shapes and the parameters of chip `tiny`."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import replace

import pytest
from meshloom.analysis.planning.estimate import run_alone
from meshloom.analysis.planning.network_plan import NetworkPlan
from meshloom.analysis.planning.placement import column_major, row_major
from meshloom.analysis.planning.plan_memo import PlanMemo
from meshloom.analysis.planning.plan_network import plan_network
from meshloom.analysis.planning.reads import ReadKind, plan_read, version_count
from meshloom.analysis.planning.sram_budget import SramBudget
from meshloom.analysis.planning.storage import Distribution
from meshloom.analysis.planning.task_plan import Shortage, Source, TaskPlan
from meshloom.analysis.planning.tiling_search import grid_candidates
from meshloom.analysis.tasks.grouping import group_operations
from meshloom.analysis.tasks.slices import Tiles
from meshloom.analysis.tasks.task_info import TaskInfo
from meshloom.chips import Chip, load_chip
from meshloom.dialects.dataflow import Dataflow
from meshloom.dialects.dataflow.entry_function import find_main
from meshloom.dialects.dataflow.tiling import Box
from meshloom.dialects.manycore import Manycore, TaskOp, Tiling
from meshloom.dialects.memory import Memory
from meshloom.lowering.dataflow_to_manycore import lower_block
from meshloom.support.errors import MeshloomError
from meshloom.transforms.manycore_tile import tile_function
from xdsl.context import Context
from xdsl.dialects.builtin import Builtin
from xdsl.dialects.func import Func, FuncOp
from xdsl.parser import Parser

TINY = load_chip("tiny")
"""2 x 2 cores of 64 KiB."""
EDGE = load_chip("edge")
"""4 x 4 cores of 512 KiB."""


def main_of(arguments: str, results: str, body: str) -> FuncOp:
    """The function `@main` with the given body."""
    context = Context()
    for dialect in (Builtin, Func, Dataflow, Manycore, Memory):
        context.load_dialect(dialect)
    return find_main(Parser(context, f"func.func @main({arguments}) -> ({results}) {{\n{body}\n}}").parse_module())


def tasks_of(function: FuncOp) -> list[TaskInfo]:
    """The function's operations as tasks."""
    lower_block(function.body.block)
    return [TaskInfo.of(op) for op in function.body.block.ops if isinstance(op, TaskOp)]


def planned(function: FuncOp, chip: Chip = TINY) -> NetworkPlan:
    """The function's tasks, planned."""
    lower_block(function.body.block)
    return plan_network(function, chip, column_major(chip))


MATMUL = "%d = dataflow.matmul %x, %w : (tensor<8x16xf32>, tensor<16x4xf32>) -> tensor<8x4xf32>"
X_W = "%x: tensor<8x16xf32>, %w: tensor<16x4xf32>"


def names(function: FuncOp) -> list[str]:
    """The groups as `root+epilogue`."""
    groups = group_operations(function.body.block)
    return ["+".join(op.name.removeprefix("dataflow.") for op in group) for group in groups]


def test_elementwise_operations_join_their_root() -> None:
    body = f"""{MATMUL}
    %e = dataflow.exp %d : (tensor<8x4xf32>) -> tensor<8x4xf32>
    %f = dataflow.mul %e, %d : (tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<8x4xf32>
    func.return %f : tensor<8x4xf32>"""
    assert names(main_of(X_W, "tensor<8x4xf32>", body)) == ["matmul+exp+mul"]


def test_a_group_has_one_result() -> None:
    # %d is returned as well: the group ends there.
    body = f"""{MATMUL}
    %e = dataflow.exp %d : (tensor<8x4xf32>) -> tensor<8x4xf32>
    func.return %d, %e : tensor<8x4xf32>, tensor<8x4xf32>"""
    assert names(main_of(X_W, "tensor<8x4xf32>, tensor<8x4xf32>", body)) == ["matmul", "exp"]


def test_another_shape_begins_a_group_and_reshapes_stay_out() -> None:
    body = f"""{MATMUL}
    %s = dataflow.reduce max %d axes [1] : (tensor<8x4xf32>) -> tensor<8x1xf32>
    %m = dataflow.sub %d, %s : (tensor<8x4xf32>, tensor<8x1xf32>) -> tensor<8x4xf32>
    %r = dataflow.reshape %m : (tensor<8x4xf32>) -> tensor<32xf32>
    func.return %r : tensor<32xf32>"""
    assert names(main_of(X_W, "tensor<32xf32>", body)) == ["matmul", "reduce", "sub"]


def one_task() -> TaskInfo:
    """The matrix product as a task: iteration space (M, N, K) = (8, 4, 16)."""
    return tasks_of(main_of(X_W, "tensor<8x4xf32>", f"{MATMUL}\nfunc.return %d : tensor<8x4xf32>"))[0]


def test_reads_from_dram_are_grouped_by_slice() -> None:
    # In a grid of 2 x 2, the two tiles of a row read the same rows of x.
    info = one_task()
    tiles = Tiles.of(Tiling((2, 2, 1), (0, 1, 2, 3), (1, 1, 1), (0, 1, 2)), info.sizes)
    x, w = (plan_read(info, TINY, tiles, read, None, False) for read in info.reads)
    assert (x.kind, x.groups) == (ReadKind.STREAM, ((0, 1), (2, 3)))
    assert (w.kind, w.groups) == (ReadKind.STREAM, ((0, 2), (1, 3)))
    assert x.whole[2].box == Box((4, 0), (4, 16))


def test_reads_of_distributed_values() -> None:
    info = one_task()
    tiles = Tiles.of(Tiling((2, 1, 1), (0, 1), (1, 1, 1), (0, 1, 2)), info.sizes)
    rows = Distribution({0: Box((0, 0), (4, 16)), 1: Box((4, 0), (4, 16))}, 256)
    direct = plan_read(info, TINY, tiles, info.reads[0], rows, False)
    assert direct.kind is ReadKind.DIRECT
    columns = Distribution({0: Box((0, 0), (8, 8)), 1: Box((0, 8), (8, 8))}, 256)
    gather = plan_read(info, TINY, tiles, info.reads[0], columns, False)
    # Each core reads 4 rows of 16 floats and holds half of them: it receives 4 * 8 * 4 bytes.
    assert (gather.kind, gather.gathered) == (ReadKind.GATHER, 4 * 16 * 4)
    assert gather.exchange_cycles == pytest.approx(4 * 8 * 4 / TINY.link_bytes_per_cycle)


def test_gathered_rows_are_read_by_the_instruction() -> None:
    body = """%g = dataflow.gather %x, %i axis 0 : (tensor<8x16xf32>, tensor<3xi64>) -> tensor<3x16xf32>
    func.return %g : tensor<3x16xf32>"""
    info = tasks_of(main_of("%x: tensor<8x16xf32>, %i: tensor<3xi64>", "tensor<3x16xf32>", body))[0]
    tiles = Tiles.of(Tiling((1, 1), (0,), (1, 1), (0, 1)), info.sizes)
    kinds = [plan_read(info, TINY, tiles, read, None, False).kind for read in info.reads]
    assert kinds == [ReadKind.INDEXED, ReadKind.STREAM]


def test_versions_count_new_contents_of_a_buffer() -> None:
    # x depends on M and K. With steps (M, N, K) = (2, 4, 1), its slice changes twice if M is outside N, else 8 times.
    info = one_task()
    read = info.reads[0]
    outside = Tiling((1, 1, 1), (0,), (2, 4, 1), (0, 1, 2))
    inside = Tiling((1, 1, 1), (0,), (2, 4, 1), (1, 0, 2))
    assert (version_count(info, outside, read), version_count(info, inside, read)) == (2, 8)


def test_grids_do_not_cut_reduced_dimensions() -> None:
    grids = list(grid_candidates(one_task(), TINY))
    assert (2, 2, 1) in grids
    assert (4, 1, 1) in grids
    assert all(k == 1 and m * n <= 4 for m, n, k in grids)


def test_placements() -> None:
    info = one_task()
    assert row_major(TINY)(info, (3, 1, 1)) == (0, 1, 2)
    # The first column of the 2 x 2 mesh has the cores 0 and 2.
    assert column_major(TINY)(info, (3, 1, 1)) == (0, 2, 1)
    assert column_major(replace(TINY, unusable_cores=(2,)))(info, (3, 1, 1)) == (0, 1, 3)


CHAIN = """%d = dataflow.matmul %x, %w : (tensor<{m}x64xf32>, tensor<64x64xf32>) -> tensor<{m}x64xf32>
%s = dataflow.reduce sum %d axes [1] : (tensor<{m}x64xf32>) -> tensor<{m}x1xf32>
func.return %s : tensor<{m}x1xf32>"""


def chain(m: int) -> FuncOp:
    """A matrix product and the sums of its rows."""
    return main_of(f"%x: tensor<{m}x64xf32>, %w: tensor<64x64xf32>", f"tensor<{m}x1xf32>", CHAIN.format(m=m))


def test_values_read_next_stay_in_the_cores() -> None:
    # 64 x 64 floats are 16 KiB, 4 KiB on each of four cores.
    network = planned(chain(64))
    assert [plan.resident for plan in network.plans] == [True, False]


def test_values_that_do_not_fit_are_stored_to_dram_in_steps() -> None:
    # 4096 x 64 floats are 1 MiB: 256 KiB for each of four cores, which have 64 KiB. At least five steps are needed.
    network = planned(chain(4096))
    assert [plan.resident for plan in network.plans] == [False, False]
    first = network.plans[0]
    assert first.tiling.step_count * len(first.tiling.cores) >= 17
    assert all(plan.working_bytes <= TINY.sram_bytes for plan in network.plans)


def test_loads_overlap_with_computation_if_steps_divide_them() -> None:
    # Loading the image of 588 KiB takes as long as the convolution. Steps over output channels need no further loads,
    # but the first of them waits for the whole image.
    image, weights, bias = "tensor<1x3x224x224xf32>", "tensor<64x3x3x3xf32>", "tensor<1x64x1x1xf32>"
    result = "tensor<1x64x111x111xf32>"
    last = "tensor<8x64x1x1xf32>", "tensor<1x8x111x111xf32>"
    body = f"""%c = dataflow.conv %x, %w strides [2, 2] dilations [1, 1] pad [0, 0] to [0, 0] groups 1
        : ({image}, {weights}) -> {result}
    %a = dataflow.add %c, %b : ({result}, {bias}) -> {result}
    %r = dataflow.relu %a : ({result}) -> {result}
    %d = dataflow.conv %r, %v strides [1, 1] dilations [1, 1] pad [0, 0] to [0, 0] groups 1
        : ({result}, {last[0]}) -> {last[1]}
    func.return %d : {last[1]}"""
    network = planned(main_of(f"%x: {image}, %w: {weights}, %b: {bias}, %v: {last[0]}", last[1], body), EDGE)
    work = network.plans[0].work
    assert run_alone([work], EDGE)[0] < 0.9 * (work.own_dram + work.computing)


def test_a_core_too_small_for_the_smallest_tile() -> None:
    # The smallest tile has one element of each operand and of the result, in buffers of 64 bytes.
    message = r"task 'd' does not fit: its smallest tile needs 192 bytes of SRAM on core 0 \(64 of them for 'x'\)"
    with pytest.raises(MeshloomError, match=message):
        planned(chain(64), replace(TINY, sram_bytes=128))


def test_plans_read_back_from_the_ir_are_the_plans_written_there() -> None:
    for m in (64, 300, 4096):
        function = chain(m)
        lower_block(function.body.block)
        written = tile_function(function, TINY)
        read = plan_network(function, TINY, row_major(TINY))
        for one, other in zip(written.plans, read.plans, strict=True):
            assert (one.tiling, one.resident, one.slots, one.sizes) == (
                other.tiling,
                other.resident,
                other.slots,
                other.sizes,
            )
            assert [read.kind for read in one.reads] == [read.kind for read in other.reads]


def test_hundreds_of_values_are_spilled_to_dram_in_few_rounds() -> None:
    """Of 400 values of 1 KiB on each core, all read at the end, 64 KiB of SRAM hold less than a sixth."""
    count, value = 400, "tensor<32x32xf32>"
    lines = [f"%e{n} = dataflow.exp %x : ({value}) -> {value}" for n in range(count)]
    lines += [f"%m{n} = dataflow.matmul %e{n}, %x : ({value}, {value}) -> {value}" for n in range(count)]
    results = ", ".join(f"%m{n}" for n in range(count))
    lines += [f"func.return {results} : {', '.join([value] * count)}"]
    function = main_of(f"%x: {value}", ", ".join([value] * count), "\n".join(lines))
    lower_block(function.body.block)
    asked = 0

    class Counted(PlanMemo):
        def plan(
            self,
            info: TaskInfo,
            sources: Sequence[Source],
            available: int,
            how: Hashable,
            make: Callable[[SramBudget], TaskPlan | Shortage],
        ) -> TaskPlan | Shortage:
            nonlocal asked
            asked += 1
            return super().plan(info, sources, available, how, make)

    plan = plan_network(function, TINY, column_major(TINY), Counted())
    # Each round asks twice per task; rounds spill 1, 2, 4 ... values at once, in less than two rounds for each number.
    assert asked < 2 * len(plan.tasks) * (1 + 2 * len(plan.tasks).bit_length())
    assert plan.resident, "what fits stays"
    for number in range(len(plan.tasks)):
        held = [first for value, first in plan.resident.items() if first < number <= plan.last_use[value]]
        assert sum(plan.plans[first].tile_bytes for first in held) <= TINY.sram_bytes
