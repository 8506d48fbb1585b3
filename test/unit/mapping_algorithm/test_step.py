"""Tests of one step of a mapped network: messages against a recount, emulated figures against formulas."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from meshloom.chips import load_chip
from meshloom.emulator.executable.executable import from_bytes, to_bytes
from meshloom.emulator.functional.engine import run_functional
from meshloom.emulator.timing.reference import run_reference
from meshloom.mapping.default.nets import nets_of
from meshloom.mapping.default.step_anneal import INTO, OUT_OF, anneal_step, step_loads
from meshloom.mapping.default.target import Cooling, Target
from meshloom.mapping.kernels.random import random_state
from meshloom.mapping.mesh import Mesh
from meshloom.mapping.messages import MOST_SETS, messages_of
from meshloom.mapping.method import Effort, MapRequest, Objective
from meshloom.mapping.methods import find_method
from meshloom.mapping.metrics.multicast import delivered_traffic, directed_edges, multicast_loads
from meshloom.mapping.topology.topology import Topology, from_directed
from meshloom.tools.map_emulation import emulate_step
from numpy.typing import NDArray

GRID = load_chip("grid")
MESH = Mesh(4, 3)


def random_network(seed: int, n: int = 60) -> tuple[Topology, NDArray[np.int32]]:
    """A network whose sources send a different number of spikes to each target, and a random mapping of it."""
    generator = np.random.default_rng(seed)
    degree = generator.integers(0, 9, n)
    targets = np.concatenate([generator.choice(n, int(count), replace=False) for count in degree])
    spikes = generator.integers(0, 6, len(targets))
    topology = from_directed(np.cumsum([0, *degree]), targets, spikes)
    return topology, generator.integers(0, MESH.cores, n).astype(np.int32)


def expected_spikes(topology: Topology, core_of: NDArray[np.int32]) -> Counter[tuple[int, int]]:
    """(sender, receiver) -> spikes: the sum over sources of the largest number sent to a target on the receiver."""
    assert topology.src_indptr is not None
    assert topology.src_indices is not None
    assert topology.spikes is not None
    total: Counter[tuple[int, int]] = Counter()
    for source in range(topology.vertices):
        most: dict[int, int] = {}
        for k in range(int(topology.src_indptr[source]), int(topology.src_indptr[source + 1])):
            core = int(core_of[topology.src_indices[k]])
            most[core] = max(most.get(core, 0), int(topology.spikes[k]))
        for core, spikes in most.items():
            if core != core_of[source] and spikes:
                total[int(core_of[source]), core] += spikes
    return total


@pytest.mark.parametrize("most_sets", [MOST_SETS, 5, 0])
@pytest.mark.parametrize("seed", range(6))
def test_each_core_receives_the_largest_spikes_of_each_source(seed: int, most_sets: int) -> None:
    topology, core_of = random_network(seed)
    messages = messages_of(topology, MESH, core_of, most_sets)
    found: Counter[tuple[int, int]] = Counter()
    pairs = set[tuple[int, int]]()
    for sender, number, spikes in zip(messages.sender, messages.set_of, messages.spikes, strict=True):
        assert (int(sender), int(number)) not in pairs  # one message per sender and set
        pairs.add((int(sender), int(number)))
        for core in np.flatnonzero(messages.sets[number]).tolist():
            found[int(sender), core] += int(spikes)
    assert found == expected_spikes(topology, core_of)
    assert int((messages.sets.sum(axis=1) > 1).sum()) <= most_sets
    received = Counter[int]()
    for (_, core), spikes in found.items():
        received[core] += spikes
    assert messages.received().tolist() == [received[core] for core in range(MESH.cores)]


@pytest.mark.parametrize("spike_bytes", [1, 4, 100])
@pytest.mark.parametrize("seed", range(4))
def test_bytes_on_the_links_are_those_of_the_trees(seed: int, spike_bytes: int) -> None:
    topology, core_of = random_network(seed)
    step = emulate_step(topology, MESH, core_of, GRID, spike_bytes)
    links = step.timing.link_bytes.T
    assert (links[:4] == spike_bytes * multicast_loads(topology, MESH, core_of)).all()
    into = [
        sum(spikes for (_, to), spikes in expected_spikes(topology, core_of).items() if to == core)
        for core in range(12)
    ]
    assert links[4].tolist() == [spike_bytes * spikes for spikes in into]
    assert step.figures()["delivered_bytes"] == spike_bytes * sum(into)
    by_hops = sum(
        spikes * int(MESH.hops(np.array(a), np.array(b)))
        for (a, b), spikes in expected_spikes(topology, core_of).items()
    )
    assert delivered_traffic(topology, MESH, core_of) == by_hops


def pair(spikes: int) -> Topology:
    """Vertex 0 sends spikes to vertex 1."""
    return from_directed([0, 1, 1], [1], [spikes])


@pytest.mark.parametrize("hops", [1, 2, 3])
@pytest.mark.parametrize("spikes", [1, 64, 1000])
def test_a_single_message_takes_the_cycles_of_its_bytes_and_hops(spikes: int, hops: int) -> None:
    step = emulate_step(pair(spikes), MESH, np.array([0, hops], np.int32), GRID)
    least = -(-4 * spikes // GRID.link_bytes_per_cycle) + GRID.hop_cycles * hops
    assert least <= step.timing.cycles <= least + 8
    energy = step.figures()["energy_pj"]
    assert energy["noc"] == pytest.approx(4 * spikes * (hops + 1) * GRID.energy.noc_byte_hop)
    assert energy["mac"] == energy["dram"] == energy["host"] == 0


def test_spikes_within_a_core_need_no_message() -> None:
    step = emulate_step(pair(7), MESH, np.array([2, 2], np.int32), GRID)
    assert len(step.messages.spikes) == 0
    assert step.figures()["busiest_links"] == []
    assert step.timing.cycles < 8


def test_messages_that_exceed_the_memory_are_sent_by_several_puts() -> None:
    small = replace(GRID, sram_bytes=1024)
    step = emulate_step(pair(1000), MESH, np.array([0, 1], np.int32), small)
    assert [len(program.words) for program in step.executable.programs[:3]] == [8 + 1, 2, 1]
    assert step.figures()["delivered_bytes"] == 4000


@pytest.mark.parametrize("seed", range(4))
def test_a_step_takes_at_least_the_cycles_of_its_busiest_link(seed: int) -> None:
    topology, core_of = random_network(seed, 200)
    cycles: list[int] = []
    for spike_bytes in (16, 32, 64):
        step = emulate_step(topology, MESH, core_of, GRID, spike_bytes)
        busiest = max(int(step.timing.link_bytes.max()), int(step.messages.sent().max()) * spike_bytes)
        cycles.append(step.timing.cycles)
        assert cycles[-1] >= busiest / GRID.link_bytes_per_cycle
        assert cycles[-1] == run_reference(step.executable).cycles
    assert cycles == sorted(cycles)


def test_the_program_runs_from_its_file() -> None:
    topology, core_of = random_network(1)
    step = emulate_step(topology, MESH, core_of, GRID)
    read = from_bytes(to_bytes(step.executable))
    assert run_functional(read, {}).outputs == {}
    assert [len(program.words) for program in read.programs] == [len(one.words) for one in step.executable.programs]


def equal_spikes(seed: int) -> tuple[Topology, NDArray[np.int32]]:
    """As `random_network`, but all spikes of a source are the same, so that the annealed loads are exact."""
    topology, core_of = random_network(seed, 120)
    assert topology.src_indptr is not None
    assert topology.src_indices is not None
    rates = np.random.default_rng(seed).integers(1, 9, topology.vertices)
    spikes = np.repeat(rates, np.diff(topology.src_indptr))
    return from_directed(topology.src_indptr, topology.src_indices, spikes), core_of


@pytest.mark.parametrize("seed", range(4))
def test_annealed_loads_equal_those_of_the_emulator(seed: int) -> None:
    topology, core_of = equal_spikes(seed)
    nets = nets_of(*directed_edges(topology))
    loads = step_loads(nets, core_of, MESH)
    step = emulate_step(topology, MESH, core_of, GRID, 1)
    assert (loads[: INTO + 1] == step.timing.link_bytes.T).all()
    assert loads[OUT_OF].tolist() == step.messages.sent().tolist()


@pytest.mark.parametrize("seed", range(4))
def test_annealing_lowers_the_largest_load_within_the_capacity(seed: int) -> None:
    topology, _ = equal_spikes(seed)
    mesh = Mesh(4, 3, unusable=(5,))
    nets = nets_of(*directed_edges(topology))
    # Eleven cores of capacity 12; the initial mapping puts eleven consecutive vertices on each core.
    core_of = mesh.usable_cores[np.arange(120) // 11].astype(np.int32)
    before = step_loads(nets, core_of, mesh).max()
    target = Target(mesh, mesh.usable_cores, 12)
    anneal_step(nets, topology.size, core_of, target, random_state(seed), Cooling(1e-3, 1e-5, 30))
    assert step_loads(nets, core_of, mesh).max() < before
    assert np.bincount(core_of, minlength=12).max() <= 12
    assert not (core_of == 5).any()


@pytest.mark.parametrize("effort", [Effort.FAST, Effort.NORMAL])
def test_mapping_for_cycles_takes_fewer_than_for_hops(effort: Effort) -> None:
    generator = np.random.default_rng(3)
    n = 600
    # Neighbours on a ring, and a few targets that all vertices send to: the links near these targets are the busiest.
    targets = np.stack([(np.arange(n) + step) % n for step in (1, 2, 5)] + [generator.integers(0, 20, n)], axis=1)
    topology = from_directed(np.arange(0, 4 * n + 1, 4), targets.ravel(), np.repeat(generator.integers(1, 50, n), 4))
    cycles = {}
    for objective in (Objective.HOPS, Objective.CYCLES):
        mapping = find_method("default")(MapRequest(topology, MESH, 53, objective=objective, effort=effort, seed=1))
        cycles[objective] = emulate_step(topology, MESH, mapping.core_of_vertex, GRID).timing.cycles
        assert np.bincount(mapping.core_of_vertex).max() <= 53
    assert cycles[Objective.CYCLES] < cycles[Objective.HOPS]
