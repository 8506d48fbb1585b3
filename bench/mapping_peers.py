"""
The mappers that `mapping_methods.py` compares with, each a function (topology, mesh, capacity, seed) -> core of each
vertex.

All get 5% of imbalance, and what is over the capacity afterwards is moved by the same code for all. The mesh has all
cores usable and all ways of one hop.
"""
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportMissingTypeStubs=false, reportMissingImports=false, reportAttributeAccessIssue=false

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
from meshloom.mapping.default.anneal import anneal
from meshloom.mapping.default.target import Cooling, Target
from meshloom.mapping.kernels.capacity import fit
from meshloom.mapping.kernels.graph import Graph, merge_vertices
from meshloom.mapping.kernels.random import random_state
from meshloom.mapping.mesh import Mesh
from meshloom.mapping.topology.topology import Topology
from numpy.typing import NDArray

Cores = NDArray[np.int32]
Peer = Callable[[Topology, Mesh, int, int], Cores]

PLACEMENT_SECONDS = 10.0


def metis(topology: Topology, mesh: Mesh, capacity: int, seed: int) -> Cores:
    """METIS: k-way partition for a small cut; parts are numbered as they come."""
    import pymetis

    options = pymetis.Options()
    options.ufactor = 50
    options.seed = seed
    _, part = pymetis.part_graph(
        mesh.cores,
        pymetis.CSRAdjacency(topology.indptr, topology.indices),
        eweights=np.maximum(topology.data, 1),
        vweights=topology.size,
        options=options,
    )
    return _within(topology, mesh, capacity, np.asarray(part, np.int32))


def placed(topology: Topology, mesh: Mesh, capacity: int, part: Cores, seed: int) -> Cores:
    """Parts put on the cores by annealing for PLACEMENT_SECONDS of CPU time, started anew as long as there is time."""
    graph = Graph(topology.indptr, topology.indices, topology.data, topology.size)
    parts = merge_vertices(graph, part, mesh.cores)
    groups = Graph(parts.indptr, parts.indices, parts.data, np.ones(mesh.cores, np.int64))
    target = Target(mesh, mesh.usable_cores, 1)
    # Once outside of the measured time, so that the kernels are compiled.
    anneal(groups, np.arange(mesh.cores, dtype=np.int32), target, random_state(seed), Cooling(1.0, 0.001, 1.0))
    state = random_state(seed)
    end = time.process_time() + PLACEMENT_SECONDS
    best_cost, best = -1, np.arange(mesh.cores, dtype=np.int32)
    sweeps = 500.0
    while time.process_time() < end:
        core_of = np.random.default_rng(int(state[0] % 2**32)).permutation(mesh.cores).astype(np.int32)
        anneal(groups, core_of, target, state, Cooling(1.0, 0.001, sweeps))
        rows = np.repeat(np.arange(mesh.cores), np.diff(groups.indptr))
        cost = int((mesh.hops(core_of[rows], core_of[groups.indices]) * groups.data).sum())
        if best_cost < 0 or cost < best_cost:
            best_cost, best = cost, core_of
        sweeps *= 2
    return best[part]


def _scotch(topology: Topology, mesh: Mesh, capacity: int, seed: int, quality: bool) -> Cores:
    import scotchpy

    del seed  # Scotch's generator starts from the same state in every process.
    number: Any = {4: np.int32, 8: np.int64}[scotchpy.num_sizeof()]
    graph = scotchpy.Graph()
    graph.build(
        baseval=0,
        vertnbr=topology.vertices,
        verttab=topology.indptr.astype(number),
        velotab=topology.size.astype(number),
        edgenbr=topology.indices.size,
        edgetab=topology.indices.astype(number),
        edlotab=np.maximum(topology.data, 1).astype(number),
    )
    arch = scotchpy.Arch()
    arch.mesh2(mesh.width, mesh.height)
    strategy = scotchpy.Strat()
    strategy.graph_map_build(scotchpy.STRATQUALITY if quality else scotchpy.STRATDEFAULT, mesh.cores, 0.05)
    part = np.zeros(topology.vertices, number)
    graph.map(arch, strategy, part)
    return _within(topology, mesh, capacity, part.astype(np.int32))


def scotch(topology: Topology, mesh: Mesh, capacity: int, seed: int) -> Cores:
    """Scotch's static mapping with its default strategy."""
    return _scotch(topology, mesh, capacity, seed, quality=False)


def scotch_quality(topology: Topology, mesh: Mesh, capacity: int, seed: int) -> Cores:
    """Scotch's static mapping with its strategy for quality."""
    return _scotch(topology, mesh, capacity, seed, quality=True)


def mt_kahypar(topology: Topology, mesh: Mesh, capacity: int, seed: int) -> Cores:
    """Mt-KaHyPar's mapping onto a target graph, one thread."""
    import mtkahypar

    mtkahypar.set_seed(seed)
    kahypar = mtkahypar.initialize(1, False)
    context = kahypar.context_from_preset(mtkahypar.PresetType.DEFAULT)
    context.set_mapping_parameters(mesh.cores, 0.05)
    context.logging = False
    rows = np.repeat(np.arange(topology.vertices), np.diff(topology.indptr))
    once = rows < topology.indices
    ends = list(zip(rows[once].tolist(), topology.indices[once].tolist(), strict=True))
    graph = kahypar.create_graph(
        context, topology.vertices, len(ends), ends, topology.size.tolist(), topology.data[once].tolist()
    )
    ways = [(c, c + 1) for c in range(mesh.cores) if c % mesh.width + 1 < mesh.width]
    ways += [(c, c + mesh.width) for c in range(mesh.cores - mesh.width)]
    target = kahypar.create_target_graph(context, mesh.cores, len(ways), ways, [1] * len(ways))
    mapped = graph.map_onto_graph(target, context)
    return _within(topology, mesh, capacity, np.asarray(mapped.get_partition(), np.int32))


def _within(topology: Topology, mesh: Mesh, capacity: int, core_of: Cores) -> Cores:
    graph = Graph(topology.indptr, topology.indices, topology.data, topology.size)
    fit(graph, core_of, mesh.x, mesh.y, mesh.usable_cores, capacity)
    return core_of
