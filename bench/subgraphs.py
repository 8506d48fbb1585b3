"""
Subgraphs: every fusion strategy against the network compiled whole, what splitting a network that is too large costs,
and how quick a second compilation is. One JSON line a result.

    python bench/subgraphs.py [--chip NAME] [--parts N] [MODEL ...]

`over_whole`: emulated cycles and CPU seconds of compiling over those of the whole network in the same process.
`over_host_bound`, for a network over the DRAM: cycles with host copies over those that the host link needs for them.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from dataclasses import replace
from pathlib import Path
from time import process_time
from typing import Any

from meshloom.analysis.planning.plan_memo import forget_plans
from meshloom.chips import Chip, load_chip
from meshloom.emulator.machine.costs import host_cycles
from meshloom.emulator.timing.engine import run_timing
from meshloom.frontend.onnx_import import import_onnx
from meshloom.lowering.driver.compile_module import Compilation, SubgraphOptions, compile_module
from meshloom.lowering.options.subgraph_options import FUSIONS, parse_subgraphs
from public_models import PUBLIC_MODELS
from xdsl.dialects.builtin import ModuleOp

QUICK = ("rnet", "onet", "ocr-cls")
OVER_DRAM = ("rnet", "minilm")
SHARE_OF_DRAM = 3
"""Networks that fit are given a chip with this fraction of the DRAM that they use."""


def compiled(module: ModuleOp, chip: Chip, options: SubgraphOptions) -> tuple[Compilation, float]:
    """A copy of the module compiled, and the CPU seconds that took."""
    module = module.clone()
    forget_plans()
    start = process_time()
    compilation = compile_module(module, chip, options=options)
    return compilation, process_time() - start


def report(bench: str, model: str, chip: Chip, **figures: Any) -> None:
    """One line."""
    rounded = {key: round(value, 4) if isinstance(value, float) else value for key, value in figures.items()}
    print(json.dumps({"bench": bench, "model": model, "chip": chip.name, **rounded}), flush=True)


def load(model: str) -> ModuleOp:
    """A public model as `dataflow`."""
    known = PUBLIC_MODELS[model]
    return import_onnx(known.path, dict(known.shapes), known.values)


def strategies(model: str, chip: Chip, parts: int) -> None:
    """Cut into `parts` where the fewest bytes cross, and fused again by each strategy."""
    module = load(model)
    compiled(module, chip, SubgraphOptions())  # what is compiled on first use
    whole, whole_seconds = compiled(module, chip, SubgraphOptions())
    whole_cycles = run_timing(whole.executable).cycles
    report("subgraphs", model, chip, strategy="whole", cycles=whole_cycles, launches=1, compile_cpu_s=whole_seconds)
    rule, _ = parse_subgraphs(f"fewest-bytes,parts={parts}")
    for strategy in [name for name in FUSIONS if name != "auto"]:
        found, seconds = compiled(module, chip, SubgraphOptions(rule, fuse=strategy))
        cycles = run_timing(found.executable).cycles
        estimate = sum(part.code.estimated_cycles for part in found.parts)
        report(
            "subgraphs", model, chip, strategy=strategy, cycles=cycles, launches=len(found.parts),
            compile_cpu_s=seconds, attempts=found.log.attempts, cycles_over_whole=cycles / whole_cycles,
            compile_over_whole=seconds / max(whole_seconds, 1e-9), estimate_over_emulated=estimate / cycles,
        )  # fmt: skip


def over_dram(model: str, chip: Chip) -> None:
    """A network that needs more DRAM than there is, without hints."""
    module = load(model)
    roomy = replace(chip, dram_bytes=1 << 34)
    whole, seconds = compiled(module, roomy, SubgraphOptions())
    whole_timing = run_timing(whole.executable)
    if whole.executable.dram_bytes_used <= chip.dram_bytes:
        chip = replace(chip, dram_bytes=whole.executable.dram_bytes_used // SHARE_OF_DRAM // 64 * 64)
    found, split_seconds = compiled(module, chip, SubgraphOptions())
    timing = run_timing(found.executable)
    report(
        "over-dram", model, chip, dram_bytes=chip.dram_bytes, needs_bytes=whole.executable.dram_bytes_used,
        launches=len(found.parts), attempts=found.log.attempts, cycles=timing.cycles,
        total_cycles=timing.total_cycles, host_weights=found.executable.host_weight_bytes,
        compile_cpu_s=split_seconds, total_over_whole=timing.total_cycles / whole_timing.total_cycles,
        over_host_bound=timing.total_cycles / max(int(host_cycles(chip, timing.host_in_bytes)), whole_timing.cycles),
        compile_over_whole=split_seconds / max(seconds, 1e-9),
    )  # fmt: skip


def second_time(model: str, chip: Chip, parts: int) -> None:
    """The same network again with a cache folder: nothing is compiled but what has changed (here: nothing)."""
    module = load(model)
    rule, _ = parse_subgraphs(f"fewest-bytes,parts={parts}")
    with tempfile.TemporaryDirectory() as folder:
        options = SubgraphOptions(rule, cache=Path(folder))
        _, first = compiled(module, chip, options)
        again, second = compiled(module, chip, options)
    report(
        "cache", model, chip, parts=len(again.parts), hits=again.cache_hits, first_cpu_s=first, second_cpu_s=second,
        second_over_first=second / first,
    )  # fmt: skip


def main() -> None:
    """All benchmarks on the models that are there."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="*", default=[*QUICK], help=f"of {', '.join(PUBLIC_MODELS)}")
    parser.add_argument("--chip", default="edge")
    parser.add_argument("--parts", type=int, default=6)
    arguments = parser.parse_args()
    chip = load_chip(arguments.chip)
    for model in arguments.models:
        strategies(model, chip, arguments.parts)
        second_time(model, chip, arguments.parts)
    for model in OVER_DRAM:
        over_dram(model, load_chip("tiny"))


if __name__ == "__main__":
    main()
