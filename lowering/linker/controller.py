"""
The controller's program: copies between host and DRAM before, after and concurrent with the launches. After the start
of launch i it begins to copy in data of launch i + 1 as far as they fit; after the end of launch i, it copies out
results and spilled values. It waits for a copy in before the launch that needs it, for a copy out before its bytes are
reused.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from numpy.typing import NDArray

from ...dialects.coreasm.encoding import new_words
from ...dialects.coreasm.isa import OPCODE
from ..codegen.stream import split_address

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
    """The copies before and after one launch."""

    before: list[Copy] = field(default_factory=list[Copy])
    """Copies in, before the launch, which waits for them."""
    beside: list[Copy] = field(default_factory=list[Copy])
    """Copies in for the next launch, while this one runs."""
    after: list[Copy] = field(default_factory=list[Copy])
    """Copies out after the launch; the next launch waits for them."""
    after_beside: list[Copy] = field(default_factory=list[Copy])
    """Copies out after the launch, while the next one runs."""


@dataclass(frozen=True)
class Start:
    """Begin copies, one after the other."""

    tag: int
    """Tag of a later wait; tags are reused after 2^16 others."""
    copies: tuple[Copy, ...]


@dataclass(frozen=True)
class Wait:
    """Wait for the copies of a tag."""

    tag: int


@dataclass(frozen=True)
class Begin:
    """Start a launch, by number."""

    launch: int


@dataclass(frozen=True)
class Join:
    """Wait until a launch has ended."""

    launch: int


Action: TypeAlias = Start | Wait | Begin | Join


class _Actions:
    def __init__(self) -> None:
        self.all: list[Action] = []
        self._next = 0

    def start(self, copies: Sequence[Copy]) -> int | None:
        """Begin the copies. Returns the tag to wait for, None if there is nothing to copy."""
        copies = tuple(copy for copy in copies if copy.nbytes)
        if not copies:
            return None
        tag = self._next % _TAGS
        self._next += 1
        self.all.append(Start(tag, copies))
        return tag

    def wait(self, tag: int | None) -> None:
        if tag is not None:
            self.all.append(Wait(tag))


def controller_words(actions: Sequence[Action]) -> NDArray[Any]:
    """The controller's program (WORD)."""
    steps: list[tuple[str, int, Copy | None]] = []
    for action in actions:
        match action:
            case Start(tag, copies):
                steps += [("ctl.h2d" if copy.to_device else "ctl.d2h", tag, copy) for copy in copies]
            case Wait(tag):
                steps.append(("ctl.wait", tag, None))
            case Begin(launch):
                steps.append(("ctl.launch", launch, None))
            case Join(launch):
                steps.append(("ctl.join", launch, None))
    steps.append(("ctl.halt", 0, None))
    words = new_words(len(steps))
    for word, (name, imm, copy) in zip(words, steps, strict=True):
        word["op"], word["imm"] = OPCODE[name], imm
        if copy is not None:
            word["addr"] = (*split_address(copy.dram), *split_address(copy.host))
            word["desc"] = [copy.nbytes >> (16 * k) & 0xFFFF for k in range(4)]
    return words


def stepwise_actions(steps: Sequence[Copy | None], waits: Sequence[Sequence[int]]) -> list[Action]:
    """
    Launches (None; numbered in order, each once) and copies in one order; `waits`: for each step the numbers of the
    steps that have to be complete before it begins.

    Copies in one direction end in the order in which they begin: a wait for one also waits for the earlier ones.
    """
    actions = _Actions()
    tags: dict[bool, list[tuple[int, int | None]]] = {True: [], False: []}
    launches: dict[int, int] = {}
    joined = -1

    def join(launch: int) -> None:
        nonlocal joined
        if launch > joined:
            actions.all.append(Join(launch))
            joined = launch

    def copies(way: bool, upto: int) -> None:
        while tags[way] and tags[way][0][0] <= upto:
            actions.wait(tags[way].pop(0)[1])

    for number, (step, before) in enumerate(zip(steps, waits, strict=True)):
        for one in before:
            copy = steps[one]
            if copy is None:
                join(launches[one])
            else:
                copies(copy.to_device, one)
        if step is None:
            launches[number] = len(launches)
            actions.all.append(Begin(launches[number]))
        else:
            tags[step.to_device].append((number, actions.start([step])))
    if launches:
        join(len(launches) - 1)
    for way in (True, False):
        copies(way, len(steps))
    return actions.all


def boundary_actions(launches: Sequence[Boundary]) -> list[Action]:
    """The launches in order, each once, with their copies."""
    actions = _Actions()
    inward: int | None = None
    leaving: int | None = None
    for number, launch in enumerate(launches):
        actions.wait(inward)
        actions.wait(actions.start(launch.before))
        actions.all.append(Begin(number))
        inward = actions.start(launch.beside)
        actions.all.append(Join(number))
        actions.wait(leaving)
        now = actions.start(launch.after)
        leaving = actions.start(launch.after_beside)
        actions.wait(now)
    actions.wait(inward)
    actions.wait(leaving)
    return actions.all
