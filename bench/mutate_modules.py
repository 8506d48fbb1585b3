"""
Mutation testing of the tools: valid modules of every level with random edits, through the passes and targets of the
level.

    python bench/mutate_modules.py --count 20000 --seed 0

Seeds are the modules of `test/filecheck`, and a small network at each level. A seed is used only if it passes
unchanged. Each run changes a few tokens of one seed (numbers, types, names, operations, shapes, lines) and gives the
text to `meshloom-opt`, in this process. A module may be rejected with an error message. Everything else is a finding:
an unhandled exception, a pass that fails or leaves an invalid module, a run that does not end.
"""

from __future__ import annotations

import argparse
import json
import re
import resource
import signal
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager, redirect_stdout
from dataclasses import dataclass, replace
from functools import cache
from io import BytesIO, StringIO
from math import prod
from pathlib import Path
from random import Random
from types import FrameType

from meshloom.emulator.executable.executable import read_executable, write_executable
from meshloom.lowering.coreasm_to_executable import coreasm_to_executable
from meshloom.support.errors import MeshloomError
from meshloom.tools.opt import MeshloomOpt
from meshloom.tools.reproducer import PassFailure
from meshloom.tools.verify_input import verify_input
from text_mutator import Mutator
from xdsl.dialects.builtin import ModuleOp
from xdsl.utils.exceptions import DiagnosticException, ParseError

FILECHECK = Path(__file__).resolve().parents[1] / "test" / "filecheck"
SECONDS = 20
"""Limit of processor time of a run; above it, the run counts as endless."""
LONGER = 30
"""The limit grows in proportion to the size of tensors above LARGE, up to this factor."""
DRAWS = 5
"""Three of four mutants are drawn again, up to this number of times, if the parser or a verifier rejects them."""
LARGE = 1 << 17
"""Largest number of elements of a tensor in a seed, because larger modules take long."""
MEMORY = 8 << 30
"""Limit of the address space of a campaign on the command line."""

NETWORK = """func.func @main(%x: tensor<1x3x8x8xf32> {dataflow.name = "x"})
    -> (tensor<1x10xf32> {dataflow.name = "y"}) {
  %k = dataflow.constant dense<0.25> : tensor<4x3x3x3xf32>
  %0 = dataflow.conv %x, %k strides [1, 1] dilations [1, 1] pad [1, 1] to [1, 1] groups 1
      : (tensor<1x3x8x8xf32>, tensor<4x3x3x3xf32>) -> tensor<1x4x8x8xf32>
  %1 = dataflow.relu %0 : (tensor<1x4x8x8xf32>) -> tensor<1x4x8x8xf32>
  %2 = dataflow.reshape %1 : (tensor<1x4x8x8xf32>) -> tensor<1x256xf32>
  %w = dataflow.constant dense<0.5> : tensor<256x10xf32>
  %b = dataflow.constant dense<[1.0, 2.0, 3.0, 4.0, 5.0, 0.0, 0.0, 0.0, -1.0, 0.0]> : tensor<10xf32>
  %3 = dataflow.matmul %2, %w : (tensor<1x256xf32>, tensor<256x10xf32>) -> tensor<1x10xf32>
  %4 = dataflow.add %3, %b : (tensor<1x10xf32>, tensor<10xf32>) -> tensor<1x10xf32>
  %5 = dataflow.reduce max %4 axes [1] : (tensor<1x10xf32>) -> tensor<1x1xf32>
  %6 = dataflow.sub %4, %5 : (tensor<1x10xf32>, tensor<1x1xf32>) -> tensor<1x10xf32>
  %7 = dataflow.exp %6 : (tensor<1x10xf32>) -> tensor<1x10xf32>
  func.return %7 : tensor<1x10xf32>
}
"""
TILED = "canonicalize,dataflow-to-manycore,manycore-tile{chip=tiny}"
LOWERED = {
    "sparse": "dataflow-prune{density=0.3 bound=100},sparse-select-encoding",
    "stashes": "memory-insert-offload{chip=tiny th_size=256 kinds=swap,compress format=bf16 bound=1}",
    "tasks": TILED,
    "subgraphs": "dataflow-to-manycore,manycore-outline-subgraphs{rule=key-nodes}",
    "buffers": f"{TILED},manycore-to-memory",
    "instructions": f"{TILED},manycore-to-memory,memory-to-coreasm",
}
"""Level -> passes that lower the network to it."""

Run = tuple[str, str]
"""(passes in the syntax of `-p`, target in the syntax of `-t` or ASSEMBLE)."""
ASSEMBLE = "assemble"
"""The target that writes an executable, as `meshloom-as` does, and reads it again."""
RUNS: dict[str, tuple[Run, ...]] = {
    "dataflow": (
        ("canonicalize,cse", "mlir"),
        ("dataflow-fold-affine,canonicalize", "mlir"),
        ("dataflow-split-to-fit{bytes=4096},dataflow-split-batch{parts=2}", "mlir"),
        ("dataflow-prune{density=0.3 bound=100},sparse-select-encoding", "mlir"),
        ("dataflow-prune{density=0.1 bound=100},dataflow-remove-zero-channels", "mlir"),
        ("memory-insert-offload{chip=tiny budget=0.8 kinds=swap,recompute}", "mlir"),
        (f"{TILED},manycore-schedule,manycore-to-memory", "mlir"),
        ("", "interpret"),
        ("", "emulate{chip=tiny}"),
    ),
    "sparse": (
        ("canonicalize,cse", "mlir"),
        ("sparse-prune-groups{weight_group_size=4 weight_threshold=0.5 weight_limit=2 bound=100}", "mlir"),
        ("sparse-split-inputs{chip=edge},sparse-balance-lanes{chip=edge}", "mlir"),
        ("sparse-pack{chip=edge},sparse-to-dataflow", "mlir"),
        ("sparse-pack{chip=tiny},dataflow-to-manycore,manycore-tile{chip=tiny},manycore-to-memory", "mlir"),
        ("", "interpret"),
        ("", "emulate{chip=tiny}"),
    ),
    "stashes": (("canonicalize,cse", "mlir"), ("", "interpret"), ("", "emulate{chip=tiny}")),
    "tasks": (
        ("canonicalize,cse", "mlir"),
        ("manycore-tile{chip=tiny},manycore-to-memory", "mlir"),
        ("manycore-split-reductions{chip=tiny}", "mlir"),
        ("manycore-place{chip=tiny},manycore-schedule{chip=tiny}", "mlir"),
        ("manycore-outline-subgraphs{rule=key-nodes},manycore-inline-subgraphs", "mlir"),
        ("manycore-to-memory", "interpret"),
        ("", "interpret"),
        ("", "emulate{chip=tiny}"),
    ),
    "subgraphs": (
        ("canonicalize,cse", "mlir"),
        ("manycore-inline-subgraphs,manycore-tile{chip=tiny},manycore-to-memory", "mlir"),
        ("manycore-inline-subgraphs,manycore-tile{chip=tiny},manycore-schedule{chip=tiny}", "mlir"),
        ("", "interpret"),
        ("", "emulate{chip=tiny}"),
    ),
    "buffers": (
        ("canonicalize,cse", "mlir"),
        ("memory-to-coreasm", "mlir"),
        ("memory-to-coreasm", ASSEMBLE),
        ("", "interpret"),
        ("", "emulate{chip=tiny}"),
    ),
    "coreasm": (
        ("canonicalize,cse", "mlir"),
        ("coreasm-unpack", "mlir"),
        ("coreasm-pack", "mlir"),
        ("coreasm-unpack,coreasm-pack", ASSEMBLE),
        ("", ASSEMBLE),
        ("", "interpret"),
        ("", "emulate"),
    ),
}
"""Level -> runs of its modules, besides parsing and printing; a run that rejects a seed is skipped for its mutants."""
LEVEL_OF = (
    ("coreasm", "coreasm."),
    ("buffers", "!memory.buffer"),
    ("stashes", "memory."),
    ("sparse", "sparse."),
    ("subgraphs", "manycore.subgraph"),
    ("tasks", "manycore.task"),
    ("dataflow", "dataflow."),
)
"""(level, word): the level of a module is the first one whose word it contains."""


EXPECTED = ("done", "refused", "not read", "no memory")
"""
Outcomes that are not findings: the run succeeded; a pass or a target, or the parser or a verifier, rejected the module;
values are too large for the memory, which the tools report as an error.
"""


class Unending(BaseException):
    """The time limit was exceeded. Not a subclass of Exception, so that no handler catches it."""


@dataclass(frozen=True)
class Outcome:
    """The outcome of a run: its kind (see EXPECTED), and a message."""

    kind: str
    words: str = ""
    seconds: float = 0.0

    @property
    def is_finding(self) -> bool:
        """Whether it indicates a defect."""
        return self.kind not in EXPECTED


@cache
def driver(passes: str, target: str) -> MeshloomOpt:
    """`meshloom-opt` with these options."""
    plugins = [word for path in _plugins() for word in ("--load-pass-plugin", str(path))]
    return MeshloomOpt(["-", "-p", passes, "-t", "mlir" if target == ASSEMBLE else target, *plugins])


@cache
def _plugins() -> tuple[Path, ...]:
    """Files with passes that tests load as plug-ins."""
    return tuple(
        sorted(
            {
                (path.parent / one).resolve()
                for path in FILECHECK.rglob("*.mlir")
                for one in re.findall(r"^// RUN: .*--load-pass-plugin %S/(\S+)", path.read_text(), re.MULTILINE)
            }
        )
    )


def run(text: str, passes: str = "", target: str = "mlir", seconds: float = SECONDS) -> Outcome:
    """Read, verify, transform and print a module as `meshloom-opt` does."""
    opt = driver(passes, target)
    read = False
    try:
        with _limited(seconds), redirect_stdout(StringIO()):
            module = opt.parse_text(BytesIO(text.encode()))
            verify_input(module, "input")
            read = True
            opt.apply_passes(module)
            if target == ASSEMBLE:
                _assemble(module)
            else:
                opt.output_resulting_program(module)
    except PassFailure as error:
        return Outcome("pass failed", str(error))
    except (MeshloomError, ParseError, DiagnosticException) as error:
        return Outcome("refused" if read else "not read", f"{type(error).__name__}: {error}")
    except MemoryError:  # The tools report this as an error of one line.
        return Outcome("no memory", traceback.format_exc())
    except Unending:
        return Outcome("no end", traceback.format_exc())
    except Exception:
        return Outcome("exception", traceback.format_exc())
    return Outcome("done")


def _assemble(module: ModuleOp) -> None:
    with tempfile.NamedTemporaryFile(suffix=".mlx") as file:
        write_executable(coreasm_to_executable(module), file.name)
        read_executable(file.name)


@contextmanager
def _limited(seconds: float) -> Generator[None]:
    def over(number: int, frame: FrameType | None) -> None:
        raise Unending

    before = signal.signal(signal.SIGPROF, over)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


@dataclass(frozen=True)
class Seed:
    """A valid module."""

    name: str
    text: str
    runs: tuple[Run, ...]
    """The runs of its level and those of its test."""

    def passes(self, passes: str, target: str) -> bool:
        """Whether a run of the unchanged module succeeds."""
        return _passes(self.text, passes, target)


@cache
def _passes(text: str, passes: str, target: str) -> bool:
    return run(text, passes, target).kind == "done"


def _modules() -> Iterator[tuple[str, str, tuple[Run, ...]]]:
    """(name, text, runs of its test without plug-ins) of all modules, valid or not, in a fixed order."""
    for path in sorted(FILECHECK.rglob("*.mlir")):
        text = path.read_text()
        commands = re.findall(r"^// RUN: meshloom-opt %s (?!.*%{plugin})(.*)", text, re.MULTILINE)
        runs = tuple(dict.fromkeys((_option("-p", one, ""), _option("-t", one, "mlir")) for one in commands))
        # Without comments, which would get most of the edits.
        for number, part in enumerate(text.split("// -----")):
            module = re.sub(r"[ \t]*//[^\n]*\n?", "", part).strip() + "\n"
            if "invalid" not in path.name and "errors" not in path.name and module.strip():
                yield f"{path.relative_to(FILECHECK)}:{number}", module, runs
    yield "network", NETWORK, ()
    for level, passes in LOWERED.items():
        yield f"network at {level}", printed(NETWORK, passes), ()


def _option(name: str, command: str, default: str) -> str:
    """The value of an option in a command line."""
    found = re.search(rf"{name} (?:'([^']*)'|(\S+))", command)
    return default if found is None else found[1] or found[2]


def printed(text: str, passes: str, generic: bool = False) -> str:
    """A module after passes, as text."""
    opt = driver(passes, "mlir")
    module = opt.parse_text(BytesIO(text.encode()))
    opt.apply_passes(module)
    opt.args.print_op_generic = generic
    try:
        return opt.output_resulting_program(module)
    finally:
        opt.args.print_op_generic = False


@cache
def seeds(level: str) -> tuple[Seed, ...]:
    """The valid modules of a level, in both syntaxes: those that can be parsed, verified and printed."""
    found: list[Seed] = []
    for name, text, own in _modules():
        if next((one for one, word in LEVEL_OF if word in text), None) != level or _largest(text) > LARGE:
            continue
        if run(text).kind == "done":
            runs = tuple(dict.fromkeys((("", "mlir"), *RUNS[level], *own)))
            found += [Seed(name, text, runs), Seed(f"{name} (generic)", printed(text, "", generic=True), runs)]
    return tuple(found)


def _largest(text: str) -> int:
    """Number of elements of the largest tensor type in a text."""
    return max((prod(map(int, dims.split("x")[:-1])) for dims in re.findall(r"<((?:\d+x)+)", text)), default=0)


@cache
def vocabulary(level: str) -> tuple[str, ...]:
    """The words of a level's modules."""
    pattern = re.compile(r'(?<![%@!#\w.])[A-Za-z_][A-Za-z_.]*\w|"[^"\n]*"|[#!][a-z][\w.]*|@[\w$.-]+')
    return tuple(sorted({word for seed in seeds(level) for word in pattern.findall(seed.text)}))


@dataclass(frozen=True)
class Mutant:
    """A changed module, and its run."""

    seed: str
    text: str
    passes: str
    target: str


def mutant(level: str, number: int, seed: int) -> Mutant:
    """The mutant with this number; equal arguments give equal mutants."""
    random = Random(f"{seed} {level} {number}")
    chosen = random.choice(seeds(level))
    runs = list(chosen.runs)
    passes, target = runs.pop(random.randrange(len(runs)))
    while not chosen.passes(passes, target):
        passes, target = runs.pop(random.randrange(len(runs)))
    mutator = Mutator(random, vocabulary(level))
    text = mutator.mutant(chosen.text)
    for _ in range(DRAWS if number % 4 else 0):
        if run(text).kind != "not read":
            break
        text = mutator.mutant(chosen.text)
    return Mutant(chosen.name, text, passes, target)


def campaign(level: str, numbers: Sequence[int], seed: int) -> Iterator[tuple[Mutant, Outcome]]:
    """Run the mutants of these numbers."""
    for number in numbers:
        one = mutant(level, number, seed)
        begin = time.process_time()
        longer = min(max(1, _largest(one.text) // LARGE), LONGER)
        outcome = run(one.text, one.passes, one.target, SECONDS * longer)
        yield one, replace(outcome, seconds=time.process_time() - begin)


def main() -> int:
    """Run a campaign. Returns 1 if there was a finding."""
    parser = argparse.ArgumentParser(description="Mutants of valid modules through passes, lowerings and targets.")
    parser.add_argument("--count", type=int, default=20_000, help="number of mutants, divided among the levels")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--level", choices=tuple(RUNS), action="append", help="only mutants of this level (repeatable)")
    parser.add_argument("--first", type=int, default=0, help="number of the first mutant of each level")
    parser.add_argument("--keep", type=Path, help="write the findings to this folder")
    options = parser.parse_args()
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    levels: list[str] = options.level or list(RUNS)
    total: Counter[str] = Counter()
    if options.keep:
        options.keep.mkdir(parents=True, exist_ok=True)
    tempfile.tempdir = str(options.keep) if options.keep else tempfile.mkdtemp()
    for index, level in enumerate(levels):
        share = options.count * (index + 1) // len(levels) - options.count * index // len(levels)
        begin, kinds, slowest = time.perf_counter(), Counter[str](), 0.0
        for number, (one, outcome) in enumerate(
            campaign(level, range(options.first, options.first + share), options.seed), options.first
        ):
            kinds[outcome.kind] += 1
            slowest = max(slowest, outcome.seconds)
            if outcome.seconds > SECONDS / 4:
                print(
                    f"slow: {level}-{number}: {one.seed}: -p '{one.passes}' -t '{one.target}': {outcome.seconds:.1f} s"
                )
            if outcome.is_finding:
                place = f"{level}-{number}"
                print(f"{place}: {one.seed}: -p '{one.passes}' -t '{one.target}': {outcome.kind}: {outcome.words}")
                if options.keep:
                    (options.keep / f"{place}.mlir").write_text(one.text)
        total += kinds
        seconds = round(time.perf_counter() - begin, 1)
        print(
            json.dumps(
                {"level": level, "seeds": len(seeds(level)), **kinds, "slowest": round(slowest, 1), "seconds": seconds}
            ),
            flush=True,
        )
    print(json.dumps({"mutants": options.count, **total}))
    return 1 if set(total) - set(EXPECTED) else 0


if __name__ == "__main__":
    sys.exit(main())
