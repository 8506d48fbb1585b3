"""Checks of the controller's accesses to host memory by copies."""

from __future__ import annotations

from dataclasses import dataclass, field

from ...executable.executable import Executable
from ...executable.host import ControllerStep
from ...machine.errors import EmulationError


@dataclass
class HostChecks:
    """Checks that no copy of the controller reads unwritten host memory, or conflicts with a copy in progress."""

    exe: Executable
    _written: list[tuple[int, int]] = field(default_factory=list[tuple[int, int]])
    """Ranges of bytes that have values, disjoint and ascending."""
    _under_way: list[tuple[int, int, int, bool]] = field(default_factory=list[tuple[int, int, int, bool]])
    """(tag, first byte, one past the last, whether host memory is written) of copies not waited for yet."""

    def __post_init__(self) -> None:
        exe = self.exe
        for info in exe.inputs:
            self._write(info.host_address, info.host_address + info.nbytes)
        self._write(exe.host_weights_address, exe.host_weights_address + exe.host_weight_bytes)

    def follow(self, step: ControllerStep, where: str) -> None:
        """Check one word of the controller's program; `where` names it. Raises EmulationError."""
        if step.mnemonic == "ctl.wait":
            self._under_way = [copy for copy in self._under_way if copy[0] != step.number]
        if step.mnemonic not in ("ctl.h2d", "ctl.d2h") or not step.nbytes:
            return
        writes = step.mnemonic == "ctl.d2h"
        low = step.target if writes else step.source
        high = low + step.nbytes
        for _, start, end, written in self._under_way:
            if (writes or written) and start < high and low < end:
                raise EmulationError(f"{where}: race in host memory with a copy that has not been waited for")
        if writes:
            self._write(low, high)
        elif (missing := self._first_unwritten(low, high)) < high:
            raise EmulationError(f"{where}: reads byte {missing} of host memory, which has not been written")
        self._under_way.append((step.number, low, high, writes))

    def _write(self, low: int, high: int) -> None:
        if low >= high:
            return
        touching = [pair for pair in self._written if pair[0] <= high and low <= pair[1]]
        low, high = min([low, *(pair[0] for pair in touching)]), max([high, *(pair[1] for pair in touching)])
        self._written = sorted([*(pair for pair in self._written if pair not in touching), (low, high)])

    def _first_unwritten(self, low: int, high: int) -> int:
        for start, end in self._written:
            if start <= low < end:
                return min(end, high)
        return low
