"""
Synchronisation of values that tasks hand on through DRAM.

Cores that read one wait until all parts of it are stored. Addresses are used again within a launch: cores that write a
value wait until what lay there before has been read everywhere.
"""

from __future__ import annotations

from xdsl.ir import SSAValue

from ..analysis.planning.plan_network import NetworkPlan, storage_root
from .machine import Machine
from .places import Places
from .semaphores import Pair
from .view import View


class PassingValues:
    """The values of one launch, by the task that computes them."""

    def __init__(self, network: NetworkPlan, places: Places, machine: Machine) -> None:
        self._network, self._places, self._machine = network, places, machine
        self._writers = {
            info.result: sorted(core for core, box in plan.tiling.tile_boxes(info.sizes).items() if box.volume)
            for info, plan in zip(network.tasks, network.plans, strict=True)
            if not plan.resident
        }
        self._readers: dict[SSAValue, set[int]] = {}
        for info, plan in zip(network.tasks, network.plans, strict=True):
            for read in plan.reads:
                value = storage_root(info.operands[read.read.operand])
                if value in self._writers:
                    self._readers.setdefault(value, set()).update(read.whole)
        self._semaphores: dict[int, Pair] = {}
        """Task -> those with which its result is given room, and announced."""

    def take_room(self, number: int) -> None:
        """The cores of a task wait until nobody needs any more what lay where its result goes."""
        value = self._network.tasks[number].result
        writers = self._writers.get(value, [])
        users: dict[int, list[View]] = {}
        for before in self._places.dram.before.get(value, ()):
            for core in sorted(self._readers.get(before) or self._writers[before]):
                users.setdefault(core, []).append(self._places.in_dram(before))
        if users and not list(users) == writers == writers[:1]:
            pair = self._semaphores[number] = self._machine.take_semaphores()
            self._machine.make_room(users, writers, self._places.in_dram(value), pair[0])

    def announce(self, number: int) -> None:
        """Those that read the task's result may go on when all of it is stored."""
        value = self._network.tasks[number].result
        readers, writers = sorted(self._readers.get(value, ())), self._writers.get(value)
        pair = self._semaphores.pop(number, None)
        if readers and writers is not None:
            pair = self._machine.take_semaphores() if pair is None else pair
            self._machine.announce(writers, readers, self._places.in_dram(value), pair[1])
        if pair is not None:
            self._machine.release_semaphores(pair)
