"""Views of the values that tasks read and write, wherever these lie."""

from __future__ import annotations

from dataclasses import dataclass, field

from xdsl.ir import SSAValue

from ..analysis.planning.plan_network import NetworkPlan, storage_root
from ..analysis.planning.sram_layout import SramLayout
from ..analysis.planning.storage import Distribution
from ..dialects.dataflow.types import dtype_code, shape_of
from .dram_layout import DramLayout
from .view import View


@dataclass
class Places:
    """Where every value is."""

    network: NetworkPlan
    dram: DramLayout
    sram: SramLayout
    _distributions: dict[SSAValue, Distribution] = field(default_factory=dict[SSAValue, Distribution])

    def __post_init__(self) -> None:
        self._producer = self.network.resident

    def in_dram(self, value: SSAValue) -> View:
        """A value that lies in DRAM, in its own shape."""
        return View.dense("dram", self.dram.addresses[storage_root(value)], dtype_code(value), shape_of(value))

    def distribution(self, value: SSAValue) -> Distribution | None:
        """How a value is spread over the cores, in its own shape; None if it lies in DRAM."""
        root = storage_root(value)
        producer = self._producer.get(root)
        if producer is None:
            return None
        if value not in self._distributions:
            held = self.network.plans[producer].distribution
            seen = held.reshaped(shape_of(root), shape_of(value))
            if seen is None:
                raise AssertionError("values that are read in another shape are planned to lie in DRAM")
            self._distributions[value] = seen
        return self._distributions[value]

    def tile(self, value: SSAValue, core: int) -> View:
        """The tile of a spread value on a core, in the value's own shape."""
        distribution = self.distribution(value)
        if distribution is None:
            raise AssertionError("only values in the cores have tiles")
        address = self.sram.tile(self._producer[storage_root(value)])
        return View.dense("sram", address, dtype_code(value), distribution.boxes[core].sizes)
