"""
Placement of tiles in the compiler: emulated cycles by method over row-major, one JSON line a model and chip.

    python bench/placement.py [--chip edge,grid,cloud] [--methods LIST] [MODEL ...]

MODEL: a public model, or light-NAME.

Each method places the tiles of all plans (of the tiling beam search, and of each task in isolation); the plan with the
fewest cycles is used. `default` is the compiler's result: the best of several methods. `planned_row_major` differs from
`row-major`: the tiles, too, were chosen for cores in row-major order. `best` names the method with the fewest cycles.
CPU seconds are those of the placement alone, without the compilation of kernels.
"""

from __future__ import annotations

import argparse
import json
import sys
from itertools import product
from time import process_time
from typing import Any

import meshloom.lowering.autotune.autotune_subgraph as autotune_subgraph
import meshloom.lowering.cache.compile_cache as compile_cache
import meshloom.transforms.manycore_split_reductions as manycore_split_reductions
import meshloom.transforms.manycore_tile as manycore_tile
from light_models import LIGHT_MODELS
from meshloom.analysis.placement.methods import PLACE_METHODS
from meshloom.analysis.planning.network_plan import NetworkPlan
from meshloom.analysis.planning.placement import column_major, row_major
from meshloom.analysis.planning.plan_memo import PlanMemo, forget_plans
from meshloom.chips import Chip
from meshloom.lowering.options.effort import EFFORTS, with_placement
from meshloom.lowering.options.subgraph_options import SubgraphOptions
from meshloom.support.errors import MeshloomError
from meshloom.tools.api import compile
from meshloom.transforms.manycore_place import place_function
from public_models import PUBLIC_MODELS
from xdsl.dialects.func import FuncOp

from models import load_model


def cycles(name: str, chip: str, method: str, *, order: Any = column_major) -> tuple[int, float]:
    """(emulated cycles, CPU seconds of placing) of a model whose tiles are placed by `method`."""
    spent = 0.0

    def place(
        function: FuncOp, target: Chip, network: NetworkPlan, tried: str, memo: PlanMemo | None = None
    ) -> NetworkPlan:
        nonlocal spent
        start = process_time()
        placed = place_function(function, target, network, tried, memo=memo)
        spent += process_time() - start
        return placed

    # Compiled subgraphs are cached by content and compiler, so that each placement has its own compiler name.
    digest = f"{method} {order.__name__}".encode()
    patches: list[tuple[Any, str, Any]] = [
        (autotune_subgraph, "place_function", place),
        (manycore_tile, "column_major", order),
        (manycore_split_reductions, "column_major", order),
        (compile_cache, "compiler_digest", lambda: digest),
    ]
    before = [getattr(module, key) for module, key, _ in patches]
    for module, key, value in patches:
        setattr(module, key, value)
    try:
        data, inputs = load_model(name)
        shapes = {key: value.shape for key, value in inputs.items()}
        effort = EFFORTS["default"] if method == "default" else with_placement(EFFORTS["default"], method)
        forget_plans()
        return compile(data, chip, shapes, subgraphs=SubgraphOptions(effort=effort)).timing.cycles, spent
    finally:
        for (module, key, _), value in zip(patches, before, strict=True):
            setattr(module, key, value)


def measure(name: str, chip: str, methods: list[str]) -> dict[str, Any]:
    """All methods on one model; ratios below 1 are faster than row-major."""
    base, _ = cycles(name, chip, "row-major")
    line: dict[str, Any] = {"model": name, "chip": chip, "row_major_cycles": base}
    seconds: dict[str, float] = {}
    for method in methods:
        found, seconds[method] = cycles(name, chip, method)
        line[method] = round(found / base, 4)
    line["best"] = min(methods, key=lambda method: line[method])
    line["planned_row_major"] = round(cycles(name, chip, "planned", order=row_major)[0] / base, 4)
    line["cpu_s"] = {method: round(spent, 3) for method, spent in seconds.items()}
    return line


def main() -> int:
    """Print one line a model; 1 if one of them does not compile."""
    every = [*PUBLIC_MODELS, *(f"light-{name}" for name in LIGHT_MODELS)]
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="*", metavar="MODEL", help=f"default: {', '.join(every)}")
    parser.add_argument("--chip", default="edge", help="or several, comma-separated (%(default)s)")
    known = [method for method in PLACE_METHODS if method != "row-major"]
    parser.add_argument("--methods", default=",".join(known), help="comma-separated (%(default)s)")
    options = parser.parse_args()
    methods: list[str] = options.methods.split(",")
    if unknown := [item for item in methods if item not in known]:
        parser.error(f"unknown method {unknown[0]}")
    if unknown := [name for name in options.models if name not in every]:
        parser.error(f"unknown model {unknown[0]}")
    status = 0
    for method in methods:
        cycles("pnet", "edge", method)  # kernels are compiled once for all
    chips: list[str] = options.chip.split(",")
    for name, chip in product(options.models or every, chips):
        try:
            print(json.dumps(measure(name, chip, methods)), flush=True)
        except MeshloomError as error:
            status = 1
            print(json.dumps({"model": name, "chip": chip, "error": str(error)}), flush=True)
    return status


if __name__ == "__main__":
    sys.exit(main())
