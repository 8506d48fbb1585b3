"""
The `coreasm` dialect: programs of cores, one op an instruction. Op classes are made from the instruction table.

    coreasm.program @worker descs [#coreasm.access<[16], [4]>] {
      coreasm.load f32 [0x0, d0], dram[0x1000, d0] signal(vpu)
      coreasm.loop count = 5 {
        coreasm.add f32 [0x40, d0], [0x0, d0], 1.5 wait(load) from "relu"
      }
      coreasm.halt
    }
"""

from __future__ import annotations

from xdsl.ir import Dialect

from .ops import INSTRUCTION_OPS, AccessAttr, LoopOp, ProgramOp

Coreasm = Dialect("coreasm", [ProgramOp, LoopOp, *INSTRUCTION_OPS.values()], [AccessAttr])
