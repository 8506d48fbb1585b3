"""Views of the values that tasks read and write, wherever these lie."""

from __future__ import annotations

from dataclasses import dataclass, field

from xdsl.ir import SSAValue

from ..analysis.planning.plan_network import NetworkPlan, storage_root
from ..analysis.planning.sram_layout import SramLayout
from ..dialects.dataflow.types import dtype_code, shape_of
from .buffers import Buffers
from .dram_layout import DramLayout
from .view import View


@dataclass
class Places:
    """Where every value is."""

    network: NetworkPlan
    dram: DramLayout
    sram: SramLayout
    _tiles: dict[SSAValue, Buffers] = field(default_factory=dict[SSAValue, Buffers])

    def __post_init__(self) -> None:
        self._producer = self.network.resident

    def in_dram(self, value: SSAValue) -> View:
        """A value that lies in DRAM, in its own shape."""
        return View.dense("dram", self.dram.addresses[storage_root(value)], dtype_code(value), shape_of(value))

    def tiles(self, value: SSAValue) -> Buffers:
        """Where the tiles of a value that stays in the cores lie, in the value's own shape."""
        found = self._tiles.get(value)
        if found is None:
            root = storage_root(value)
            producer = self._producer[root]
            seen = self.network.plans[producer].distribution.reshaped(shape_of(root), shape_of(value))
            if seen is None:
                raise AssertionError("values that are read in another shape are planned to lie in DRAM")
            found = self._tiles[value] = Buffers(self.sram.tile(producer), dtype_code(value), seen.arrays)
        return found
