"""
The text of an instruction, the same in the `coreasm` dialect and in listings; the instruction table defines its syntax.

    add f32 [0x40 + r3, d0], [0x0, d1], 1.5 wait(load) signal(store)
    load f32 [0x0, d0], dram[0x1000, d1]
    put f16 remote[0x80, d0], [0x0, d0] sem(7) set(1)

After the element types (`f32`, or `f32 -> i64` where source and destination differ) come the operands: an address, the
register added to it, and the access descriptor; or an immediate (a float has a decimal point; an integer in place of a
float is its f32 bits). Then follow named numbers, the contents of `imm`, the core set, and the units waited for and
signalled; last come the fields that each core sets to its own value, with the value's number in the launch, and the
operation that the word was generated for, by name or by its number in the executable's table of sources:

    load f32 [0x0, d0], dram[0x1000, d1] signal(vpu) param(addr1 = 0, desc0 = 4) from "conv/0"
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import NoReturn, Protocol, TypeAlias

import numpy as np

from .encoding import FIELD_CODE, FIELDS, NO_DESC, NO_SOURCE, QUEUES, REGISTERS, TYPE_BY_NAME, TYPES, Unit, pack_types
from .instruction import Imm, Instruction, Operand, Scalar, Space, TypeOf

_IMM_NAME = {
    Imm.REDUCED_DIMS: "reduce",
    Imm.INDEX_DIMS: "index",
    Imm.SEMAPHORE: "sem",
    Imm.TAG: "tag",
    Imm.LAUNCH: "launch",
}
LARGEST_PARAMS = 1 << 24
"""The largest number of parameter values of a core."""
Source: TypeAlias = str | int | None
"""The operation that a word was generated for: its name, its number in the executable's table of sources, or None."""
_UNITS = {unit.name.lower(): unit.value for unit in Unit if unit < QUEUES}


@dataclass
class Fields:
    """The fields of a word, as Python integers."""

    dtype: int = 0
    wait: int = 0
    signal: int = 0
    regs: int = 0
    imm: int = 0
    addr: list[int] = field(default_factory=lambda: [0] * 4)
    desc: list[int] = field(default_factory=lambda: [NO_DESC] * 4)


class Tokens(Protocol):
    """A source of tokens: xDSL's parser or a line of a listing."""

    def keyword(self, text: str) -> bool:
        """Take the word `text` if it is next."""
        ...

    def punctuation(self, text: str) -> bool:
        """Take `text` if it is next."""
        ...

    def word(self) -> str | None:
        """Take the next token if it is a word."""
        ...

    def number(self) -> int | float | None:
        """Take the next token if it is a number."""
        ...

    def text(self) -> str | None:
        """Take the next token if it is a string."""
        ...

    def fail(self, message: str) -> NoReturn:
        """Raise the error for the next token."""
        ...


def is_immediate(ins: Instruction, operand: Operand, fields: Fields) -> bool:
    """Whether the operand is an immediate value in the word."""
    return operand.immediate and fields.desc[operand.slot] == NO_DESC


def format_fields(ins: Instruction, fields: Fields) -> str:
    """The text after the mnemonic, without the body length of `loop` (its body is printed in braces)."""
    parts: list[str] = []
    if ins.types:
        parts.append(_format_types(fields.dtype))
    operands = [_format_operand(ins, o, fields) for o in ins.operands]
    operands += [_format_scalar(s, fields.addr) for s in ins.scalars if not _is_body(ins, s)]
    if operands:
        parts.append(", ".join(operands))
    if ins.imm is Imm.REGISTER:
        parts.append(f"r{fields.imm}")
    elif ins.imm is Imm.MATMUL_DIMS:
        parts.append(f"dims({', '.join(str(fields.imm >> s & 15) for s in (0, 4, 8, 12))})")
    elif ins.imm is not Imm.NONE:
        parts.append(f"{_IMM_NAME[ins.imm]}({fields.imm})")
    if ins.core_set:
        parts.append(f"set({fields.desc[3]})")
    if ins.byte_count:
        parts.append(f"bytes({sum(v << 16 * k for k, v in enumerate(fields.desc))})")
    for name, bits in (("wait", fields.wait), ("signal", fields.signal)):
        if bits:
            parts.append(f"{name}({', '.join(u for u, bit in _UNITS.items() if bits >> bit & 1)})")
    return " ".join(parts)


def format_tail(params: Sequence[tuple[int, int]], source: Source, quote: Callable[[str], str]) -> str:
    """
    The text after the fields, with a leading space: `params` as (field code, number of the value), then the source.
    """
    text = f" param({', '.join(f'{FIELDS[code]} = {number}' for code, number in params)})" if params else ""
    if source is None:
        return text
    return f"{text} from {quote(source) if isinstance(source, str) else source}"


def _format_types(dtype: int) -> str:
    names = [TYPES[code].name if code < len(TYPES) else f"type{code}" for code in (dtype & 15, dtype >> 4)]
    return names[0] if names[0] == names[1] else f"{names[0]} -> {names[1]}"


def _is_body(ins: Instruction, scalar: Scalar) -> bool:
    return ins.has_body and scalar.name == "body"


def _format_scalar(scalar: Scalar, addr: Sequence[int]) -> str:
    value = addr[scalar.slot]
    if scalar.wide:
        return f"{scalar.name} = {value | addr[scalar.slot + 1] << 32:#x}"
    if scalar.signed and value >= 1 << 31:
        value -= 1 << 32
    return f"{scalar.name} = {value}"


def _operand_type(operand: Operand, dtype: int) -> int:
    if operand.type is TypeOf.BOOL:
        return TYPE_BY_NAME["bool"].code
    if operand.type is TypeOf.F32:
        return TYPE_BY_NAME["f32"].code
    return dtype & 15 if operand.type is TypeOf.SOURCE else dtype >> 4


def _takes_float(operand: Operand, dtype: int) -> bool:
    code = _operand_type(operand, dtype)
    return code < len(TYPES) and TYPES[code].is_float


def _format_operand(ins: Instruction, operand: Operand, fields: Fields) -> str:
    value = fields.addr[operand.slot]
    if is_immediate(ins, operand, fields):
        return format_immediate(value, _takes_float(operand, fields.dtype))
    if operand.high is not None:
        value |= fields.addr[operand.high] << 32
    register = fields.regs >> (4 * operand.slot) & 15
    added = f" + r{register}" if register else ""
    space = "" if operand.space is Space.SRAM else operand.space.value
    return f"{space}[{value:#x}{added}, d{fields.desc[operand.slot]}]"


def format_immediate(bits: int, is_float: bool) -> str:
    """The text of an immediate: signed for integers; the shortest decimal for floats, bits for NaN and infinity."""
    if not is_float:
        return str(bits - (1 << 32) if bits >= 1 << 31 else bits)
    value = np.array([bits], np.uint32).view(np.float32)[0]
    if not np.isfinite(value):
        return f"{bits:#x}"
    mantissa, _, exponent = str(value).partition("e")  # numpy prints the shortest text that gives the same bits
    if "." not in mantissa:
        mantissa += ".0"
    return f"{mantissa}e{exponent}" if exponent else mantissa


class _Reader:
    """Reads one instruction from tokens."""

    def __init__(self, tokens: Tokens) -> None:
        self.tokens = tokens

    def expect(self, text: str) -> None:
        if not self.tokens.punctuation(text):
            self.tokens.fail(f"expected '{text}'")

    def keyword(self, text: str) -> None:
        if not self.tokens.keyword(text):
            self.tokens.fail(f"expected '{text}'")

    def integer(self, what: str, low: int, high: int) -> int:
        value = self.tokens.number()
        if isinstance(value, int) and low <= value <= high:
            return value
        self.tokens.fail(f"expected {what}: an integer from {low} to {high}")

    def numbered(self, letter: str, what: str, high: int) -> int:
        word = self.tokens.word() or ""
        digits = word[1:]
        if word[:1] != letter or not (digits.isascii() and digits.isdecimal()) or len(digits) > 5 or int(digits) > high:
            self.tokens.fail(f"expected {what}: {letter}0 to {letter}{high}")
        return int(digits)

    def named(self, name: str, low: int, high: int) -> int:
        self.keyword(name)
        self.expect("(")
        value = self.integer(name, low, high)
        self.expect(")")
        return value

    def type_code(self) -> int:
        word = self.tokens.word()
        if word not in TYPE_BY_NAME:
            self.tokens.fail(f"expected an element type: {', '.join(TYPE_BY_NAME)}")
        return TYPE_BY_NAME[word].code

    def units(self) -> int:
        bits = 0
        self.expect("(")
        while True:
            word = self.tokens.word()
            if word not in _UNITS:
                self.tokens.fail(f"expected a unit: {', '.join(_UNITS)}")
            bits |= 1 << _UNITS[word]
            if not self.tokens.punctuation(","):
                break
        self.expect(")")
        return bits

    def operand(self, operand: Operand, fields: Fields) -> None:
        slot = operand.slot
        if operand.immediate and (value := self.tokens.number()) is not None:
            fields.addr[slot] = self.immediate(value, _takes_float(operand, fields.dtype))
            return
        if operand.space is not Space.SRAM:
            self.keyword(operand.space.value)
        self.expect("[")
        address = self.integer("an address", 0, (1 << (32 if operand.high is None else 64)) - 1)
        fields.addr[slot] = address & 0xFFFF_FFFF
        if operand.high is not None:
            fields.addr[operand.high] = address >> 32
        if self.tokens.punctuation("+"):
            fields.regs |= self.numbered("r", "a register", REGISTERS - 1) << (4 * slot)
        self.expect(",")
        fields.desc[slot] = self.numbered("d", "an access descriptor", NO_DESC - 1)
        self.expect("]")

    def immediate(self, value: float, is_float: bool) -> int:
        if not isinstance(value, int):
            if not is_float:
                self.tokens.fail("the operand is an integer: leave out the decimal point")
            with np.errstate(over="ignore"):
                return int(np.array([value], np.float32).view(np.uint32)[0])
        if not -(1 << 31) <= value < 1 << 32 or (is_float and value < 0):
            self.tokens.fail("the immediate does not fit in 32 bits (a float needs a decimal point)")
        return value & 0xFFFF_FFFF

    def scalar(self, scalar: Scalar, fields: Fields) -> None:
        self.keyword(scalar.name)
        self.expect("=")
        low = -(1 << 31) if scalar.signed else 0
        high = (1 << 64 if scalar.wide else 1 << 31 if scalar.signed else 1 << 32) - 1
        value = self.integer(scalar.name, low, high)
        fields.addr[scalar.slot] = value & 0xFFFF_FFFF
        if scalar.wide:
            fields.addr[scalar.slot + 1] = value >> 32


def parse_fields(tokens: Tokens, ins: Instruction) -> Fields:
    """Parse the fields, the text after the mnemonic. Errors are reported by `tokens.fail`."""
    read, fields = _Reader(tokens), Fields()
    if ins.types:
        source = read.type_code()
        destination = read.type_code() if tokens.punctuation("->") else source
        fields.dtype = pack_types(source, destination)
    items = [*ins.operands, *(s for s in ins.scalars if not _is_body(ins, s))]
    for index, item in enumerate(items):
        if index:
            read.expect(",")
        if isinstance(item, Operand):
            read.operand(item, fields)
        else:
            read.scalar(item, fields)
    if ins.imm is Imm.REGISTER:
        fields.imm = read.numbered("r", "a register", REGISTERS - 1)
    elif ins.imm is Imm.MATMUL_DIMS:
        read.keyword("dims")
        read.expect("(")
        for shift in (0, 4, 8, 12):
            if shift:
                read.expect(",")
            fields.imm |= read.integer("a number of dims", 0, 15) << shift
        read.expect(")")
    elif ins.imm is not Imm.NONE:
        fields.imm = read.named(_IMM_NAME[ins.imm], 0, 0xFFFF)
    if ins.core_set:
        fields.desc[3] = read.named("set", 0, 0xFFFF)
    if ins.byte_count:
        count = read.named("bytes", 0, (1 << 64) - 1)
        fields.desc = [count >> 16 * k & 0xFFFF for k in range(4)]
    if tokens.keyword("wait"):
        fields.wait = read.units()
    if tokens.keyword("signal"):
        fields.signal = read.units()
    return fields


def parse_tail(tokens: Tokens) -> tuple[list[tuple[int, int]], Source]:
    """Parse parameters and source, in the form of `format_tail`'s arguments. Errors are reported by `tokens.fail`."""
    read = _Reader(tokens)
    params: list[tuple[int, int]] = []
    if tokens.keyword("param"):
        read.expect("(")
        while True:
            name = tokens.word()
            if name not in FIELD_CODE:
                tokens.fail(f"expected a field: {', '.join(FIELDS)}")
            read.expect("=")
            params.append((FIELD_CODE[name], read.integer("the number of a value", 0, LARGEST_PARAMS - 1)))
            if not tokens.punctuation(","):
                break
        read.expect(")")
    if not tokens.keyword("from"):
        return params, None
    name = tokens.text()
    return params, read.integer("the name of a source or its number", 0, NO_SOURCE - 1) if name is None else name
