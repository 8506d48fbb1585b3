"""
Emulated cycles of networks by schedule, at batch 1 and 16: the whole network in the importer's order and in a searched
order, with the default options (micro-batching where that is faster), cut into subgraphs and fused by each strategy,
and with one subgraph per operator. One JSON line for each network and batch.

    python bench/schedules.py [--chip NAME] [--batches 1,16] [--parts N] [MODEL ...]

`over_importer`: cycles over those of the whole network in the importer's order. `roofline`: least cycles of each unit.
`closed`: (a - best) / (a - roofline), where a is the cycles in importer's order, cut and not fused; `closed_of_single`:
the same where a is the cycles with one subgraph per operator.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from dataclasses import replace
from pathlib import Path

from light_models import LIGHT_MODELS, light_model, with_batch
from meshloom.chips import Chip, load_chip
from meshloom.dialects.dataflow.entry_function import find_main
from meshloom.emulator.reports.roofline import Roofline, Work, roofline
from meshloom.emulator.timing.engine import run_timing
from meshloom.frontend.onnx_import import import_onnx
from meshloom.lowering.driver.compile_module import SubgraphOptions, compile_module
from meshloom.lowering.launch.ideal_work import ideal_work
from meshloom.lowering.options.effort import with_order
from meshloom.lowering.options.subgraph_options import FUSIONS, parse_subgraphs
from meshloom.support.errors import MeshloomError
from meshloom.transforms.manycore_schedule import ManycoreSchedulePass
from public_models import PUBLIC_MODELS
from task_orders import as_tasks
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp

QUICK = ("rnet", "onet", "magika", "ocr-cls")


def batched(model: str, batch: int) -> ModuleOp:
    """A public or light model for a batch of inputs. Raises MeshloomError if it has no batch dimension."""
    if model in PUBLIC_MODELS:
        known = PUBLIC_MODELS[model]
        source, given = known.as_bytes() if known.values else known.path, known.shapes
    else:
        source, inputs = light_model(model)
        with_batch(source, batch)
        given = {name: value.shape for name, value in inputs.items()}
    shapes = {name: (batch, *shape[1:]) if shape[:1] == (1,) else shape for name, shape in given.items()}
    return import_onnx(source, shapes)


def cycles_of(module: ModuleOp, chip: Chip, options: SubgraphOptions) -> int:
    """Emulated cycles of a compiled copy of the module."""
    return run_timing(compile_module(module.clone(), chip, options=options).executable).cycles


def bound_of(module: ModuleOp, chip: Chip) -> Roofline:
    """Least cycles by unit for the network's own work."""
    work = ideal_work(find_main(module))
    return roofline(chip, Work(work["macs"], work["vpu_ops"], work["dram_bytes"]))


def measure(model: str, batch: int, chip: Chip, parts: int) -> dict[str, object]:
    """All figures of a network."""
    module = batched(model, batch)
    bound = bound_of(module, chip)
    tasks = as_tasks(module.clone())
    ManycoreSchedulePass(chip=chip.name, model="estimate").apply(Context(), tasks)
    rule, _ = parse_subgraphs(f"fewest-bytes,parts={parts}")
    every, _ = parse_subgraphs("fewest-bytes,nodes=1")
    with tempfile.TemporaryDirectory() as folder:
        whole = SubgraphOptions(cache=Path(folder))  # equal subgraphs are compiled once
        program = replace(whole, split_failures=False, effort=with_order(whole.effort, "program"))
        importer = cycles_of(module, chip, program)
        found = {"importer": importer, "default": cycles_of(module, chip, whole)}
        found["scheduled"] = cycles_of(tasks, chip, whole)
        for strategy in [name for name in FUSIONS if name != "auto"]:
            found[f"cut, {strategy}"] = cycles_of(module, chip, replace(whole, rule=rule, fuse=strategy))
        found["single"] = cycles_of(module, chip, replace(whole, rule=every, fuse="none"))
    best = min(found.values())

    def closed(start: int) -> float:
        return round((start - best) / max(start - bound.bound, 1), 3)

    return {
        "cycles": found,
        "over_importer": {name: round(cycles / importer, 4) for name, cycles in found.items()},
        "roofline": {unit: round(cycles) for unit, cycles in bound.cycles.items() if cycles},
        "best_over_roofline": round(best / bound.bound, 3),
        "closed": closed(found["cut, none"]),
        "closed_of_single": closed(found["single"]),
    }


def main() -> None:
    """Print the lines."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="*", default=[*QUICK], help=f"of {', '.join([*PUBLIC_MODELS, *LIGHT_MODELS])}")
    parser.add_argument("--chip", default="edge")
    parser.add_argument("--batches", default="1,16")
    parser.add_argument("--parts", type=int, default=6)
    options = parser.parse_args()
    for model in options.models:
        for batch in map(int, options.batches.split(",")):
            line: dict[str, object] = {"bench": "schedules", "model": model, "batch": batch, "chip": options.chip}
            try:
                line |= measure(model, batch, load_chip(options.chip), options.parts)
            except MeshloomError as error:
                line["error"] = str(error).splitlines()[0]
            print(json.dumps(line), flush=True)


if __name__ == "__main__":
    main()
