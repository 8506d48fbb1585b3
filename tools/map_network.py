"""The work of `meshloom-map`: from its options to a mapping and its costs."""

from __future__ import annotations

import argparse
import re
import resource
import sys
from dataclasses import asdict, dataclass
from time import process_time
from typing import Any

from ..chips import load_chip
from ..frontend.topology.read import read_topology
from ..mapping.checkpoints import FolderCheckpoints, fingerprint
from ..mapping.limits import Limits, apply_limits
from ..mapping.mesh import Mesh
from ..mapping.method import Effort, Mapping, MapRequest, Objective, Watch
from ..mapping.methods import find_method
from ..mapping.metrics.costs import Costs, costs_of
from ..mapping.metrics.multicast import directed_edges
from ..mapping.topology.topology import Topology
from ..support.errors import InputError
from .cli import parse_shapes
from .map_emulation import EmulatedStep, chip_of_mesh, emulate_step, emulated_chip
from .progress import Progress


@dataclass(frozen=True)
class Result:
    """A mapping with its costs and statistics."""

    topology: Topology
    """The topology of the file."""
    mesh: Mesh
    mapping: Mapping
    costs: Costs
    capacity: int
    load_of: Topology
    """The topology whose vertex sizes the capacity limits: that of the file, unless there are several limits."""
    method: str
    stats: dict[str, Any]
    step: EmulatedStep | None = None
    """One step in the emulator, if requested."""

    def summary(self, name: str) -> str:
        """A summary for the terminal."""
        costs = self.costs
        delivered = "" if costs.delivered_traffic is None else f"delivered traffic {costs.delivered_traffic:,}, "
        links = f"one route per edge {costs.max_link_load:,}"
        if costs.max_tree_link_load is not None:
            links += f", multicast trees {costs.max_tree_link_load:,}"
        return (
            f"{name}: {costs.vertices:,} vertices, {costs.edges:,} edges on {costs.used_cores:,} of {costs.cores:,} "
            f"cores, method {self.method}\n"
            f"  hop cost {costs.hop_cost:,}, {delivered}cut {costs.cut:,}\n"
            f"  busiest link: {links}\n"
            f"  fullest core {costs.max_load:,}, imbalance {costs.imbalance:.3f}; "
            f"{self.stats['cpu_s']:.2f} s CPU, peak {self.stats['peak_rss_mb']:,.0f} MB"
            f"{self._step_text()}"
        )

    def _step_text(self) -> str:
        if self.step is None:
            return ""
        figures = self.step.figures()
        text = f"\n  one step on '{figures['chip']}': {figures['cycles']:,} cycles, {figures['messages']:,} messages, "
        text += f"{figures['delivered_bytes']:,} bytes delivered, {figures['energy_pj']['total'] / 1e6:,.3f} uJ"
        for busiest in figures["busiest_links"][:1]:
            text += f"; busiest link: core {busiest['core']}, {busiest['way']}, {busiest['bytes']:,} bytes"
        return text


class _ProgressWatch(Watch):
    """Shows each step as it begins."""

    def __init__(self, progress: Progress, checkpoints: FolderCheckpoints | None) -> None:
        super().__init__(checkpoints)
        self._progress = progress

    def on_step(self, step: str) -> None:
        self._progress(step)


def run_mapping(options: argparse.Namespace, progress: Progress) -> Result:
    """
    Read, map and count.

    Raises InputError for options or files that do not fit together, MeshloomError if the network does not fit.
    """
    mesh = mesh_of(options)
    start = process_time()
    progress("read")
    topology = read_topology(options.topology, parse_shapes(options.shape), on_note=progress.note)
    objective = Objective(options.objective)
    chip = None if options.emulate is None else emulated_chip(options)
    if chip is not None:
        chip_of_mesh(chip, mesh)
    if objective in (Objective.MULTICAST, Objective.CYCLES) or chip is not None:
        directed_edges(topology)
    limits = Limits(options.capacity, options.max_vertices, options.max_edges)
    bounded, capacity = apply_limits(topology, mesh, limits)
    reading = process_time() - start
    watch = _ProgressWatch(progress, _checkpoints(options, mesh, bounded, capacity))
    method = find_method(options.method)
    mapping = method(
        MapRequest(
            bounded, mesh, capacity, objective=objective, effort=Effort(options.effort), seed=options.seed, watch=watch
        )
    )
    progress("count costs")
    before = process_time()
    costs = costs_of(topology, mesh, mapping.core_of_vertex)
    stats: dict[str, Any] = {
        "method": options.method,
        "objective": options.objective,
        "effort": options.effort,
        "seed": options.seed,
        "mesh": str(mesh),
        "capacity": capacity if bounded is topology else asdict(limits),
        **costs.as_dict(),
        "cpu_s": 0.0,
        "peak_rss_mb": peak_rss_mb(),
        "seconds": {"read": reading, **mapping.seconds, "costs": process_time() - before},
    }
    step = None
    if chip is not None:
        progress("emulate")
        before = process_time()
        step = emulate_step(topology, mesh, mapping.core_of_vertex, chip, options.spike_bytes)
        stats["step"] = step.figures()
        stats["seconds"]["emulate"] = process_time() - before
    stats["cpu_s"] = process_time()
    stats["seconds"] = {step: round(seconds, 6) for step, seconds in stats["seconds"].items()}
    return Result(topology, mesh, mapping, costs, capacity, bounded, options.method, stats, step)


def peak_rss_mb() -> float:
    """Peak memory of this process, in MB (2^20 bytes)."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return round(peak / (1 << 20 if sys.platform == "darwin" else 1 << 10), 1)


def mesh_of(options: argparse.Namespace) -> Mesh:
    """The cores that the options name. Raises InputError where they are malformed or out of range."""
    mesh = Mesh.parse(options.mesh) if options.chip is None else Mesh.of_chip(load_chip(options.chip))
    if options.array is not None:
        shape = Mesh.parse(options.array)
        mesh = mesh.array(shape.width, shape.height, options.link_cost)
    if options.rectangle is not None:
        match = re.fullmatch(r"(\d{1,8}),(\d{1,8}),(\d{1,8})x(\d{1,8})", options.rectangle)
        if match is None:
            raise InputError(f"--rectangle {options.rectangle!r}: expected X,Y,WxH, such as 0,4,8x4")
        x, y, width, height = map(int, match.groups())
        mesh = mesh.rectangle(x, y, width, height)
    if options.unusable is not None:
        mesh = mesh.without(_core_list(options.unusable, mesh))
    return mesh


def _core_list(text: str, mesh: Mesh) -> list[int]:
    cores: list[int] = []
    for item in text.split(","):
        match = re.fullmatch(r"(\d{1,8})(?:-(\d{1,8}))?", item.strip())
        if match is None:
            raise InputError(f"--unusable {text!r}: expected core numbers and ranges, such as 3,17-19")
        low, high = int(match[1]), int(match[2] or match[1])
        if low > high or high >= mesh.cores:
            raise InputError(f"--unusable {item}: cores of {mesh} are 0 to {mesh.cores - 1}")
        cores.extend(range(low, high + 1))
    return cores


def _checkpoints(
    options: argparse.Namespace, mesh: Mesh, topology: Topology, capacity: int
) -> FolderCheckpoints | None:
    if options.work is None:
        return None
    run = {
        "input": fingerprint(topology),
        "mesh": asdict(mesh),
        "capacity": capacity,
        "method": options.method,
        "objective": options.objective,
        "effort": options.effort,
        "seed": options.seed,
    }
    return FolderCheckpoints(options.work, run, resume=options.resume)
