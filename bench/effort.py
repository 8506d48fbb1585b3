"""
Benefit and cost of `--effort`: one JSON line for each model, with the emulated cycles and the processor time of each
effort relative to the default's, and the result of a search without pruning.

Of that search, `best` names the variant of the whole network with the fewest cycles, `cycles` is relative to the
default's, and `estimate` is the variant's estimate over the least estimate: an effort with a lower `prune_ratio`
(`lowering/options/effort.py`) does not compile it.

    python bench/effort.py rnet onet --chip edge
    python bench/effort.py --random 100 --chip tiny
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from time import process_time
from typing import Any, NamedTuple
from unittest.mock import patch

from light_models import LIGHT_MODELS
from meshloom.analysis.planning.plan_memo import forget_plans
from meshloom.analysis.search import Search
from meshloom.lowering.options.effort import EFFORTS, Effort
from meshloom.lowering.options.subgraph_options import SubgraphOptions
from meshloom.support.errors import MeshloomError
from meshloom.tools.api import CompiledNetwork, compile
from public_models import PUBLIC_MODELS
from random_onnx import RandomOnnx

from models import load_model

NODES = 20
"""Of random models."""
OTHERS = [name for name in EFFORTS if name != "default"]
NOTHING_LEFT_OUT = replace(EFFORTS["high"], prune_ratio=float("inf"))


class Tried(NamedTuple):
    """A variant in the search for a subgraph."""

    variant: str
    estimate: float
    cycles: float


@contextmanager
def recorded() -> Generator[list[Tried]]:
    """Records the variants of all searches while the context is active."""
    tried: list[Tried] = []
    try_variant = Search[Any].try_variant

    def noted(search: Any, variant: str, make: Callable[[], Any], *, estimate: float = 0.0, **limits: float) -> bool:
        def made() -> Any:
            found = make()
            if estimate:
                tried.append(Tried(variant, estimate, search.cycles(found)))
            return found

        return try_variant(search, variant, made, estimate=estimate, **limits)

    with patch.object(Search, "try_variant", noted):
        yield tried


def compiled(
    data: bytes, chip: str, shapes: dict[str, tuple[int, ...]], effort: Effort
) -> tuple[CompiledNetwork, float]:
    """A model with an effort, and the processor time for it."""
    forget_plans()
    start = process_time()
    network = compile(data, chip, shapes, subgraphs=SubgraphOptions(effort=effort))
    return network, process_time() - start


def measure(data: bytes, chip: str, shapes: dict[str, tuple[int, ...]]) -> dict[str, Any]:
    """All efforts on a model."""
    base, seconds = compiled(data, chip, shapes, EFFORTS["default"])
    cycles = base.timing.cycles
    line: dict[str, Any] = {"cycles": cycles, "cpu_s": round(seconds, 2)}
    for name in OTHERS:
        other, spent = compiled(data, chip, shapes, EFFORTS[name])
        line[name] = {"cycles": round(other.timing.cycles / cycles, 4), "cpu": round(spent / seconds, 2)}
    with recorded() as tried:
        compiled(data, chip, shapes, NOTHING_LEFT_OUT)
    if tried:
        best, least = min(tried, key=lambda one: one.cycles), min(one.estimate for one in tried)
        line["nothing left out"] = {
            "tried": len(tried),
            "best": best.variant,
            "cycles": round(best.cycles / cycles, 4),
            "estimate": round(best.estimate / least, 4),
        }
    return line


def public(names: Iterable[str]) -> Iterator[tuple[str, bytes, dict[str, tuple[int, ...]]]]:
    """Models with shapes of their inputs, by name."""
    for name in names:
        data, inputs = load_model(name)
        yield name, data, {key: value.shape for key, value in inputs.items()}


def random(seeds: range) -> Iterator[tuple[str, bytes, dict[str, tuple[int, ...]]]]:
    """The random models of some seeds."""
    for seed in seeds:
        yield f"random {seed}", RandomOnnx(seed, NODES).model.SerializeToString(), {}


def main() -> int:
    """Print one line a model; 1 if a public one does not compile."""
    every = [*PUBLIC_MODELS, *(f"light-{name}" for name in LIGHT_MODELS)]
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="*", metavar="MODEL", help=f"default: {', '.join(every)}")
    parser.add_argument("--chip", default="edge")
    parser.add_argument("--random", type=int, metavar="COUNT", help="so many random models instead")
    parser.add_argument("--seed", type=int, default=0, help="number of the first random model")
    options = parser.parse_args()
    if unknown := [name for name in options.models if name not in every]:
        parser.error(f"unknown model {unknown[0]}")
    status = 0
    name, data, shapes = next(public(["pnet"]))
    compiled(data, "edge", shapes, EFFORTS["high"])  # kernels are compiled once for all
    wanted = public(options.models or every)
    if options.random is not None:
        wanted = random(range(options.seed, options.seed + options.random))
    for name, data, shapes in wanted:
        line: dict[str, Any] = {"model": name, "chip": options.chip}
        try:
            print(json.dumps({**line, **measure(data, options.chip, shapes)}), flush=True)
        except MeshloomError as error:
            status |= options.random is None
            print(json.dumps({**line, "error": str(error).splitlines()[0]}), flush=True)
    return status


if __name__ == "__main__":
    sys.exit(main())
