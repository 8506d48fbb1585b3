"""Instruction selection: one kernel per family of operations (see `select.py` for the table)."""

from .common import Tile
from .select import DRAM_OPERANDS, KERNELS, select_tile

__all__ = ["DRAM_OPERANDS", "KERNELS", "Tile", "select_tile"]
