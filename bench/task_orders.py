"""
Orders of tasks on chips: emulated cycles with the order of pass manycore-schedule over those with the importer's order,
one JSON line a network and chip.

    python bench/task_orders.py [NETWORK ...] [--chips edge,tiny]

Networks are public models (`make models`) and the light models of the onnx package, with random weights. Without
arguments: some whose operators branch.
"""

from __future__ import annotations

import argparse
import json
import time

import numpy as np
from light_models import light_model
from meshloom.analysis.orders.unit_profiles import ProfileCost
from meshloom.chips import load_chip
from meshloom.dialects.dataflow import Dataflow
from meshloom.frontend.onnx_import import import_onnx
from meshloom.lowering.dataflow_to_manycore import DataflowToManycorePass
from meshloom.lowering.driver.order_costs import emulated_cycles, measured_profiles
from meshloom.support.errors import MeshloomError
from meshloom.transforms.canonicalize import CanonicalizePass
from meshloom.transforms.dataflow_fold_affine import DataflowFoldAffinePass
from meshloom.transforms.manycore_schedule import ManycoreSchedulePass, Model
from public_models import PUBLIC_MODELS
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp

NETWORKS = ("magika", "ocr-det", "shufflenet", "inception_v1", "minilm")


def tasks_of_network(name: str) -> ModuleOp:
    """The network's tasks in the importer's order, not tiled."""
    if name in PUBLIC_MODELS:
        known = PUBLIC_MODELS[name]
        module = import_onnx(known.path, dict(known.shapes), known.values)
    else:
        module = import_onnx(light_model(name)[0], {})
    return as_tasks(module)


def as_tasks(module: ModuleOp) -> ModuleOp:
    """A `dataflow` module brought to tasks, in place."""
    context = Context()
    context.load_dialect(Dataflow)
    for step in (CanonicalizePass(), DataflowFoldAffinePass(), DataflowToManycorePass()):
        step.apply(context, module)
    return module


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("networks", nargs="*", default=list(NETWORKS))
    parser.add_argument("--chips", default="edge")
    options = parser.parse_args()
    models: tuple[Model, ...] = ("estimate", "stream")
    for name in options.networks:
        for chip in map(load_chip, options.chips.split(",")):
            module = tasks_of_network(name)
            line: dict[str, object] = {"bench": "task_orders", "network": name, "chip": chip.name}
            try:
                before = emulated_cycles(module, chip)
                streams = ProfileCost(measured_profiles(module, chip))
            except MeshloomError as error:
                print(json.dumps({**line, "error": str(error)}), flush=True)
                continue
            told = streams.cost(np.arange(streams.problem.ops, dtype=np.int64))
            line |= {
                "tasks": streams.problem.ops,
                "program_cycles": before,
                "streams_over_emulated": round(told / before, 3),
            }
            for model in models:
                ordered, began = module.clone(), time.process_time()
                ManycoreSchedulePass(chip=chip.name, model=model).apply(Context(), ordered)
                line[f"{model}_cpu_s"] = round(time.process_time() - began, 2)
                line[f"{model}_over_program"] = round(emulated_cycles(ordered, chip) / before, 4)
            print(json.dumps(line), flush=True)


if __name__ == "__main__":
    main()
