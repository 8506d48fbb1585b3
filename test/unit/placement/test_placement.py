"""Tests of the placement of tiles: estimates against a recount in Python, and invariants of the methods."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from meshloom.analysis.placement.clusters import clusters_of
from meshloom.analysis.placement.estimate import MESSAGE_CYCLES, SPREAD, Estimator, PlaceObjective
from meshloom.analysis.placement.methods import PLACE_METHODS
from meshloom.analysis.placement.tile_graph import TileGraph, cores_of, tile_graph
from meshloom.analysis.planning.network_plan import NetworkPlan
from meshloom.analysis.planning.placement import column_major
from meshloom.analysis.planning.plan_network import plan_network
from meshloom.analysis.planning.prefetch_candidates import PREFETCH_POLICIES, PrefetchPolicy
from meshloom.analysis.planning.reads import ReadKind
from meshloom.chips import Chip, load_chip
from meshloom.chips.dram_ports import port_of_core, port_rate, port_rows
from meshloom.dialects.dataflow import Dataflow
from meshloom.dialects.dataflow.entry_function import find_main
from meshloom.dialects.manycore import Manycore, TilingAttr
from meshloom.dialects.memory import Memory
from meshloom.lowering.autotune import autotune_subgraph
from meshloom.lowering.autotune.compile_subgraph import compile_subgraph, plan_subgraph
from meshloom.lowering.autotune.encode_subgraph import (
    EncodedSubgraph,
    LaidOutSubgraph,
    encode_subgraph,
    lay_out_subgraph,
)
from meshloom.lowering.dataflow_to_manycore import lower_block
from meshloom.lowering.linker.launch_image import launch_cycles
from meshloom.lowering.options.effort import EFFORTS
from meshloom.transforms.manycore_place import place_function
from meshloom.transforms.manycore_tile import tile_function
from xdsl.context import Context
from xdsl.dialects.builtin import Builtin, ModuleOp
from xdsl.dialects.func import Func, FuncOp
from xdsl.parser import Parser

EDGE = load_chip("edge")


def module(n: int = 256) -> ModuleOp:
    """Two matrix products with a transposition in between, in which every tile is sent to many others."""
    context = Context()
    for dialect in (Builtin, Func, Dataflow, Manycore, Memory):
        context.load_dialect(dialect)
    text = """
    func.func @main(%x: tensor<Nx128xf32>, %w: tensor<128xNxf32>) -> tensor<NxNxf32> {
      %a = dataflow.matmul %x, %w : (tensor<Nx128xf32>, tensor<128xNxf32>) -> tensor<NxNxf32>
      %t = dataflow.tanh %a : (tensor<NxNxf32>) -> tensor<NxNxf32>
      %b = dataflow.transpose %t [1, 0] : (tensor<NxNxf32>) -> tensor<NxNxf32>
      %c = dataflow.matmul %b, %t : (tensor<NxNxf32>, tensor<NxNxf32>) -> tensor<NxNxf32>
      func.return %c : tensor<NxNxf32>
    }
    """
    return Parser(context, text.replace("Nx", f"{n}x")).parse_module()


def network() -> tuple[FuncOp, NetworkPlan]:
    """`module` as tiled tasks on `edge`."""
    function = find_main(module())
    lower_block(function.body.block)
    tile_function(function, EDGE)
    return function, plan_network(function, EDGE, column_major(EDGE))


FUNCTION, NETWORK = network()


def route(chip: Chip, start: int, end: int) -> list[tuple[int, int]]:
    """The links of a route, along the row first."""
    routers = [start]
    while routers[-1] != end:
        at = routers[-1]
        if at % chip.cols != end % chip.cols:
            routers.append(at + (1 if end % chip.cols > at % chip.cols else -1))
        else:
            routers.append(at + (chip.cols if end > at else -chip.cols))
    return list(pairwise(routers))


def gather_cycles(graph: TileGraph, task: int, core_of: list[int], chip: Chip) -> float:
    """Cycles of the transfers from other cores to the task, counted message by message."""
    links: Counter[tuple[int, int]] = Counter()
    received, sent = Counter[int](), Counter[int]()
    arrivals, departures = Counter[int](), Counter[int]()
    farthest = 0
    rows = graph.sent
    for entry in range(rows.first[task], rows.first[task + 1]):
        vertices: list[int] = rows.vertices[rows.start[entry] : rows.start[entry + 1]].tolist()
        home, nbytes = core_of[vertices[0]], int(rows.nbytes[entry])
        away = [core_of[reader] for reader in vertices[1:] if core_of[reader] != home]
        for link in {link for core in away for link in route(chip, home, core)}:
            links[link] += nbytes
        for core in away:
            received[core] += nbytes
            arrivals[core] += 1
            farthest = max(farthest, len(route(chip, home, core)))
        if away:
            sent[home] += nbytes
            departures[home] += 1
    busiest = max([0, *links.values(), *received.values(), *sent.values()])
    messages = max([0, *arrivals.values(), *departures.values()])
    mean = sum(links.values()) / (4 * chip.cores)
    rate = chip.link_bytes_per_cycle
    return busiest / rate + MESSAGE_CYCLES * messages + chip.hop_cycles * farthest + SPREAD * mean / rate


def alone_cycles(graph: TileGraph, task: int, core_of: list[int], chip: Chip) -> float:
    """Cycles of the loads and stores of single cores, if no core loads for others."""
    links: Counter[tuple[int, int]] = Counter()
    ports: Counter[int] = Counter()
    rows = graph.alone
    for entry in range(rows.first[task], rows.first[task + 1]):
        core, nbytes = core_of[rows.vertices[rows.start[entry]]], int(rows.nbytes[entry])
        port = port_of_core(chip, core)
        ports[port] += nbytes
        for link in route(chip, port_rows(chip)[port] * chip.cols, core):
            links[link] += nbytes
    busiest = max(max([0, *links.values()]) / chip.link_bytes_per_cycle, max([0, *ports.values()]) / port_rate(chip))
    return busiest + SPREAD * sum(links.values()) / (4 * chip.cores * chip.link_bytes_per_cycle)


@pytest.mark.parametrize("seed", range(5))
def test_estimates_equal_a_recount(seed: int) -> None:
    graph = tile_graph(NETWORK)
    order = np.random.default_rng(seed).permutation(EDGE.cores)
    core_of = order[cores_of(NETWORK)].astype(np.int32)
    estimator = Estimator.of(graph, EDGE)
    counted = 0
    for task in range(graph.tasks):
        if graph.shared.first[task] == graph.shared.first[task + 1]:
            counted += 1
            expected = gather_cycles(graph, task, core_of.tolist(), EDGE)
            expected += alone_cycles(graph, task, core_of.tolist(), EDGE)
            assert estimator.cycles(np.array([task]), core_of) == pytest.approx(expected)
    assert counted


def test_entries_cover_the_whole_slices_of_readers() -> None:
    graph = tile_graph(NETWORK)
    cores = cores_of(NETWORK).tolist()
    for task, plan in enumerate(NETWORK.plans):
        # Every reader receives its whole slice, from other cores or from itself.
        needed = sum(
            piece.bounds.volume * read.item_bytes
            for read in plan.reads
            if read.kind is ReadKind.GATHER
            for piece in read.whole.values()
        )
        rows = graph.sent
        entries = range(int(rows.first[task]), int(rows.first[task + 1]))
        assert sum(int(rows.nbytes[e]) * int(rows.start[e + 1] - rows.start[e] - 1) for e in entries) == needed
    assert len(cores) == graph.first[-1]


@pytest.mark.parametrize("method", list(PLACE_METHODS))
@pytest.mark.parametrize("objective", list(PlaceObjective))
def test_tiles_of_a_task_are_on_different_usable_cores(method: str, objective: PlaceObjective) -> None:
    graph = tile_graph(NETWORK)
    planned = cores_of(NETWORK)
    placed = PLACE_METHODS[method](graph, EDGE, planned, objective, 1)
    for task in range(graph.tasks):
        cores = placed[graph.first[task] : graph.first[task + 1]].tolist()
        assert len(set(cores)) == len(cores)
        assert set(cores) <= set(EDGE.usable_cores)
    assert (placed == PLACE_METHODS[method](graph, EDGE, planned, objective, 1)).all()


@pytest.mark.parametrize("method", ["default", "relaxed", "anneal"])
def test_searches_are_never_estimated_worse_than_their_start(method: str) -> None:
    graph, everything = tile_graph(NETWORK), np.arange(len(NETWORK.tasks))
    estimator = Estimator.of(graph, EDGE)
    scattered = np.random.default_rng(3).permutation(EDGE.cores)[cores_of(NETWORK)].astype(np.int32)
    placed = PLACE_METHODS[method](graph, EDGE, scattered, PlaceObjective.MULTICAST, 0)
    assert estimator.cycles(everything, placed) <= estimator.cycles(everything, scattered)


def test_values_read_in_place_stay_in_place() -> None:
    function, planned = network()
    placed = place_function(function, EDGE, planned, "relaxed")
    for before, after in zip(planned.plans, placed.plans, strict=True):
        assert [read.kind for read in before.reads] == [read.kind for read in after.reads]
        assert sorted(before.tiling.cores) == sorted(after.tiling.cores)


@pytest.mark.parametrize("policy", PREFETCH_POLICIES)
def test_a_placement_keeps_the_prefetch_policy(policy: PrefetchPolicy) -> None:
    function, planned = network()
    placed = place_function(function, EDGE, replace(planned, policy=policy), "random", seed=3)
    assert (cores_of(placed) != cores_of(planned)).any()
    assert placed.policy == policy


def test_greedy_takes_the_nearest_free_core() -> None:
    """By bytes x hops to the tiles that are read, counted along routes; among equal cores the planned, or the first."""
    graph, planned = tile_graph(NETWORK), cores_of(NETWORK)
    sent, core_of = graph.sent, dict[int, int]()
    read: dict[int, list[tuple[int, int]]] = {}
    for entry in range(len(sent.nbytes)):
        holder, *readers = sent.vertices[sent.start[entry] : sent.start[entry + 1]].tolist()
        for reader in readers:
            read.setdefault(reader, []).append((holder, int(sent.nbytes[entry])))
    for cluster in clusters_of(graph, planned):
        for block in cluster.blocks:
            free = set(block)
            for core in block:
                tiles = [tile for tile in cluster.vertices.tolist() if planned[tile] == core]
                near = [(core_of[a], n) for tile in tiles for a, n in read.get(tile, []) if a in core_of]
                cost = {one: sum(n * len(route(EDGE, there, one)) for there, n in near) for one in free}
                best = min(free, key=lambda one: (cost[one], one != core, one))
                free.remove(best)
                core_of.update(dict.fromkeys(tiles, best))
    placed = PLACE_METHODS["greedy"](graph, EDGE, planned, PlaceObjective.MULTICAST, 0)
    assert placed.tolist() == [core_of[tile] for tile in range(len(planned))]
    assert (placed != planned).any()


def test_no_prefetch_policy_is_estimated_faster_than_the_one_that_is_taken() -> None:
    whole = module(96)
    found = plan_subgraph(whole, EDGE, EFFORTS["fast"]).placed
    for policy in PREFETCH_POLICIES:
        other = lay_out_subgraph(find_main(whole), replace(found.plan, policy=policy), EDGE)
        assert found.laid_out.estimated_cycles <= other.estimated_cycles


@pytest.mark.parametrize(
    ("chip", "n"), [("edge", 256), ("edge", 96), ("tiny", 64), pytest.param("grid", 192, marks=pytest.mark.slow)]
)
def test_code_is_the_fastest_of_all_variants(chip: str, n: int, monkeypatch: pytest.MonkeyPatch) -> None:
    target, tried = load_chip(chip), list[EncodedSubgraph]()

    def encode(piece: LaidOutSubgraph, chip: Chip) -> EncodedSubgraph:
        tried.append(encode_subgraph(piece, chip))
        return tried[-1]

    monkeypatch.setattr(autotune_subgraph, "encode_subgraph", encode)
    found = compile_subgraph(module(n), target)
    cycles = [launch_cycles(one.code, target) for one in tried]
    assert found.code is tried[cycles.index(min(cycles))].code
    assert found.cycles == (min(cycles) if len(tried) > 1 else None)


def test_tilings_in_the_ir_are_those_of_the_compiled_plan() -> None:
    for methods in (("row-major", "relaxed"), ("relaxed", "row-major"), ("random", "row-major")):
        found = plan_subgraph(module(96), EDGE, replace(EFFORTS["default"], placements=methods, prune_ratio=2.0)).placed
        for info, task in zip(found.plan.tasks, found.plan.plans, strict=True):
            assert info.op.tiling == TilingAttr.of(task.tiling)
