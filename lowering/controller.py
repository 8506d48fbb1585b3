"""
The controller's program: copies between host and DRAM around and beside the launches.

After the start of launch i it begins to copy in what launch i + 1 needs and what has room; after the end of launch i,
what leaves. It waits for a copy in before the launch that needs it, for a copy out before its place is used again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from numpy.typing import NDArray

from ..dialects.coreasm.encoding import new_words
from ..dialects.coreasm.isa import OPCODE
from .stream import split_address

_TAGS = 1 << 16


@dataclass(frozen=True)
class Copy:
    """Bytes between DRAM and host memory."""

    to_device: bool
    dram: int
    host: int
    nbytes: int


@dataclass
class Boundary:
    """What is copied around one launch."""

    before: list[Copy] = field(default_factory=list[Copy])
    """In, and waited for, before the launch."""
    beside: list[Copy] = field(default_factory=list[Copy])
    """In for the next launch, while this one runs."""
    after: list[Copy] = field(default_factory=list[Copy])
    """Out when the launch is done, and waited for before the next one."""
    after_beside: list[Copy] = field(default_factory=list[Copy])
    """Out when the launch is done, while the next one runs."""


class _Program:
    def __init__(self) -> None:
        self.steps: list[tuple[str, int, Copy | None]] = []
        self._next = 0

    def start(self, copies: list[Copy]) -> int | None:
        """Begin the copies; the tag to wait for, None if there is nothing to copy."""
        copies = [copy for copy in copies if copy.nbytes]
        if not copies:
            return None
        tag = self._next % _TAGS
        self._next += 1
        self.steps += [("ctl.h2d" if copy.to_device else "ctl.d2h", tag, copy) for copy in copies]
        return tag

    def wait(self, tag: int | None) -> None:
        if tag is not None:
            self.steps.append(("ctl.wait", tag, None))

    def words(self) -> NDArray[Any]:
        steps = [*self.steps, ("ctl.halt", 0, None)]
        words = new_words(len(steps))
        for word, (name, imm, copy) in zip(words, steps, strict=True):
            word["op"], word["imm"] = OPCODE[name], imm
            if copy is not None:
                word["addr"] = (*split_address(copy.dram), *split_address(copy.host))
                word["desc"] = [copy.nbytes >> (16 * k) & 0xFFFF for k in range(4)]
        return words


def stepwise_program(steps: Sequence[Copy | None], waits: Sequence[Sequence[int]]) -> NDArray[Any]:
    """
    The program (WORD) of launches (None; numbered as they come, each once) and copies in one order; `waits`: for each
    step the numbers of those that have to be complete before it begins.

    Copies that go the same way end in the order in which they begin: with one, those before it are waited for.
    """
    program = _Program()
    tags: dict[bool, list[tuple[int, int | None]]] = {True: [], False: []}
    launches: dict[int, int] = {}
    joined = -1

    def join(launch: int) -> None:
        nonlocal joined
        if launch > joined:
            program.steps.append(("ctl.join", launch, None))
            joined = launch

    def copies(way: bool, upto: int) -> None:
        while tags[way] and tags[way][0][0] <= upto:
            program.wait(tags[way].pop(0)[1])

    for number, (step, before) in enumerate(zip(steps, waits, strict=True)):
        for one in before:
            copy = steps[one]
            if copy is None:
                join(launches[one])
            else:
                copies(copy.to_device, one)
        if step is None:
            launches[number] = len(launches)
            program.steps.append(("ctl.launch", launches[number], None))
        else:
            tags[step.to_device].append((number, program.start([step])))
    if launches:
        join(len(launches) - 1)
    for way in (True, False):
        copies(way, len(steps))
    return program.words()


def controller_program(launches: list[Boundary]) -> NDArray[Any]:
    """The program (WORD) that runs the launches in order, each once, with their copies."""
    program = _Program()
    inward: int | None = None
    leaving: int | None = None
    for number, launch in enumerate(launches):
        program.wait(inward)
        program.wait(program.start(launch.before))
        program.steps.append(("ctl.launch", number, None))
        inward = program.start(launch.beside)
        program.steps.append(("ctl.join", number, None))
        program.wait(leaving)
        now = program.start(launch.after)
        leaving = program.start(launch.after_beside)
        program.wait(now)
    program.wait(inward)
    program.wait(leaving)
    return program.words()
