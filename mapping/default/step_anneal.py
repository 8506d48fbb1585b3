"""
Simulated annealing for few cycles of one step of the network, in which all sources send along XY trees at once.

A step is limited by the busiest resource: a link, or the input or output of a core. The cost is the sum over all
resources of (load / load of the busiest one)^8, a smooth approximation of the maximum.
"""

from __future__ import annotations

import numpy as np

from ...support.jit import Array, jit
from ..kernels.graph import group_members
from ..kernels.members import core_loads
from ..kernels.random import random_below, random_unit
from ..mesh import Mesh
from .nets import Nets
from .target import Cooling, Target

INTO, OUT_OF = 4, 5
"""Resources besides the links east, west, north and south: a core's input from the mesh, and its output to the mesh."""


def anneal_step(
    nets: Nets,
    size: Array,
    core_of: Array,
    target: Target,
    state: Array,
    cooling: Cooling,
) -> None:
    """
    Change `core_of` ([n] int32, on the target's cores) in place, to the mapping found with the least load of the
    busiest resource.

    `cooling`: worse proposals are accepted up to about this share of the cost, at first and in the end. No load of a
    core that exceeds the capacity grows.
    """
    mesh = target.mesh
    root_start, rooted = group_members(nets.root, size.size)
    proposals = int(cooling.sweeps * size.size)
    _anneal(
        nets.root, nets.weight, nets.start, nets.pins, nets.of_start, nets.of, root_start, rooted, size, core_of,
        mesh.width, mesh.height, target.usable, target.capacity, state, cooling.hot, cooling.cold, proposals,
    )  # fmt: skip


def step_loads(nets: Nets, core_of: Array, mesh: Mesh) -> Array:
    """[6, cores] loads of the links east, west, north and south of each core, of its input and of its output."""
    loads = np.zeros((6, mesh.cores))
    counts, columns = _counted(nets.start, nets.pins, core_of, mesh.width, mesh.cores)
    _all_trees(counts, columns, nets.root, nets.weight, core_of, mesh.width, mesh.height, loads)
    return loads


@jit
def _counted(start: Array, pins: Array, core_of: Array, width: int, cores: int) -> tuple[Array, Array]:
    """(pins of each net on each core, cores with pins in each column)."""
    counts = np.zeros((start.size - 1, cores), np.int32)
    columns = np.zeros((start.size - 1, width), np.int16)
    for net in range(start.size - 1):
        for k in range(start[net], start[net + 1]):
            core = core_of[pins[k]]
            if counts[net, core] == 0:
                columns[net, core % width] += 1
            counts[net, core] += 1
    return counts, columns


@jit
def _all_trees(
    counts: Array, columns: Array, root: Array, weight: Array, core_of: Array, width: int, height: int, loads: Array
) -> None:
    for net in range(root.size):
        _tree(counts[net], columns[net], int(core_of[root[net]]), float(weight[net]), width, height, loads, 0.0)


@jit
def _add(loads: Array, way: int, core: int, weight: float, scale: float) -> float:
    """Add to a load. Returns the change of the cost."""
    before = loads[way, core]
    loads[way, core] = before + weight
    a, b = scale * before, scale * (before + weight)
    a, b = a * a, b * b
    a, b = a * a, b * b
    return b * b - a * a


@jit
def _tree(
    counts: Array, columns: Array, home: int, weight: float, width: int, height: int, loads: Array, scale: float
) -> float:
    """Add the loads of a net's whole tree. Returns the change of the cost."""
    x, y = home % width, home // width
    change = 0.0
    low_x, high_x = x, x
    reached = False
    for column in range(width):
        if columns[column] == 0:
            continue
        low, high = y, y
        for row in range(height):
            core = row * width + column
            if counts[core] > 0 and core != home:
                low, high = min(low, row), max(high, row)
                change += _add(loads, INTO, core, weight, scale)
                reached = True
        if columns[column] > (counts[home] > 0 and column == x):
            low_x, high_x = min(low_x, column), max(high_x, column)
        for row in range(y, high):
            change += _add(loads, 3, row * width + column, weight, scale)
        for row in range(low + 1, y + 1):
            change += _add(loads, 2, row * width + column, weight, scale)
    for column in range(x, high_x):
        change += _add(loads, 0, y * width + column, weight, scale)
    for column in range(low_x + 1, x + 1):
        change += _add(loads, 1, y * width + column, weight, scale)
    if reached:
        change += _add(loads, OUT_OF, home, weight, scale)
    return change


@jit
def _branch(
    counts: Array, columns: Array, home: int, core: int, weight: float, width: int, height: int, loads: Array,
    scale: float,
) -> float:  # fmt: skip
    """
    Add the loads of the branch by which the tree from `home` reaches `core` besides all other cores (`counts` is 0 for
    `core`, and `columns` does not count it).

    Returns the change of the cost.
    """
    x, y, home_x, home_y = core % width, core // width, home % width, home // width
    change = _add(loads, INTO, core, weight, scale)
    # The farthest core in the column, on this side, that the tree already reaches.
    others = int(columns[x])
    if home_x == x and counts[home] > 0:
        others -= 1
    far = home_y
    if others:
        step = 1 if y > home_y else -1
        row = home_y + step
        while y != home_y and 0 <= row < height:
            if counts[row * width + x] > 0:
                far = row
            row += step
    if y > home_y:
        for row in range(max(far, home_y), y):
            change += _add(loads, 3, row * width + x, weight, scale)
    else:
        for row in range(y + 1, min(far, home_y) + 1):
            change += _add(loads, 2, row * width + x, weight, scale)
    if others == 0 and x != home_x:
        step = 1 if x > home_x else -1
        far = home_x
        column = home_x + step
        while 0 <= column < width:
            if columns[column] > 0:
                far = column
            column += step
        if x > home_x:
            for column in range(max(far, home_x), x):
                change += _add(loads, 0, home_y * width + column, weight, scale)
        else:
            for column in range(x + 1, min(far, home_x) + 1):
                change += _add(loads, 1, home_y * width + column, weight, scale)
    alone = others == 0
    if alone:
        for column in range(width):
            inside = int(columns[column])
            if column == home_x and counts[home] > 0:
                inside -= 1
            if inside > 0:
                alone = False
                break
    if alone:
        change += _add(loads, OUT_OF, home, weight, scale)
    return change


@jit
def _shift(
    root: Array, weight: Array, of_start: Array, of: Array, root_start: Array, rooted: Array, counts: Array,
    columns: Array, core_of: Array, width: int, height: int, loads: Array, v: int, to: int, scale: float,
) -> float:  # fmt: skip
    """Move v to core `to`. Returns the change of the cost."""
    at = int(core_of[v])
    change = 0.0
    for k in range(root_start[v], root_start[v + 1]):
        net = rooted[k]
        change += _tree(counts[net], columns[net], at, -float(weight[net]), width, height, loads, scale)
        change += _tree(counts[net], columns[net], to, float(weight[net]), width, height, loads, scale)
    core_of[v] = to
    for k in range(of_start[v], of_start[v + 1]):
        net = of[k]
        home, w = int(core_of[root[net]]), float(weight[net])
        counts[net, at] -= 1
        if counts[net, at] == 0:
            columns[net, at % width] -= 1
            if at != home:
                change += _branch(counts[net], columns[net], home, at, -w, width, height, loads, scale)
        if counts[net, to] == 0:
            if to != home:
                change += _branch(counts[net], columns[net], home, to, w, width, height, loads, scale)
            columns[net, to % width] += 1
        counts[net, to] += 1
    return change


@jit
def _anneal(
    root: Array, weight: Array, start: Array, pins: Array, of_start: Array, of: Array, root_start: Array,
    rooted: Array, size: Array, core_of: Array, width: int, height: int, usable: Array, capacity: int, state: Array,
    hot: float, cold: float, proposals: int,
) -> None:  # fmt: skip
    n, cores = core_of.size, width * height
    counts, columns = _counted(start, pins, core_of, width, cores)
    loads = np.zeros((6, cores))
    _all_trees(counts, columns, root, weight, core_of, width, height, loads)
    load = core_loads(core_of, size, cores)
    first, members = group_members(core_of, cores)
    best, least = core_of.copy(), loads.max()
    scale, cost, temperature = 0.0, 0.0, 0.0
    every = max(1024, n // 4)
    for proposal in range(proposals):
        if proposal % every == 0:
            busiest = loads.max()
            if busiest <= 0:
                break
            if busiest < least:
                least = busiest
                best[:] = core_of
            scale = 1.0 / busiest
            cost = ((loads * scale) ** 8).sum()
            temperature = cost * hot * (cold / hot) ** (proposal / proposals)
            first, members = group_members(core_of, cores)
        v = random_below(state, n)
        at = int(core_of[v])
        # The proposed core is that of a source or target, or next to such a core or to its own.
        nets = int(root_start[v + 1] - root_start[v])
        gets = int(of_start[v + 1] - of_start[v])
        if nets + gets == 0:
            continue
        to = at
        if random_below(state, 4) > 0:
            if gets == 0 or (nets > 0 and random_below(state, 2) == 0):
                net = rooted[root_start[v] + random_below(state, nets)]
                to = int(core_of[pins[start[net] + random_below(state, int(start[net + 1] - start[net]))]])
            else:
                net = of[of_start[v] + random_below(state, gets)]
                to = int(core_of[root[net]])
                if random_below(state, 2) == 0:
                    to = int(core_of[pins[start[net] + random_below(state, int(start[net + 1] - start[net]))]])
        if to == at or random_below(state, 4) == 0:
            way = random_below(state, 4)
            x, y = to % width + (way == 0) - (way == 1), to // width + (way == 2) - (way == 3)
            if x < 0 or x >= width or y < 0 or y >= height:
                continue
            to = y * width + x
        if to == at or not usable[to]:
            continue
        u = -1
        if load[to] + size[v] > capacity:
            if first[to + 1] == first[to]:
                continue
            u = int(members[first[to] + random_below(state, int(first[to + 1] - first[to]))])
            more = size[v] - size[u]
            if core_of[u] != to or load[to] + more > capacity or load[at] - more > capacity:
                continue
        change = _shift(
            root, weight, of_start, of, root_start, rooted, counts, columns, core_of, width, height, loads, v, to, scale
        )
        if u >= 0:
            change += _shift(
                root, weight, of_start, of, root_start, rooted, counts, columns, core_of, width, height, loads, u, at,
                scale,
            )  # fmt: skip
        if change > -temperature * np.log(1.0 - random_unit(state)):
            _shift(
                root, weight, of_start, of, root_start, rooted, counts, columns, core_of, width, height, loads, v, at,
                scale,
            )  # fmt: skip
            if u >= 0:
                _shift(
                    root, weight, of_start, of, root_start, rooted, counts, columns, core_of, width, height, loads, u,
                    to, scale,
                )  # fmt: skip
            continue
        load[at] -= size[v]
        load[to] += size[v]
        if u >= 0:
            load[at] += size[u]
            load[to] -= size[u]
    if loads.max() >= least:
        core_of[:] = best
