"""
Random ONNX models on the emulated chip, compared with ONNX Runtime without optimisations: a line for each model that is
not `right`.

    python bench/onnx_campaign.py [COUNT] [--seed N] [--nodes 10-40] [--processes N] [--seconds N] [--keep FOLDER]

Models number SEED, SEED + 1 ... are made, compiled and run in separate processes. The last line, JSON, has the numbers
of `right`, `refused` (with an error that names the operator, or a limit of the chip), `wrong`, `crashed` (an unhandled
exception, a process that died, a model that takes longer than --seconds) and `oracle died` (ONNX Runtime did, so that
there is no model). A model whose process died is repeated in a new process, and the second verdict counts. The line
also has the numbers of models for each opset version and of nodes for each operator, and the operators of the importer
without nodes; after an interrupt it is printed for the models so far. Exits with 1 if a model is wrong or crashed. With
--keep, models that are not right are written to a folder.

Models avoid the few cases in which ONNX Runtime and the ONNX specification disagree: test/fuzz/test_onnx_text.py.
"""

from __future__ import annotations

import argparse
import json
import sys
import traceback
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from isolated import Announce, Death, call_each
from meshloom.frontend import onnx_ops
from meshloom.frontend.registry import OPERATORS
from meshloom.support.errors import MeshloomError
from meshloom.tools.api import compile
from meshloom.tools.diagnostics import report
from random_onnx import RandomOnnx

CHIPS = ("tiny", "tiny", "edge")
SECONDS = 300.0
"""Time limit of a model, for all stages together."""
ORACLE, OURS = "oracle", "ours"
"""Stages of a call: ONNX Runtime makes the model and its answer; the compiler and the emulator have it."""
VERDICTS = ("right", "refused", "wrong", "crashed", "oracle died")


@dataclass(frozen=True)
class Outcome:
    """The outcome of one model."""

    seed: int
    verdict: str
    """One of VERDICTS."""
    words: str = ""
    opset: int = 0
    operators: Counter[str] = field(default_factory=Counter[str])


def number_of_nodes(seed: int, fewest: int, most: int) -> int:
    """The number of nodes of the model of a seed."""
    return fewest + seed * 7 % (most - fewest + 1)


def try_model(
    seed: int, announce: Announce | None = None, *, fewest: int, most: int, keep: Path | None = None
) -> Outcome:
    """Make, compile and run the model of a seed. `announce` is called with each stage."""
    announce = announce or (lambda stage: None)
    announce(ORACLE)
    made = RandomOnnx(seed, number_of_nodes(seed, fewest, most))
    announce(OURS)
    operators = Counter(node.op_type for node in made.model.graph.node)
    file = keep / f"{seed}.onnx" if keep else None
    if file is not None:  # before the attempt, which may kill this process
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(made.model.SerializeToString())
    network = None
    try:
        network = compile(made.model, CHIPS[seed % len(CHIPS)])
        words = made.mismatch(network.run(made.inputs, check=True).outputs)
        verdict = "wrong" if words else "right"
    except Exception as error:
        last = traceback.extract_tb(error.__traceback__)[-1]
        place = f" ({type(error).__name__}, {Path(last.filename).name}:{last.lineno})"
        refused = network is None and isinstance(error, MeshloomError)
        verdict, words = ("refused", report(str(error), error)) if refused else ("crashed", f"{error}{place}")
    if file is not None and verdict == "right":
        file.unlink()
    return Outcome(seed, verdict, words, made.opset, operators)


def campaign(
    seeds: range, fewest: int, most: int, processes: int, keep: Path | None, seconds: float = SECONDS
) -> Iterator[Outcome]:
    """The outcomes of many models, in the order of completion."""
    attempt = partial(try_model, fewest=fewest, most=most, keep=keep)
    for seed, outcome in call_each(attempt, seeds, processes, seconds):
        yield from_death(seed, outcome) if isinstance(outcome, Death) else outcome


def from_death(seed: int, death: Death) -> Outcome:
    """The outcome of a model without a result; an exception of the generator is a crash as well."""
    verdict = "oracle died" if death.stage == ORACLE and not death.raised else "crashed"
    return Outcome(seed, verdict, f"{death.words} (stage: {death.stage})")


def never_made(operators: Counter[str]) -> list[str]:
    """The operators of the importer, of ONNX's own domain, that are not among the given ones."""
    onnx_ops.load()
    return sorted(name for domain, name in OPERATORS if not domain and name not in operators)


def main() -> int:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("count", type=int, nargs="?", default=2000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--nodes", default="10-40", metavar="FEWEST-MOST")
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=SECONDS, help="for a model; more counts as a crash")
    parser.add_argument("--keep", type=Path, metavar="FOLDER")
    args = parser.parse_args()
    fewest, most = map(int, args.nodes.split("-"))
    verdicts, operators, opsets = Counter[str](), Counter[str](), Counter[int]()
    seeds = range(args.seed, args.seed + args.count)
    try:
        for outcome in campaign(seeds, fewest, most, args.processes, args.keep, args.seconds):
            verdicts[outcome.verdict] += 1
            operators.update(outcome.operators)
            opsets.update([outcome.opset] if outcome.opset else [])
            if outcome.verdict != "right":
                print(f"{outcome.seed} {outcome.verdict}: {outcome.words}", flush=True)
    except KeyboardInterrupt:
        print("interrupted: these are the figures so far", file=sys.stderr)
    figures = {name: verdicts[name] for name in VERDICTS}
    made = {"opsets": dict(sorted(opsets.items())), "operators": dict(sorted(operators.items()))}
    print(json.dumps({"models": verdicts.total(), **figures, **made, "never made": never_made(operators)}))
    return 1 if verdicts["wrong"] or verdicts["crashed"] else 0


if __name__ == "__main__":
    sys.exit(main())
