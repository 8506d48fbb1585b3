"""The data types of the instruction table: the properties that an entry gives an instruction."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from .encoding import TypeCode, Unit


class Space(StrEnum):
    """The memory in which an operand lies."""

    SRAM = "sram"
    DRAM = "dram"
    REMOTE = "remote"
    """The SRAM of every core of the instruction's core set."""


class TypeOf(StrEnum):
    """The field that gives the element type of an operand."""

    SOURCE = "source"
    """Low nibble of `dtype`."""
    DESTINATION = "destination"
    """High nibble of `dtype`."""
    BOOL = "bool"
    F32 = "f32"


class Imm(StrEnum):
    """The meaning of the `imm` field."""

    NONE = "none"
    MATMUL_DIMS = "matmul dims"
    """nb | nm << 4 | nk << 8 | nn << 12: the numbers of batch, m, k and n dimensions."""
    REDUCED_DIMS = "reduced dims"
    """Number of trailing dimensions of A that are reduced, 1 to 5."""
    INDEX_DIMS = "index dims"
    """Number of trailing dimensions of the index descriptor that hold indices, 0 to 5."""
    SEMAPHORE = "semaphore"
    REGISTER = "register"
    TAG = "tag"
    LAUNCH = "launch"


class Cost(StrEnum):
    """The formula for an instruction's cycles."""

    NONE = "none"
    SEQUENCER = "sequencer"
    MATMUL = "matmul"
    VECTOR = "vector"
    COPY = "copy"
    FILL = "fill"
    ROWS = "rows"
    DRAM = "dram"
    PUT = "put"
    SIGNAL = "signal"
    WAIT = "wait"
    HOST = "host"
    SPARSE_MATMUL = "sparse matmul"
    ENCODE = "encode"
    DECODE = "decode"
    CONNECT = "connect"
    COMBINE = "combine"
    COMPACT = "compact"
    PUT_ENCODED = "put encoded"


DATA_DEPENDENT = frozenset(
    {
        Cost.SPARSE_MATMUL,
        Cost.ENCODE,
        Cost.DECODE,
        Cost.CONNECT,
        Cost.COMBINE,
        Cost.COMPACT,
        Cost.PUT_ENCODED,
    }
)
"""Costs that depend on the values of operands; `emulator/machine/costs_sparse.py` has their formulas."""


class Family(StrEnum):
    """A family of instructions that differ only in their scalar function."""

    SEQUENCER = "sequencer"
    MATMUL = "matmul"
    UNARY = "unary"
    BINARY = "binary"
    COMPARE = "compare"
    TERNARY = "ternary"
    REDUCE = "reduce"
    ARG_REDUCE = "arg_reduce"
    DOT = "dot"
    IOTA = "iota"
    CUMSUM = "cumsum"
    ROWS = "rows"
    COPY = "copy"
    FILL = "fill"
    GATHER = "gather"
    SCATTER = "scatter"
    LOAD = "load"
    LOAD_GATHER = "load_gather"
    STORE = "store"
    PUT = "put"
    SIGNAL = "signal"
    WAIT = "wait"
    CONTROLLER = "controller"
    SPARSE_MATMUL = "sparse_matmul"
    ENCODE = "encode"
    DECODE = "decode"
    CONNECT = "connect"
    COMBINE = "combine"
    COMPACT = "compact"


@dataclass(frozen=True)
class Operand:
    """An operand in memory: slot k uses `addr[k]`, `desc[k]` and bits 4k to 4k+3 of `regs`."""

    slot: int
    name: str
    writes: bool = False
    reads: bool = True
    space: Space = Space.SRAM
    type: TypeOf = TypeOf.SOURCE
    immediate: bool = False
    """Whether a source may be an immediate value."""
    always_immediate: bool = False
    """Whether a source is always an immediate value."""
    encoded: bool = False
    """Whether it is an encoded block (`formats/sparse/block.py`), whose layout the descriptor gives."""
    high: int | None = None
    """The slot whose address field holds the upper 32 bits of the address (operands in DRAM)."""


@dataclass(frozen=True)
class Scalar:
    """A number in an address field; `wide` ones have their upper 32 bits in the next slot's field."""

    slot: int
    name: str
    signed: bool = False
    wide: bool = False


@dataclass(frozen=True)
class Instruction:
    """One entry of the table."""

    mnemonic: str
    code: int
    unit: Unit
    family: Family
    cost: Cost
    operands: tuple[Operand, ...]
    semantics: str
    """One line that describes what it computes, with the operands' names."""
    scalars: tuple[Scalar, ...] = ()
    imm: Imm = Imm.NONE
    types: frozenset[tuple[TypeCode, TypeCode]] = frozenset()
    """Permitted pairs (source type, destination type); empty: the `dtype` field is unused (0)."""
    core_set: bool = False
    """Whether `desc[3]` is an index into the executable's core sets."""
    byte_count: bool = False
    """Whether `desc[0..3]` together are a 64-bit byte count, lowest 16 bits first."""
    factor: int = 1
    """Cycles per element relative to an addition (vector cost)."""
    function: str = ""
    """The scalar function within the family: `add`, `max`, ..."""
    accumulates: bool = False
    """Whether the destination is also read and combined with the result."""
    doc: str = ""

    @property
    def has_body(self) -> bool:
        """Whether the instruction is a loop over the words that follow it."""
        return self.function in ("loop", "loop.r")

    @property
    def destination(self) -> Operand | None:
        """The operand written, if any."""
        return next((o for o in self.operands if o.writes), None)

    @property
    def sources(self) -> tuple[Operand, ...]:
        """The operands that are only read, in order of their slots."""
        return tuple(o for o in self.operands if not o.writes)

    @property
    def used_addresses(self) -> frozenset[int]:
        """Slots whose address field is used."""
        used = {o.slot for o in self.operands} | {o.high for o in self.operands if o.high is not None}
        used |= {s.slot for s in self.scalars} | {s.slot + 1 for s in self.scalars if s.wide}
        return frozenset(used)


_T = TypeCode
FLOATS = (_T.F32, _T.F16, _T.BF16, _T.F64)
INTS = (_T.I8, _T.U8, _T.I16, _T.U16, _T.I32, _T.U32, _T.I64, _T.U64)
NUMBERS = FLOATS + INTS
ALL_TYPES = (*NUMBERS, _T.BOOL)
"""The types that instructions compute with."""
NARROW = (_T.F24, _T.F8E4M3, _T.F8E5M2)
"""Types in which values are stored only."""
INDEX_TYPES = (_T.I32, _T.I64)
COUNT_TYPES = (_T.I32, _T.I64, _T.BOOL)
"""Types of counts and conditions that the sequencer reads."""

TypePairs = frozenset[tuple[TypeCode, TypeCode]]


def same(types: Iterable[TypeCode]) -> TypePairs:
    """Pairs in which source and destination have the same type."""
    return frozenset((t, t) for t in types)


def to(types: Iterable[TypeCode], *destinations: TypeCode) -> TypePairs:
    """All pairs of a source type of `types` and a destination type of `destinations`."""
    sources = tuple(types)
    return frozenset((t, d) for t in sources for d in destinations)


CONTRACTIONS: TypePairs = to(FLOATS[:3], _T.F32) | same(FLOATS[1:3]) | to((_T.I8, _T.U8), _T.I32)
"""
Sums of 16-bit floats are computed in f32 (and may be rounded to the operands' type at the end), sums of bytes in i32.
"""
