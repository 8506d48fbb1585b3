"""The chip description: every hardware number that costs, capacities and the emulator use."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any

from .added_keys import Value

RATES = {"f32": 1, "f16": 2, "bf16": 2, "i8": 4}
"""Multiply-accumulates and vector operations per cycle and lane, relative to f32, by element type."""

MAP_CACHES = ("before", "after")
"""Places of the input caches relative to the mapping unit."""
MAP_LANES = ("own", "joined")
"""Ways in which stored weights fill the lanes of a matrix unit."""


@dataclass(frozen=True)
class Energy:
    """Energy per event, in picojoules."""

    mac_f32: float
    vpu_op: float
    sram_byte: float
    noc_byte_hop: float
    dram_byte: float
    host_byte: float
    map_index: float
    """An element of an index that the mapping unit looks at."""


@dataclass(frozen=True)
class Chip:
    """A mesh of `rows` x `cols` cores; core number = y * cols + x. Sizes in bytes, times in cycles, rates per cycle."""

    name: str
    rows: int
    cols: int
    clock_ghz: float
    mpu_rows: int
    mpu_cols: int
    vpu_lanes: int
    sram_bytes: int
    sram_bytes_per_cycle: int
    """Per unit and operand."""
    link_bytes_per_cycle: int
    hop_cycles: int
    noc_packet_bytes: int
    dram_bytes: int
    dram_bytes_per_cycle: int
    dram_latency: int
    dram_ports: int
    dram_burst: int
    host_bytes_per_cycle: int
    host_latency: int
    queue_depth: int
    semaphores: int
    map_caches: str
    """
    Where the input caches stand, one of `MAP_CACHES` (spec 5, claims 3 and 4): "before" the mapping unit, which maps at
    each use, or "after" it, which keeps what was mapped once for an instruction.
    """
    map_bytes_per_cycle: int
    """Between SRAM and the mapping unit, per operand."""
    map_direct_bits: int
    """Positions of direct indices that the mapping unit looks at, for all lanes together."""
    map_stride_codes: int
    """Entries of stride indices that it looks at, for all lanes together."""
    map_encode_elements: int
    """Elements that its encoder looks at."""
    energy: Energy
    unusable_cores: tuple[int, ...] = ()
    map_lanes: str = "own"
    """
    How the stored weights of a block fill the columns of the matrix unit (its lanes), one of `MAP_LANES`: "own", where
    a lane holds those of output neurons of its own, or "joined", where all hold them one after the other, as they lie
    in memory, and sums go on from one lane to the next.
    """
    source: str = ""
    """Where the numbers come from, for descriptions of published chips."""
    added: tuple[tuple[str, Value], ...] = ()
    """Keys of plug-ins that the description gives, in the order of their names (`added_keys.py`)."""

    def __hash__(self) -> int:
        # Caches look up chips often; those that differ in other numbers only are told apart by comparison.
        return hash((self.rows, self.cols, self.sram_bytes, self.link_bytes_per_cycle, self.dram_bytes_per_cycle))

    @property
    def cores(self) -> int:
        return self.rows * self.cols

    @cached_property
    def usable_cores(self) -> tuple[int, ...]:
        """Core numbers that may be given work, ascending."""
        broken = set(self.unusable_cores)
        return tuple(core for core in range(self.cores) if core not in broken)

    @property
    def table(self) -> dict[str, Any]:
        """The description, as TOML or JSON has it."""
        found = asdict(self)
        return found | dict(found.pop("added"))

    @property
    def fingerprint(self) -> str:
        """SHA-256 (hex) over all numbers: an executable runs only on the chip that it was compiled for."""
        return hashlib.sha256(json.dumps(self.table, sort_keys=True).encode()).hexdigest()
