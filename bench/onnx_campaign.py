"""
Random ONNX models on the emulated chip, against ONNX Runtime without optimisations: a line for each that is not right.

    python bench/onnx_campaign.py [COUNT] [--seed N] [--nodes 10-40] [--processes N] [--keep FOLDER]

Models number SEED, SEED + 1 ... are made, compiled and run. The last line, JSON, counts them: `right`, `refused` (with
an error that names the operator, or a limit of the chip), `wrong` and `crashed`, and says how many nodes of each
operator they had; an interrupt brings it early. Exits with 1 where one is wrong or crashed. With --keep, models that
are not right are written to a folder.

ONNX Runtime and ONNX's text disagree in a few cases, which models do not have: test/fuzz/test_onnx_text.py.
"""

from __future__ import annotations

import argparse
import json
import sys
import traceback
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from meshloom.support.errors import MeshloomError
from meshloom.tools.api import compile
from random_onnx import RandomOnnx

CHIPS = ("tiny", "tiny", "edge")


@dataclass(frozen=True)
class Outcome:
    """What became of one model."""

    seed: int
    verdict: str
    """right, refused, wrong or crashed."""
    words: str
    operators: Counter[str]


def number_of_nodes(seed: int, fewest: int, most: int) -> int:
    """How many nodes the model of a seed has."""
    return fewest + seed * 7 % (most - fewest + 1)


def try_model(seed: int, fewest: int, most: int, keep: Path | None = None) -> Outcome:
    """Make, compile and run the model of a seed."""
    made = RandomOnnx(seed, number_of_nodes(seed, fewest, most))
    operators = Counter(node.op_type for node in made.model.graph.node)
    network = None
    try:
        network = compile(made.model, CHIPS[seed % len(CHIPS)])
        words = made.mismatch(network.run(made.inputs, check=True).outputs)
        verdict = "wrong" if words else "right"
    except Exception as error:
        last = traceback.extract_tb(error.__traceback__)[-1]
        place = f" ({type(error).__name__}, {Path(last.filename).name}:{last.lineno})"
        refused = network is None and isinstance(error, MeshloomError)
        verdict, words = ("refused", str(error)) if refused else ("crashed", f"{error}{place}")
    if keep is not None and verdict != "right":
        keep.mkdir(parents=True, exist_ok=True)
        (keep / f"{seed}.onnx").write_bytes(made.model.SerializeToString())
    return Outcome(seed, verdict, words, operators)


def campaign(seeds: range, fewest: int, most: int, processes: int, keep: Path | None) -> Iterator[Outcome]:
    """The outcomes of many models, in order."""
    attempt = partial(try_model, fewest=fewest, most=most, keep=keep)
    if processes == 1:
        yield from map(attempt, seeds)
    else:
        with ProcessPoolExecutor(processes) as pool:
            yield from pool.map(attempt, seeds)


def main() -> int:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("count", type=int, nargs="?", default=2000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--nodes", default="10-40", metavar="FEWEST-MOST")
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--keep", type=Path, metavar="FOLDER")
    args = parser.parse_args()
    fewest, most = map(int, args.nodes.split("-"))
    verdicts, operators = Counter[str](), Counter[str]()
    seeds = range(args.seed, args.seed + args.count)
    try:
        for outcome in campaign(seeds, fewest, most, args.processes, args.keep):
            verdicts[outcome.verdict] += 1
            operators.update(outcome.operators)
            if outcome.verdict != "right":
                print(f"{outcome.seed} {outcome.verdict}: {outcome.words}", flush=True)
    except KeyboardInterrupt:
        print("interrupted: these are the figures so far", file=sys.stderr)
    figures = {name: verdicts[name] for name in ("right", "refused", "wrong", "crashed")}
    print(json.dumps({"models": verdicts.total(), **figures, "operators": dict(sorted(operators.items()))}))
    return 1 if verdicts["wrong"] or verdicts["crashed"] else 0


if __name__ == "__main__":
    sys.exit(main())
