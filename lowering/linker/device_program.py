"""
A whole program for a chip, as plain data: launches with their places in DRAM, what lies where before the run, and what
the controller does in which order. Linking makes it; `write_program` says it as operations of the `memory` level.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from xdsl.dialects.builtin import LocationAttr
from xdsl.dialects.func import FuncOp

from ...dialects.dataflow import ConstantOp, WeightOp
from ...emulator.executable.executable import TensorInfo
from .controller import Action


@dataclass(frozen=True)
class PlacedLaunch:
    """A launch at its places."""

    name: str
    function: FuncOp
    """A function on buffers that have no addresses yet, one a segment but the last, with the launch in it."""
    tasks: tuple[str, ...]
    """The network's names of its tasks."""
    segments: tuple[int, ...]
    """DRAM address of each segment; of the last, where what stays within the launch lies."""
    operators: int
    """Number of the network's operators that it carries out."""
    locations: tuple[LocationAttr, ...] = ()
    """The network's, where those of the function are numbers (see `part_locations`)."""


@dataclass(frozen=True)
class Datum:
    """Constants that lie in a memory from before the run, one after the other, each padded."""

    space: Literal["dram", "host"]
    address: int
    constants: tuple[ConstantOp | WeightOp, ...]


@dataclass(frozen=True)
class DeviceProgram:
    """Everything that an executable is made of."""

    launches: tuple[PlacedLaunch, ...]
    actions: tuple[Action, ...]
    """The actions of the controller, in order."""
    data: tuple[Datum, ...]
    tensors: tuple[TensorInfo, ...]
    """Inputs and outputs, in the order of the function's arguments and results."""
    kept: tuple[tuple[int, int], ...] = ()
    """(host address, bytes) of areas in which the controller keeps values for a while."""
    notes: Mapping[str, str] = field(default_factory=dict[str, str])
