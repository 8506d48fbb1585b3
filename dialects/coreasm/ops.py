"""Ops and attributes of the `coreasm` dialect."""

from __future__ import annotations

import abc
from collections.abc import Iterator, Sequence
from typing import Any, NoReturn, cast

import numpy as np
from numpy.typing import NDArray
from xdsl.dialects.builtin import (
    ArrayAttr,
    BytesAttr,
    DenseArrayBase,
    IntegerAttr,
    IntegerType,
    StringAttr,
    SymbolNameConstraint,
    i8,
    i16,
    i32,
    i64,
)
from xdsl.ir import Attribute, Block, Operation, ParametrizedAttribute, Region
from xdsl.irdl import (
    IRDLOperation,
    irdl_attr_definition,
    irdl_op_definition,
    opt_prop_def,
    prop_def,
    region_def,
    traits_def,
)
from xdsl.parser import AttrParser, Parser
from xdsl.printer import Printer
from xdsl.traits import IsolatedFromAbove, NoTerminator, SymbolOpInterface
from xdsl.utils.exceptions import VerifyException
from xdsl.utils.mlir_lexer import PunctuationSpelling

from .check import Limits, first_problem, structure_problem
from .encoding import DESC, FIELDS, MAX_DIMS, NO_DESC, WORD, Unit
from .instruction import Instruction
from .isa import BY_MNEMONIC, INSTRUCTIONS
from .text import Fields, format_fields, parse_fields


class _ParserTokens:
    """xDSL's parser as a source of tokens."""

    def __init__(self, parser: Parser) -> None:
        self.parser = parser

    def keyword(self, text: str) -> bool:
        return self.parser.parse_optional_keyword(text) is not None

    def punctuation(self, text: str) -> bool:
        return self.parser.parse_optional_punctuation(cast("PunctuationSpelling", text)) is not None

    def word(self) -> str | None:
        return self.parser.parse_optional_identifier()

    def number(self) -> int | float | None:
        return self.parser.parse_optional_number()

    def fail(self, message: str) -> NoReturn:
        self.parser.raise_error(message)


@irdl_attr_definition
class AccessAttr(ParametrizedAttribute):
    """An access descriptor: sizes and byte strides, outermost dimension first; unused outer dimensions left out."""

    name = "coreasm.access"
    sizes: DenseArrayBase[IntegerType]
    strides: DenseArrayBase[IntegerType]

    def __init__(self, sizes: Sequence[int], strides: Sequence[int]) -> None:
        super().__init__(DenseArrayBase.from_list(i64, list(sizes)), DenseArrayBase.from_list(i64, list(strides)))

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        with parser.in_angle_brackets():
            start = parser.pos
            sizes = parser.parse_comma_separated_list(parser.Delimiter.SQUARE, parser.parse_integer)
            parser.parse_characters(",")
            strides = parser.parse_comma_separated_list(parser.Delimiter.SQUARE, parser.parse_integer)
            if (problem := _access_problem(sizes, strides)) is not None:
                parser.raise_error(problem, start, parser.pos)
        return DenseArrayBase.from_list(i64, sizes), DenseArrayBase.from_list(i64, strides)

    def print_parameters(self, printer: Printer) -> None:
        sizes, strides = self.sizes.get_values(), self.strides.get_values()
        printer.print_string(f"<[{', '.join(map(str, sizes))}], [{', '.join(map(str, strides))}]>")

    def verify(self) -> None:
        problem = _access_problem(self.sizes.get_values(), self.strides.get_values())
        if problem is not None:
            raise VerifyException(problem)


def _access_problem(sizes: Sequence[int], strides: Sequence[int]) -> str | None:
    if not 1 <= len(sizes) <= MAX_DIMS or len(sizes) != len(strides):
        return (
            f"an access has as many strides as sizes, 1 to {MAX_DIMS}, got {len(sizes)} sizes, {len(strides)} strides"
        )
    if not all(1 <= s < 1 << 32 for s in sizes) or not all(-(1 << 31) <= s < 1 << 31 for s in strides):
        return "sizes must be at least 1 and strides fit in 32 bits"
    return None


def _signed(value: int, bits: int) -> int:
    return value - (1 << bits) if value >> (bits - 1) else value


class InstructionOp(IRDLOperation, abc.ABC):
    """
    One word. Properties are its fields (see `encoding.WORD`); `source` names the operation that it stems from.

    What the fields must be comes from the table entry; the assembly format is that of `text`.
    """

    types = prop_def(IntegerAttr[IntegerType])
    """Low nibble source, high nibble destination type (i8)."""
    wait = prop_def(IntegerAttr[IntegerType])
    signal = prop_def(IntegerAttr[IntegerType])
    regs = prop_def(IntegerAttr[IntegerType])
    imm = prop_def(IntegerAttr[IntegerType])
    addr = prop_def(DenseArrayBase[IntegerType])
    desc = prop_def(DenseArrayBase[IntegerType])
    source = opt_prop_def(StringAttr | BytesAttr)
    """Bytes (UTF-8) where xDSL reads a string literal with escapes back as such."""

    def __init__(self, fields: Fields, source: str | None = None, body: Sequence[Operation] | None = None) -> None:
        super().__init__(
            properties=_properties(fields, source), regions=[] if body is None else [Region(Block(list(body)))]
        )

    @property
    def instruction(self) -> Instruction:
        """The table's entry, which the op's name tells."""
        return _entry(self.name)

    @property
    def source_name(self) -> str | None:
        """The name of the operation that the word stems from."""
        if isinstance(self.source, BytesAttr):
            return self.source.data.decode(errors="replace")
        return None if self.source is None else self.source.data

    @property
    def fields(self) -> Fields:
        """The fields as unsigned numbers."""
        return Fields(
            self.types.value.data & 0xFF,
            self.wait.value.data & 0xFF,
            self.signal.value.data & 0xFF,
            self.regs.value.data & 0xFFFF,
            self.imm.value.data & 0xFFFF,
            [v & 0xFFFF_FFFF for v in self.addr.get_values()],
            [v & 0xFFFF for v in self.desc.get_values()],
        )

    @classmethod
    def parse(cls, parser: Parser) -> InstructionOp:
        fields, source = _parse(parser, _entry(cls.name))
        return cls(fields, source)

    def print(self, printer: Printer) -> None:
        _print(self, printer)

    def verify_(self) -> None:
        if len(self.addr.get_values()) != 4 or len(self.desc.get_values()) != 4:
            raise VerifyException("'addr' and 'desc' must have 4 elements")
        program = self.parent_op()
        while isinstance(program, LoopOp):
            program = program.parent_op()
        if not isinstance(program, ProgramOp):
            raise VerifyException("an instruction must stand in a 'coreasm.program' or a 'coreasm.loop' in one")
        # counts that depend on the executable are checked when it is linked; here only the field's own range
        limits = Limits(
            0 if program.descs is None else len(program.descs), NO_DESC, 1 << 16, 1 << 16, program.is_controller
        )
        problem = first_problem(fields_to_words([(self.instruction, self.fields)]), limits)
        if problem is not None:
            raise VerifyException(problem[1])


def _entry(name: str) -> Instruction:
    return BY_MNEMONIC[name.removeprefix("coreasm.")]


def _properties(fields: Fields, source: str | None) -> dict[str, Attribute]:
    properties: dict[str, Attribute] = {
        "types": IntegerAttr(_signed(fields.dtype, 8), i8),
        "wait": IntegerAttr(_signed(fields.wait, 8), i8),
        "signal": IntegerAttr(_signed(fields.signal, 8), i8),
        "regs": IntegerAttr(_signed(fields.regs, 16), i16),
        "imm": IntegerAttr(_signed(fields.imm, 16), i16),
        "addr": DenseArrayBase.from_list(i32, [_signed(v, 32) for v in fields.addr]),
        "desc": DenseArrayBase.from_list(i16, [_signed(v, 16) for v in fields.desc]),
    }
    if source is not None:
        properties["source"] = StringAttr(source)
    return properties


def _parse(parser: Parser, ins: Instruction) -> tuple[Fields, str | None]:
    fields = parse_fields(_ParserTokens(parser), ins)
    if parser.parse_optional_keyword("from") is None:
        return fields, None
    raw = parser.parse_optional_bytes_literal()
    return fields, parser.parse_str_literal() if raw is None else raw.decode(errors="replace")


def _print(op: InstructionOp, printer: Printer) -> None:
    text = format_fields(op.instruction, op.fields)
    if text:
        printer.print_string(f" {text}")
    if (name := op.source_name) is not None:
        printer.print_string(" from ")
        printer.print_string_literal(name)


def fields_to_words(instructions: Sequence[tuple[Instruction, Fields]]) -> NDArray[Any]:
    """The words (WORD) of instructions and their fields."""
    rows = [(i.code, f.dtype, f.wait, f.signal, f.regs, f.imm, tuple(f.addr), tuple(f.desc)) for i, f in instructions]
    return np.array(rows, WORD)


@irdl_op_definition
class LoopOp(InstructionOp):
    """The instructions of its body run `count` times; the word's body length follows from the region."""

    name = "coreasm.loop"
    body = region_def("single_block")
    traits = traits_def(NoTerminator())

    @classmethod
    def parse(cls, parser: Parser) -> LoopOp:
        fields, source = _parse(parser, _entry(cls.name))
        region = parser.parse_region()
        op = LoopOp.create(properties=_properties(fields, source), regions=[region])
        return op

    def print(self, printer: Printer) -> None:
        _print(self, printer)
        printer.print_string(" ")
        printer.print_region(self.body)


@irdl_op_definition
class ProgramOp(IRDLOperation):
    """The program of a class of cores, or of the controller: instructions, access descriptors, patchable fields."""

    name = "coreasm.program"
    sym_name = prop_def(SymbolNameConstraint())
    descs = opt_prop_def(ArrayAttr[AccessAttr])
    params = opt_prop_def(ArrayAttr[StringAttr])
    """Fields that each core sets to its own value, such as "12.addr0": word number and field."""
    body = region_def("single_block")
    traits = traits_def(IsolatedFromAbove(), NoTerminator(), SymbolOpInterface())
    assembly_format = "$sym_name (`descs` $descs^)? (`params` $params^)? $body attr-dict"

    def __init__(
        self, name: str, body: Sequence[Operation], descs: Sequence[AccessAttr] = (), params: Sequence[str] = ()
    ) -> None:
        properties: dict[str, Attribute] = {"sym_name": StringAttr(name)}
        if descs:
            properties["descs"] = ArrayAttr(descs)
        if params:
            properties["params"] = ArrayAttr([StringAttr(p) for p in params])
        super().__init__(properties=properties, regions=[Region(Block(list(body)))])

    @property
    def is_controller(self) -> bool:
        """Whether the program is the controller's (its last instruction is)."""
        last = self.body.block.last_op
        return isinstance(last, InstructionOp) and last.instruction.unit == Unit.CTL

    def words(self) -> tuple[NDArray[Any], list[str | None]]:
        """All words with loops' lengths filled in, and the source of each."""
        rows: list[tuple[Instruction, Fields]] = []
        sources: list[str | None] = []

        def collect(ops: Iterator[Operation]) -> None:
            for op in ops:
                if not isinstance(op, InstructionOp):
                    raise VerifyException(f"'{op.name}' is not an instruction")
                fields = op.fields
                rows.append((op.instruction, fields))
                sources.append(op.source_name)
                if isinstance(op, LoopOp):
                    at = len(rows)
                    collect(iter(op.body.block.ops))
                    fields.addr[1] = len(rows) - at

        collect(iter(self.body.block.ops))
        return fields_to_words(rows), sources

    def verify_(self) -> None:
        words, _ = self.words()
        problem = structure_problem(words, self.is_controller)
        if problem is not None:
            raise VerifyException(f"word {problem[0]}: {problem[1]}")
        for param in self.params or ():
            parse_param(param.data, len(words))


def parse_param(text: str, words: int) -> tuple[int, int]:
    """Word number and field code of a parameter such as "12.addr0". Raises VerifyException."""
    word, _, name = text.partition(".")
    if not (word.isascii() and word.isdecimal() and len(word) < 10 and int(word) < words) or name not in FIELDS:
        raise VerifyException(f"parameter '{text}' must be the number of a word and one of {', '.join(FIELDS)}")
    return int(word), FIELDS.index(name)


def access_attr(desc: Any) -> AccessAttr:
    """The attribute of a DESC element."""
    sizes: list[int] = desc["size"].tolist()
    strides: list[int] = desc["stride"].tolist()
    start = unused_dims(sizes, strides)
    return AccessAttr(sizes[start:], strides[start:])


def unused_dims(sizes: Sequence[int], strides: Sequence[int]) -> int:
    """How many outer dimensions have size 1 and stride 0 (the innermost one never counts)."""
    start = 0
    while start < MAX_DIMS - 1 and sizes[start] == 1 and strides[start] == 0:
        start += 1
    return start


def desc_array(accesses: Sequence[tuple[Sequence[int], Sequence[int]]]) -> NDArray[Any]:
    """The DESC table of sizes and strides, outer dimensions filled up."""
    table = np.zeros(len(accesses), DESC)
    table["size"] = 1
    for row, (sizes, strides) in zip(table, accesses, strict=True):
        row["size"][MAX_DIMS - len(sizes) :] = sizes
        row["stride"][MAX_DIMS - len(strides) :] = strides
    return table


def _class_of(ins: Instruction) -> type[InstructionOp]:
    class_name = "".join(part.capitalize() for part in ins.mnemonic.split(".")) + "Op"
    members = {
        "__doc__": f"{ins.semantics}. {ins.doc}".rstrip(),
        "__module__": __name__,
        "name": f"coreasm.{ins.mnemonic}",
    }
    return irdl_op_definition(type(class_name, (InstructionOp,), members))


INSTRUCTION_OPS: dict[str, type[InstructionOp]] = {
    i.mnemonic: _class_of(i) for i in INSTRUCTIONS if i.mnemonic != "loop"
}
"""Op class by mnemonic, all but `loop`."""
