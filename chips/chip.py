"""The chip description: all hardware parameters that cost models, capacity checks and the emulator use."""

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
"""Positions of the input caches relative to the mapping unit."""
MAP_LANES = ("own", "joined")
"""How stored weights are assigned to the lanes of a matrix unit."""


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
    """Per element of an index that the mapping unit reads."""


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
    Position of the input caches, one of `MAP_CACHES` (spec 5, claims 3 and 4): "before" the mapping unit, which then
    maps at each use, or "after" it, so that they keep data that was mapped once for an instruction.
    """
    map_bytes_per_cycle: int
    """Bandwidth between SRAM and the mapping unit, per operand."""
    map_direct_bits: int
    """Positions of direct indices that the mapping unit reads per cycle, for all lanes together."""
    map_stride_codes: int
    """Entries of stride indices that it reads per cycle, for all lanes together."""
    map_encode_elements: int
    """Elements that its encoder reads per cycle."""
    energy: Energy
    unusable_cores: tuple[int, ...] = ()
    map_lanes: str = "own"
    """
    How the stored weights of a block are assigned to the columns of the matrix unit (its lanes), one of `MAP_LANES`:
    "own", where each lane holds the weights of its own output neurons, or "joined", where the lanes together hold the
    weights in the order of memory, and sums continue from one lane to the next.
    """
    source: str = ""
    """Source of the parameters, for descriptions of published chips."""
    added: tuple[tuple[str, Value], ...] = ()
    """(key, value) of the keys of plug-ins in the description, sorted by name (`added_keys.py`)."""

    def __hash__(self) -> int:
        # A cheap hash, as caches look up chips often; chips that differ in other fields only are compared.
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
        """The description as a table of TOML or JSON."""
        found = asdict(self)
        return found | dict(found.pop("added"))

    @property
    def fingerprint(self) -> str:
        """SHA-256 (hex) of the description: an executable runs only on the chip that it was compiled for."""
        return hashlib.sha256(json.dumps(self.table, sort_keys=True).encode()).hexdigest()
