"""Instruction selection: one kernel per family of operations (see `select.py` for the table)."""

from .select import DRAM_OPERANDS, KERNELS, kernel_of

__all__ = ["DRAM_OPERANDS", "KERNELS", "kernel_of"]
