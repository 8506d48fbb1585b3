"""Instruction selection: one kernel per family of operations (see `select.py` for the table)."""

from .common import Tile
from .select import DRAM_OPERANDS, KERNELS, kernel_of, placed_dims

__all__ = ["DRAM_OPERANDS", "KERNELS", "Tile", "kernel_of", "placed_dims"]
