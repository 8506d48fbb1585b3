"""The entries of the instruction table for the sequencer, the data access unit, the network and the controller."""

from __future__ import annotations

from .encoding import Unit
from .instruction import (
    ALL_TYPES,
    COUNT_TYPES,
    INDEX_TYPES,
    NUMBERS,
    Cost,
    Family,
    Imm,
    Instruction,
    Operand,
    Scalar,
    Space,
    TypeOf,
    same,
    to,
)

_ALL = same(ALL_TYPES)
_D = Operand(0, "D", writes=True, reads=False)
_D_ACC = Operand(0, "D", writes=True, reads=True)
_S = Operand(1, "S")
_I2 = Operand(2, "I", type=TypeOf.DESTINATION)
_I3 = Operand(3, "I", type=TypeOf.DESTINATION)
_DRAM_S = Operand(1, "S", space=Space.DRAM, high=2)
_DRAM_D = Operand(0, "D", writes=True, reads=False, space=Space.DRAM, high=3)
_REMOTE_D = Operand(0, "D", writes=True, reads=False, space=Space.REMOTE)
_COUNT = Scalar(0, "n")
_ADDRESSES = (Scalar(0, "dram", wide=True), Scalar(2, "host", wide=True))

_SEQUENCER = (
    Instruction(
        "nop", 0x00, Unit.SEQ, Family.SEQUENCER, Cost.SEQUENCER, (), "nothing", function="nop",
    ),
    Instruction(
        "halt", 0x01, Unit.SEQ, Family.SEQUENCER, Cost.SEQUENCER, (), "ends the program", function="halt",
        doc="Always and only the last word of a program; the core is done when its queues are empty.",
    ),
    Instruction(
        "loop", 0x02, Unit.SEQ, Family.SEQUENCER, Cost.SEQUENCER, (), "the following `body` words run `count` times",
        scalars=(Scalar(0, "count"), Scalar(1, "body")), function="loop",
        doc="count and body are at least 1; bodies nest, 4 deep at most, and end within the enclosing one. The"
        " sequencer executes it at dispatch in one cycle; branching back costs no cycles.",
    ),
    Instruction(
        "addi", 0x03, Unit.SEQ, Family.SEQUENCER, Cost.SEQUENCER, (), "R[imm] += increment",
        scalars=(Scalar(0, "increment", signed=True),), imm=Imm.REGISTER, function="addi",
        doc="R0 stays 0: register 1 to 15. Registers are 64 bits wide and start at 0.",
    ),
    Instruction(
        "li", 0x04, Unit.SEQ, Family.SEQUENCER, Cost.SEQUENCER, (), "R[imm] = value",
        scalars=(Scalar(0, "value", signed=True),), imm=Imm.REGISTER, function="li",
        doc="The value is sign-extended from 32 bits. Register 1 to 15.",
    ),
    Instruction(
        "drain", 0x05, Unit.SEQ, Family.SEQUENCER, Cost.SEQUENCER, (), "waits until the core's units are idle",
        function="drain",
        doc="All earlier instructions of the core's units are then complete: later ones need no tokens for them.",
    ),
    Instruction(
        "lr", 0x06, Unit.SEQ, Family.SEQUENCER, Cost.SEQUENCER, (_S,), "waits as `drain`, then R[imm] = S",
        imm=Imm.REGISTER, types=same(COUNT_TYPES), function="lr",
        doc="S is one element. Register 1 to 15.",
    ),
    Instruction(
        "loop.r", 0x07, Unit.SEQ, Family.SEQUENCER, Cost.SEQUENCER, (), "the following `body` words run R[imm] times",
        scalars=(Scalar(0, "most"), Scalar(1, "body")), imm=Imm.REGISTER, function="loop.r",
        doc="As `loop`, but the count is read from a register: from 0, which skips the body, to `most`; any other "
            "value is an error. Timing without values takes `most`.",
    ),
    Instruction(
        "leave", 0x08, Unit.SEQ, Family.SEQUENCER, Cost.SEQUENCER, (), "ends the innermost loop if R[imm] is 0",
        imm=Imm.REGISTER, function="leave",
        doc="Execution continues after the body of that loop. Timing without values assumes that no loop ends this "
            "way.",
    ),
)  # fmt: skip

_MOVED_DOC = "D and S have equally many elements; both are walked in row-major order."
_GATHER_DOC = (
    "I has `imm` trailing dims of indices (type: high nibble); D's dims are those and then the inner ones. The"
    " outermost of the last 1 + inner dims of S is the indexed one, its size the number of rows. Negative indices count"
    " from the end; others out of range are an error."
)
_SCATTER_DOC = (
    "As gather with the roles of D and S exchanged: D's outermost dim is the indexed one. Repeated indices are written"
    " in row-major order of I."
)

_VECTOR = (
    Instruction(
        "iota", 0x7C, Unit.VPU, Family.IOTA, Cost.VECTOR, (_D,), "D[i] = start + step * row-major number of i in D",
        scalars=(Scalar(1, "start", signed=True), Scalar(2, "step", signed=True)), types=same(NUMBERS),
        function="iota", doc="start and step are i32; the result is converted to D's type.",
    ),
    Instruction(
        "cumsum", 0x7D, Unit.VPU, Family.CUMSUM, Cost.VECTOR, (_D, _S), "D = running sum of S along the last dim",
        types=same(NUMBERS), function="cumsum",
    ),
)  # fmt: skip

_ACCESS = (
    Instruction(
        "copy", 0x80, Unit.DAU, Family.COPY, Cost.COPY, (_D, _S), "D = S", types=_ALL, function="copy",
        doc=f"{_MOVED_DOC} Bits are moved as they are.",
    ),
    Instruction(
        "fill", 0x81, Unit.DAU, Family.FILL, Cost.FILL, (_D, Operand(1, "S", immediate=True, always_immediate=True)),
        "D = S", types=_ALL, function="fill",
    ),
    Instruction(
        "gather", 0x82, Unit.DAU, Family.GATHER, Cost.ROWS, (_D, _S, _I2), "D[i..., j...] = S[I[i...], j...]",
        imm=Imm.INDEX_DIMS, types=to(ALL_TYPES, *INDEX_TYPES), function="gather", doc=_GATHER_DOC,
    ),
    Instruction(
        "scatter", 0x83, Unit.DAU, Family.SCATTER, Cost.ROWS, (_D_ACC, _S, _I2), "D[I[i...], j...] = S[i..., j...]",
        imm=Imm.INDEX_DIMS, types=to(ALL_TYPES, *INDEX_TYPES), function="set", doc=_SCATTER_DOC,
    ),
    Instruction(
        "scatter.add", 0x84, Unit.DAU, Family.SCATTER, Cost.ROWS, (_D_ACC, _S, _I2),
        "D[I[i...], j...] += S[i..., j...]", imm=Imm.INDEX_DIMS, types=to(NUMBERS, *INDEX_TYPES), function="add",
        accumulates=True, doc=_SCATTER_DOC,
    ),
    Instruction(
        "scatter.max", 0x85, Unit.DAU, Family.SCATTER, Cost.ROWS, (_D_ACC, _S, _I2),
        "D[I[i...], j...] = max of itself and S[i..., j...]", imm=Imm.INDEX_DIMS, types=to(NUMBERS, *INDEX_TYPES),
        function="max", accumulates=True, doc=_SCATTER_DOC,
    ),
    Instruction(
        "load", 0x90, Unit.LOAD, Family.LOAD, Cost.DRAM, (_D, _DRAM_S), "D = S", types=_ALL, function="load",
        doc=f"S lies in DRAM at addr1 | addr2 << 32, plus its register. {_MOVED_DOC} The latency of DRAM overlaps "
            "with later loads.",
    ),
    Instruction(
        "load.gather", 0x91, Unit.LOAD, Family.LOAD_GATHER, Cost.DRAM, (_D, _DRAM_S, _I3),
        "D[i..., j...] = S[I[i...], j...]", imm=Imm.INDEX_DIMS, types=to(ALL_TYPES, *INDEX_TYPES), function="gather",
        doc="As gather, from DRAM at addr1 | addr2 << 32; I lies in SRAM.",
    ),
    Instruction(
        "store", 0xA0, Unit.STORE, Family.STORE, Cost.DRAM, (_DRAM_D, _S), "D = S", types=_ALL, function="store",
        doc=f"D lies in DRAM at addr0 | addr3 << 32, plus its register. {_MOVED_DOC}",
    ),
)  # fmt: skip

_NETWORK = (
    Instruction(
        "put", 0xB0, Unit.SEND, Family.PUT, Cost.PUT, (_REMOTE_D, _S), "D = S at every core of the set",
        imm=Imm.SEMAPHORE, types=_ALL, core_set=True, function="put",
        doc=f"{_MOVED_DOC} The semaphore `imm` of each destination rises by 1 when its data has been written. The "
            "sending core may be in the set. Tokens are signalled when the last byte has left; then the source may "
            "be overwritten.",
    ),
    Instruction(
        "signal", 0xB1, Unit.SEND, Family.SIGNAL, Cost.SIGNAL, (), "semaphore += 1 at every core of the set",
        imm=Imm.SEMAPHORE, core_set=True, function="signal",
    ),
    Instruction(
        "put.z", 0xB3, Unit.SEND, Family.PUT, Cost.PUT_ENCODED, (_REMOTE_D, _S),
        "D = S at every core of the set, transferred without zeros", scalars=(Scalar(3, "bytes"),),
        imm=Imm.SEMAPHORE, types=_ALL, core_set=True, function="put",
        doc="As `put`, and D is the same to the last bit. The sender's mapping unit reads S and sends a direct "
            "index and the elements that are not all zero bits; the receivers' mapping units insert the zeros. "
            "`bytes` is the expected number of bytes sent, for timing without values; nothing else uses it.",
    ),
    Instruction(
        "send.wait", 0xB2, Unit.SEND, Family.WAIT, Cost.WAIT, (), "waits until semaphore >= n, then semaphore -= n",
        scalars=(_COUNT,), imm=Imm.SEMAPHORE, function="wait", doc="In SEND's queue: credits from receivers.",
    ),
    Instruction(
        "ready", 0xC0, Unit.RECV, Family.SIGNAL, Cost.SIGNAL, (), "semaphore += 1 at every core of the set",
        imm=Imm.SEMAPHORE, core_set=True, function="signal", doc="In RECV's queue: a credit to senders.",
    ),
    Instruction(
        "wait", 0xC1, Unit.RECV, Family.WAIT, Cost.WAIT, (), "waits until semaphore >= n, then semaphore -= n",
        scalars=(_COUNT,), imm=Imm.SEMAPHORE, function="wait", doc="In RECV's queue: data from senders.",
    ),
)  # fmt: skip

_CONTROLLER = (
    Instruction(
        "ctl.halt", 0xF0, Unit.CTL, Family.CONTROLLER, Cost.NONE, (), "ends the run", function="halt",
        doc="Always and only the last word of the controller's program.",
    ),
    Instruction(
        "ctl.h2d", 0xF1, Unit.CTL, Family.CONTROLLER, Cost.HOST, (), "starts copying `bytes` from host to DRAM",
        scalars=_ADDRESSES, imm=Imm.TAG, byte_count=True, function="h2d",
        doc="Asynchronous; desc[0..3] hold the 64-bit number of bytes.",
    ),
    Instruction(
        "ctl.d2h", 0xF2, Unit.CTL, Family.CONTROLLER, Cost.HOST, (), "starts copying `bytes` from DRAM to host",
        scalars=_ADDRESSES, imm=Imm.TAG, byte_count=True, function="d2h",
        doc="Asynchronous; desc[0..3] hold the 64-bit number of bytes.",
    ),
    Instruction(
        "ctl.wait", 0xF3, Unit.CTL, Family.CONTROLLER, Cost.NONE, (), "waits until all copies with the tag are done",
        imm=Imm.TAG, function="wait",
    ),
    Instruction(
        "ctl.launch", 0xF4, Unit.CTL, Family.CONTROLLER, Cost.NONE, (), "starts all cores' programs of the launch",
        imm=Imm.LAUNCH, function="launch",
    ),
    Instruction(
        "ctl.join", 0xF5, Unit.CTL, Family.CONTROLLER, Cost.NONE, (), "waits until the launch is done",
        imm=Imm.LAUNCH, function="join",
    ),
)  # fmt: skip

MOVE: tuple[Instruction, ...] = _SEQUENCER + _VECTOR + _ACCESS + _NETWORK + _CONTROLLER
