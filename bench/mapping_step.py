"""
One step of mapped networks in the emulator: one JSON line per input and method, then the default method over each.

Every run is a process of its own, on the same inputs with the same capacity (those of `mapping_methods.py`).
The cores are those of chip `grid`, as many as the network's mesh has. `default` is what `meshloom-map --emulate` takes:
the default method for few cycles; `default hops` and `default multicast` have the other objectives.

    python bench/mapping_step.py --inputs lenet,sheet10k --seed 101
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
from mapping_methods import make_input, mean
from meshloom.chips import load_chip
from meshloom.mapping.mesh import Mesh
from meshloom.mapping.method import Effort, MapRequest, Objective, default_capacity
from meshloom.mapping.methods import find_method
from meshloom.mapping.metrics.costs import costs_of
from meshloom.mapping.topology.topology import Topology
from meshloom.tools.map_emulation import emulate_step

INPUTS = "lenet,cortex10k,sheet10k,tiles,mlp"
METHODS = "row-major,literal,metis placed,default hops,default multicast,default"


def one(method: str, archive: Path, seed: int) -> dict[str, Any]:
    """Map the network of an archive and run a step."""
    with np.load(archive / "graph.npz") as arrays:
        values = [arrays[key] for key in ("indptr", "indices", "data", "size", "src_indptr", "src_indices", "spikes")]
    values[3] = values[3].astype(np.int64)
    topology, mesh = Topology(*values), Mesh.parse((archive / "mesh.txt").read_text().strip())
    capacity = default_capacity(topology.total_size, mesh)
    start = time.process_time()
    if method == "metis placed":
        import mapping_peers as peers

        parts = peers.metis(topology, mesh, capacity, seed)
        core_of = peers.placed(topology, mesh, capacity, parts, seed)
    else:
        name, _, objective = method.partition(" ")
        wanted = Objective(objective) if objective else Objective.CYCLES
        mapper = find_method(name)
        core_of = mapper(
            MapRequest(topology, mesh, capacity, objective=wanted, effort=Effort.NORMAL, seed=seed)
        ).core_of_vertex
    seconds = time.process_time() - start
    start = time.process_time()
    step = emulate_step(topology, mesh, core_of, load_chip("grid")).figures()
    costs = costs_of(topology, mesh, core_of).as_dict()
    if costs["max_load"] > capacity:
        raise SystemExit(f"{method}: {costs['max_load']} on a core of {capacity}")
    return {
        **{key: costs[key] for key in ("vertices", "edges", "cores", "hop_cost", "delivered_traffic", "tree_traffic")},
        **{key: step[key] for key in ("cycles", "messages", "delivered_bytes")},
        "busiest_link_bytes": max((link["bytes"] for link in step["busiest_links"]), default=0),
        "energy_uj": round(step["energy_pj"]["total"] / 1e6, 4),
        "map_cpu_s": round(seconds, 2),
        "step_cpu_s": round(time.process_time() - start, 2),
    }


def main() -> None:
    """Run what the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--inputs", default=INPUTS)
    parser.add_argument("--methods", default=METHODS)
    parser.add_argument("--seed", type=int, default=101)
    parser.add_argument("--folder", type=Path, help="where inputs are kept (default: a temporary folder)")
    parser.add_argument("--one")
    parser.add_argument("--archive", type=Path)
    options = parser.parse_args()
    if options.one:
        print(json.dumps(one(options.one, options.archive, options.seed)))
        return
    ratios: dict[str, list[float]] = {}
    with tempfile.TemporaryDirectory() as temporary:
        for name in options.inputs.split(","):
            archive = make_input(name, options.seed, options.folder or Path(temporary))
            found: dict[str, dict[str, Any]] = {}
            for method in options.methods.split(","):
                command = [sys.executable, __file__, "--one", method, "--archive", str(archive)]
                done = subprocess.run([*command, "--seed", str(options.seed)], capture_output=True, text=True)
                if done.returncode:
                    print(json.dumps({"input": name, "method": method, "failed": done.stderr[-300:]}), flush=True)
                    continue
                found[method] = json.loads(done.stdout.splitlines()[-1])
                print(json.dumps({"input": name, "method": method} | found[method]), flush=True)
            for method in found.keys() - {"default"}:
                if "default" in found:
                    ratios.setdefault(method, []).append(found["default"]["cycles"] / found[method]["cycles"])
    for method, values in sorted(ratios.items()):
        line = {"cycles of default over": method, "mean": mean(values), "worst": round(max(values), 3)}
        print(json.dumps({**line, "inputs": len(values)}), flush=True)


if __name__ == "__main__":
    main()
