"""
Mapping methods against other mappers: one JSON line for each input and method, then the goals with their present
values.

Every run is a separate process, so that CPU seconds and peak memory are those of the run. All have the same inputs and
the same capacity, ceil(1.05 x size / cores). Inputs come from `data/topologies.py` with shuffled vertex numbers. The
compilation of kernels is not counted: a small network is mapped before the measurement.

    python bench/mapping_methods.py                        inputs of up to 8 million edges
    python bench/mapping_methods.py --inputs sheet10k,lenet --seed 5
    python bench/mapping_methods.py --curve                quality against time of the efforts
    python bench/mapping_methods.py --ablation             the effect of each part of the default method
"""

from __future__ import annotations

import argparse
import json
import math
import resource
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mapping_planted import SHEETS, planted

if TYPE_CHECKING:
    from meshloom.mapping.mesh import Mesh
    from meshloom.mapping.topology.topology import Topology

HERE = Path(__file__).parent
INPUTS = "sheet10k,cortex10k,lenet,mlp,tiles,vgg8,mobilenet,sheet100k,cortex100k,tilesL"
MUCH = 2_000_000
"""Edges from which on the time is compared with Scotch's."""
KAHYPAR_EDGES, KAHYPAR_CORES = 300_000, 64
"""Above so many of either, Mt-KaHyPar's mapping does not end within ten minutes on one thread."""

PEERS = ("metis", "metis placed", "scotch", "scotch quality", "mt-kahypar", "planted")
OURS = ("literal", "default", "default multicast", "default cut")
GRAPH_MAPPERS = ("metis placed", "scotch", "scotch quality", "mt-kahypar")


@dataclass(frozen=True)
class Mapped:
    """A mapping, and what it took."""

    core_of: Any
    """[vertices] int32 core number."""
    seconds: float
    """CPU seconds."""
    steps: dict[str, float] = field(default_factory=dict[str, float])
    """CPU seconds of each step of the method."""


def one(method: str, archive: Path, seed: int) -> dict[str, Any]:
    """Map the network of an archive in this process."""
    from mapping_variants import VARIANTS
    from meshloom.mapping.method import Objective, default_capacity
    from meshloom.mapping.metrics.costs import costs_of

    objective = next((o for o in Objective if o in method.partition(" ")[2]), Objective.HOPS)
    topology, mesh = load(archive, with_sources=objective == Objective.MULTICAST)
    capacity = default_capacity(topology.total_size, mesh)
    if method in PEERS[:5]:
        mapped = map_by_peer(method, topology, mesh, capacity, seed)
    elif method == "planted":
        mapped = Mapped(planted(network_of(archive), mesh, seed), 0.0)
    elif method in VARIANTS:
        VARIANTS[method](*warm_up_network(), 200, seed)
        start = time.process_time()
        mapped = Mapped(VARIANTS[method](topology, mesh, capacity, seed), time.process_time() - start)
    else:
        mapped = map_by_method(method, topology, mesh, capacity, seed)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    core_of = mapped.core_of
    if method == "metis placed":
        import mapping_peers as peers

        core_of = peers.placed(topology, mesh, capacity, core_of, seed)
    topology, mesh = load(archive, with_sources=True)
    costs = costs_of(topology, mesh, core_of).as_dict()
    if costs["max_load"] > capacity:
        raise SystemExit(f"{method}: {costs['max_load']} on a core of {capacity}")
    kept = ("vertices", "edges", "cores", "hop_cost", "cut", "delivered_traffic", "max_link_load", "imbalance")
    return {key: costs[key] for key in kept} | {
        "cpu_s": round(mapped.seconds, 3),
        "peak_rss_mb": round(peak, 1),
        "seconds": {step: round(value, 3) for step, value in mapped.steps.items()},
    }


def load(archive: Path, with_sources: bool) -> tuple[Topology, Mesh]:
    """The network of an archive, with its directed edges if `with_sources`, and its mesh."""
    import numpy as np
    from meshloom.mapping.mesh import Mesh
    from meshloom.mapping.topology.topology import Topology

    with np.load(archive / "graph.npz") as arrays:
        names = ["indptr", "indices", "data", "size"]
        names += ["src_indptr", "src_indices", "spikes"] if with_sources else []
        values = [arrays[name] for name in names]
    values[3] = values[3].astype(np.int64)
    return Topology(*values), Mesh.parse((archive / "mesh.txt").read_text().strip())


def warm_up_network() -> tuple[Topology, Mesh]:
    """A network large enough that every step of a method runs once, so that all kernels are compiled."""
    import numpy as np
    from meshloom.mapping.mesh import Mesh
    from meshloom.mapping.topology.topology import Topology

    n = 2000
    around = np.concatenate([(np.arange(n) + step) % n for step in (1, n - 1)]).astype(np.int32)
    indices = around.reshape(2, n).T.copy().ravel()
    ones = np.ones(2 * n, np.int32)
    indptr = np.arange(0, 2 * n + 1, 2)
    return Topology(indptr, indices, ones, np.ones(n, np.int64), indptr, indices, ones), Mesh(4, 4)


def map_by_peer(method: str, topology: Topology, mesh: Mesh, capacity: int, seed: int) -> Mapped:
    """The mapping of another project's tool."""
    import mapping_peers as peers

    call = {
        "metis": peers.metis,
        "metis placed": peers.metis,
        "scotch": peers.scotch,
        "scotch quality": peers.scotch_quality,
        "mt-kahypar": peers.mt_kahypar,
    }[method]
    start = time.process_time()
    core_of = call(topology, mesh, capacity, seed)
    return Mapped(core_of, time.process_time() - start)


def map_by_method(method: str, topology: Topology, mesh: Mesh, capacity: int, seed: int) -> Mapped:
    """The mapping of a method of ours: its name, then its objective and effort if they are not the defaults."""
    from meshloom.mapping.method import Effort, MapRequest, Objective, Watch, default_capacity
    from meshloom.mapping.methods import find_method

    name, _, options = method.partition(" ")
    effort = next((e for e in Effort if e in options), Effort.NORMAL)
    objective = next((o for o in Objective if o in options), Objective.HOPS)
    mapper, watch = find_method(name), Watch()
    warm, warm_mesh = warm_up_network()
    warm_capacity = default_capacity(warm.total_size, warm_mesh)
    mapper(MapRequest(warm, warm_mesh, warm_capacity, objective=objective, effort=Effort.FAST))
    start = time.process_time()
    found = mapper(MapRequest(topology, mesh, capacity, objective=objective, effort=effort, seed=seed, watch=watch))
    return Mapped(found.core_of_vertex, time.process_time() - start, dict(watch.seconds))


def spawn(method: str, archive: Path, seed: int, limit: float) -> dict[str, Any] | None:
    """`one` in a process of its own; None if it takes more than `limit` seconds, or fails."""
    command = [sys.executable, __file__, "--one", method, "--archive", str(archive), "--seed", str(seed)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=limit)
    except subprocess.TimeoutExpired:
        print(json.dumps({"method": method, "input": archive.name, "unfinished_after_s": limit}), flush=True)
        return None
    if done.returncode:
        print(json.dumps({"method": method, "input": archive.name, "failed": done.stderr[-300:]}), flush=True)
        return None
    return json.loads(done.stdout.splitlines()[-1])


def make_input(name: str, seed: int, folder: Path) -> Path:
    """The folder of a network, generated if it is not there."""
    # The generator leaves seed 1 out of the name.
    archive = folder / (f"{name}_s{seed}_sh" if seed != 1 else f"{name}_sh")
    if not (archive / "mesh.txt").exists():
        command = [sys.executable, str(HERE / "data" / "topologies.py"), name, "--seed", str(seed), "--shuffle"]
        subprocess.run([*command, "--out", str(folder)], check=True, stdout=subprocess.DEVNULL)
    return archive


def network_of(archive: Path) -> str:
    """The name of the network in a folder of `make_input`."""
    return archive.name.partition("_")[0]


def mean(ratios: list[float]) -> float | None:
    """Geometric mean."""
    return round(math.exp(sum(map(math.log, ratios)) / len(ratios)), 3) if ratios else None


def goals(results: dict[str, dict[str, dict[str, Any]]]) -> list[dict[str, Any]]:
    """The goals, from the results by input and method."""
    rows: list[dict[str, Any]] = []

    def goal(what: str, must: float, stretch: float, ratios: list[float]) -> None:
        rows.append({"goal": what, "now": mean(ratios), "must": must, "stretch": stretch, "inputs": len(ratios)})
        rows[-1]["worst"] = round(max(ratios), 3) if ratios else None

    def ratios(ours: str, key: str, *theirs: str, least_edges: int = 0) -> list[float]:
        found: list[float] = []
        for by_method in results.values():
            peers = [by_method[name][key] for name in theirs if name in by_method]
            if ours in by_method and peers and by_method[ours]["edges"] >= least_edges:
                found.append(by_method[ours][key] / min(peers))
        return found

    def times() -> list[float]:
        found: list[float] = []
        for by_method in results.values():
            both = [by_method[name] for name in ("scotch", "scotch quality") if name in by_method]
            if both and "default" in by_method and by_method["default"]["edges"] >= MUCH:
                best = min(both, key=lambda run: run["hop_cost"])
                found.append(by_method["default"]["cpu_s"] / best["cpu_s"])
        return found

    goal("hop cost over Scotch (better of default and quality)", 0.90, 0.82, ratios("default", "hop_cost", *PEERS[2:4]))
    goal("hop cost over METIS placed", 0.78, 0.70, ratios("default", "hop_cost", "metis placed"))
    goal("hop cost over literal", 0.52, 0.45, ratios("default", "hop_cost", "literal"))
    goal("hop cost over a planted mapping", 0.95, 0.86, ratios("default", "hop_cost", "planted"))
    goal("cut over METIS", 1.03, 0.98, ratios("default cut", "cut", "metis"))
    traffic = "delivered_traffic"
    goal("traffic over the best graph mapper", 0.60, 0.50, ratios("default multicast", traffic, *GRAPH_MAPPERS))
    goal("CPU over Scotch (the better one), 2 M edges and more", 0.6, 0.3, times())
    million = {name: runs for name, runs in results.items() if any(r["vertices"] >= 900_000 for r in runs.values())}
    for ours, must, stretch in (("default", 4.0, 2.0), ("literal", 1.2, 1.2)):
        found = [r[ours]["cpu_s"] / r["metis"]["cpu_s"] for r in million.values() if {ours, "metis"} <= r.keys()]
        goal(f"CPU of {ours} over METIS, 1 M vertices", must, stretch, found)
    found = [
        r["default"]["peak_rss_mb"] / r["metis"]["peak_rss_mb"]
        for r in million.values()
        if {"default", "metis"} <= r.keys()
    ]
    goal("peak memory over METIS, 1 M vertices", 0.33, 0.15, found)
    return rows


def main() -> None:
    """Run what the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--inputs", default=INPUTS)
    parser.add_argument("--methods", default=",".join((*PEERS, *OURS)))
    parser.add_argument("--seed", type=int, default=11)
    parser.add_argument("--limit", type=float, default=600.0, help="seconds that a run may take")
    parser.add_argument("--folder", type=Path, help="where inputs are kept (default: a temporary folder)")
    parser.add_argument("--results", type=Path, nargs="+", default=[], help="lines of earlier runs, to be counted in")
    parser.add_argument("--curve", action="store_true")
    parser.add_argument("--ablation", action="store_true")
    parser.add_argument("--one")
    parser.add_argument("--archive", type=Path)
    arguments = parser.parse_args()
    if arguments.one:
        print(json.dumps(one(arguments.one, arguments.archive, arguments.seed)))
        return
    methods = arguments.methods.split(",")
    if arguments.curve:
        methods = [*PEERS[1:4], "default fast", "default normal", "default high"]
    if arguments.ablation:
        from mapping_variants import VARIANTS

        methods = ["default normal", *VARIANTS]
    results: dict[str, dict[str, dict[str, Any]]] = {}
    for line in (line for path in arguments.results for line in path.read_text().splitlines()):
        run = json.loads(line)
        if "hop_cost" in run and "input" in run:
            results.setdefault(run["input"], {})[run["method"]] = run
    with tempfile.TemporaryDirectory() as temporary:
        for name in filter(None, arguments.inputs.split(",")):
            archive = make_input(name, arguments.seed, arguments.folder or Path(temporary))
            results.setdefault(name, {})
            for method in (method for method in methods if method not in results[name]):
                known = results[name].values()
                is_large = any(run["edges"] > KAHYPAR_EDGES or run["cores"] > KAHYPAR_CORES for run in known)
                if (method == "mt-kahypar" and is_large) or (method == "planted" and name not in SHEETS):
                    continue
                found = spawn(method, archive, arguments.seed, arguments.limit)
                if found is not None:
                    results[name][method] = found
                    print(json.dumps({"input": name, "method": method} | found), flush=True)
    if arguments.curve or arguments.ablation:
        for method in methods:
            base = "scotch" if arguments.curve else "default normal"
            both = [(runs[method], runs[base]) for runs in results.values() if {method, base} <= runs.keys()]
            costs = mean([run["hop_cost"] / peer["hop_cost"] for run, peer in both])
            times = mean([run["cpu_s"] / peer["cpu_s"] for run, peer in both])
            print(json.dumps({"method": method, "over": base, "hop_cost": costs, "cpu_s": times}), flush=True)
    else:
        for row in goals(results):
            print(json.dumps(row), flush=True)


if __name__ == "__main__":
    main()
