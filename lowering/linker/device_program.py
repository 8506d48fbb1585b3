"""
A whole program for a chip as plain data: launches with their addresses in DRAM, initial contents of memories, and the
actions of the controller in order. Linking creates it; `write_program` writes it as operations of the `memory` level.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from xdsl.dialects.builtin import LocationAttr
from xdsl.dialects.func import FuncOp

from ...dialects.dataflow import ConstantOp, WeightOp
from ...emulator.executable.executable import TensorInfo
from ..launch.result_values import Values
from .controller import Action


@dataclass(frozen=True)
class PlacedLaunch:
    """A launch with its addresses in DRAM."""

    name: str
    function: FuncOp
    """A function with the launch, on buffers without addresses, one for each segment but the last."""
    tasks: tuple[str, ...]
    """The network's names of its tasks."""
    segments: tuple[int, ...]
    """DRAM address of each segment; the last one holds the values internal to the launch."""
    operators: int
    """Number of the network's operators that it executes."""
    locations: tuple[LocationAttr, ...] = ()
    """The network's locations, where those of the function are numbers (see `numbered_locations`)."""
    values: tuple[Values, ...] = ()
    """By task, the values of the network that its result represents."""


@dataclass(frozen=True)
class ConstantBlock:
    """Constants in the initial contents of a memory, one after the other from `address` on, each padded."""

    space: Literal["dram", "host"]
    address: int
    constants: tuple[ConstantOp | WeightOp, ...]


@dataclass(frozen=True)
class DeviceProgram:
    """The contents of an executable."""

    launches: tuple[PlacedLaunch, ...]
    actions: tuple[Action, ...]
    """The actions of the controller, in order."""
    data: tuple[ConstantBlock, ...]
    tensors: tuple[TensorInfo, ...]
    """Inputs and outputs, in the order of the function's arguments and results."""
    kept: tuple[tuple[int, int], ...] = ()
    """(host address, bytes) of areas in which the controller keeps values temporarily."""
    notes: Mapping[str, str] = field(default_factory=dict[str, str])
