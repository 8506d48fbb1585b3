"""Subgraphs on the command line: the options that `meshloom-compile` takes, the log it writes, the list it prints."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ..support.files import write_atomically
from .progress import ERASE, Progress
from .table import table

if TYPE_CHECKING:
    from ..lowering.driver.compile_function import CompiledPart
    from ..lowering.options.subgraph_options import SubgraphOptions


def add_subgraph_options(parser: argparse.ArgumentParser) -> None:
    """Add `--subgraphs`, `--fuse`, `--jobs`, `--cache`, `--log`, and the options of the search."""
    group = parser.add_argument_group("division into subgraphs, and search")
    group.add_argument(
        "--subgraphs",
        default="auto",
        metavar="auto|whole|RULE,...",
        help="auto: one subgraph, with a split of those that do not fit; whole: one subgraph, or an error; or a rule "
        "with settings by which to split first: "
        "data-outputs, fewest-bytes,parts=4, key-nodes,at-least=2, weight-bytes,weight-bytes=N, named,names=OPERATOR",
    )
    group.add_argument(
        "--fuse",
        default="auto",
        metavar="STRATEGY",
        help="fuse neighbouring subgraphs: auto (those that were split because they failed, if not slower), "
        "none, pairs, forward, bidirectional, grow, grow-bidirectional, optimal (by emulated cycles), or grouped with "
        "bounds: grouped,max-tasks=64,min-macs=N,max-weight-bytes=N",
    )
    group.add_argument(
        "--effort",
        choices=("fast", "default", "high"),
        default="default",
        help="effort of the search: fast compares estimates without emulation, high tries more variants",
    )
    group.add_argument(
        "--order",
        default="searched",
        metavar="program|searched|METHOD",
        help="order of tasks: program, as in the model; searched (the default), or by one METHOD: segments, random, "
        "anneal, mcts, exhaustive; an order from a search is used only if it is faster",
    )
    group.add_argument(
        "--stop-at",
        metavar="CYCLES",
        help="stop the search for a subgraph at the first order, or other variant, of at most CYCLES",
    )
    group.add_argument(
        "--placement",
        default="searched",
        metavar="searched|METHOD",
        help="placement of tiles on cores: the fastest of several (the default), or by one METHOD of pass "
        "manycore-place: planned, row-major, random, greedy, hilbert, relaxed, anneal, matched, literal, hops, "
        "multicast",
    )
    group.add_argument(
        "--jobs",
        type=int,
        metavar="N",
        help="number of processes that compile subgraphs (default: number of processors)",
    )
    group.add_argument(
        "--cache",
        nargs="?",
        const="",
        metavar="DIR",
        help="cache compiled subgraphs in DIR; without DIR: in the user's cache folder",
    )
    group.add_argument(
        "--log", type=Path, metavar="FILE", help="write the log of the search: variants, failures and their reasons"
    )


def read_subgraph_options(options: argparse.Namespace) -> SubgraphOptions:
    """The driver's options. Raises InputError for invalid values."""
    from ..lowering.cache.compile_cache import default_folder
    from ..lowering.options.effort import find_effort, with_order, with_placement
    from ..lowering.options.subgraph_options import SubgraphOptions, default_jobs, parse_subgraphs

    rule, split_failures = parse_subgraphs(options.subgraphs)
    jobs = default_jobs() if options.jobs is None else options.jobs
    cache = None if options.cache is None else Path(options.cache) if options.cache else default_folder()
    effort = with_order(find_effort(options.effort), options.order, options.stop_at)
    effort = with_placement(effort, options.placement)
    return SubgraphOptions(rule, split_failures, options.fuse, jobs, cache, effort)


class LogLines:
    """Collects the lines of the log, prints them to stderr from the first failure on, and writes the file."""

    def __init__(self, file: Path | None, progress: Progress, quiet: bool) -> None:
        self.file, self.progress, self.quiet = file, progress, quiet
        self.lines: list[str] = []
        self._failed = False

    def __call__(self, line: str) -> None:
        """Add a line."""
        self.lines.append(line)
        self._failed = self._failed or "does not" in line
        if self._failed and not self.quiet:
            erase = ERASE if self.progress.active else ""
            print(f"{erase}{line}", file=sys.stderr)

    def write(self) -> None:
        """Write the file if one was requested. Raises MeshloomError."""
        if self.file is not None:
            write_atomically(self.file, "".join(line + "\n" for line in self.lines))


def launch_sequence_table(parts: Sequence[CompiledPart]) -> str:
    """The launch sequence, with the resources of each subgraph."""
    rows = [("subgraph", "operators", "tasks", "cycles (estimate)", "SRAM per core", "DRAM", "weights", "")]
    rows += [
        (
            part.label, f"{part.operators}", f"{len(part.code.tasks)}", f"{part.code.estimated_cycles:,}",
            f"{part.code.sram_peak:,}", f"{part.code.dram_bytes:,}",
            f"{part.weight_bytes:,}" + (" from host" if part.streamed else ""),
            f"{part.first} to {part.last}",
        )
        for part in parts
    ]  # fmt: skip
    return table(rows)
