"""
The text of a launch, the same in listings and in the dialect: for each program, the cores that run it and the values of
its parameters.

    .run "worker" cores 0 to 2, 5 params 8192, 1
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .line_tokens import LineTokens, quote

MAX_CORES = 4096
_NO_VALUES = np.zeros(0, np.uint32)


@dataclass(frozen=True)
class Run:
    """Cores that run the same program with the same values of its parameters."""

    program: str
    cores: tuple[int, ...]
    values: NDArray[np.uint32]


def runs_of(programs: Sequence[str], params: Sequence[NDArray[np.uint32]]) -> list[Run]:
    """
    The runs of a launch, from the program and the values of each core; cores with equal ones are joined in one run.
    """
    groups: dict[tuple[str, bytes], list[int]] = {}
    for core, (program, values) in enumerate(zip(programs, params, strict=True)):
        groups.setdefault((program, np.ascontiguousarray(values, np.uint32).tobytes()), []).append(core)
    return [Run(program, tuple(cores), np.frombuffer(values, np.uint32)) for (program, values), cores in groups.items()]


def run_lines(runs: Sequence[Run], indent: int = 0) -> Iterator[str]:
    """The text of runs, one line each."""
    for run in runs:
        values: list[int] = run.values.tolist()
        given = f" params {', '.join(map(str, values))}" if values else ""
        yield f"{'  ' * indent}.run {quote(run.program)} cores {ranges(run.cores)}{given}"


def parse_run(tokens: LineTokens) -> Run:
    """Parse the rest of a line after `.run`. Raises LineError."""
    program = tokens.string("a program")
    tokens.expect("cores")
    members = parse_cores(tokens)
    if not tokens.keyword("params"):
        return Run(program, tuple(members), _NO_VALUES)
    values = [tokens.integer("a value", 0, (1 << 32) - 1)]
    while tokens.punctuation(","):
        values.append(tokens.integer("a value", 0, (1 << 32) - 1))
    return Run(program, tuple(members), np.array(values, np.uint32))


def ranges(numbers: Sequence[int]) -> str:
    """The text of ascending numbers, as `0 to 3, 7`."""
    found: list[list[int]] = []
    for number in numbers:
        if found and found[-1][1] + 1 == number:
            found[-1][1] = number
        else:
            found.append([number, number])
    return ", ".join(str(a) if a == b else f"{a} to {b}" for a, b in found)


def parse_cores(tokens: LineTokens) -> list[int]:
    """Parse core numbers in the syntax of `ranges`; the list may be empty at the end of a line. Raises LineError."""
    cores: list[int] = []
    if tokens.at == len(tokens.kinds):
        return cores
    while True:
        first = tokens.integer("a core", 0, MAX_CORES - 1)
        last = tokens.integer("a core", first, MAX_CORES - 1) if tokens.keyword("to") else first
        cores.extend(range(first, last + 1))
        if not tokens.punctuation(","):
            return cores
