"""The unpacked form of programs: an op for each instruction, and ops that contain them."""

from __future__ import annotations

import abc
from collections.abc import Iterable, Sequence
from typing import Any, ClassVar, NoReturn, cast

import numpy as np
from numpy.typing import NDArray
from xdsl.dialects.builtin import (
    ArrayAttr,
    BytesAttr,
    DenseArrayBase,
    DictionaryAttr,
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

from .block_text import text_of
from .check import PATCHABLE, Limits, first_problem, structure_problem
from .code import Code, Names, desc_array, numbered_params
from .encoding import FIELD_CODE, FIELDS, MAX_DIMS, NO_DESC, WORD
from .instruction import Instruction
from .isa import BY_MNEMONIC, for_each_instruction
from .text import Fields, Source, format_fields, format_tail, parse_fields, parse_tail
from .verify_executable import verify_executable


class _ParserTokens:
    """xDSL's parser behind the interface `Tokens`."""

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

    def text(self) -> str | None:
        raw = self.parser.parse_optional_bytes_literal()
        return self.parser.parse_optional_str_literal() if raw is None else raw.decode(errors="replace")

    def fail(self, message: str) -> NoReturn:
        self.parser.raise_error(message)


@irdl_attr_definition
class AccessAttr(ParametrizedAttribute):
    """
    An access descriptor, 1 to 5 dimensions, the outermost first: the sizes, and the strides in bytes.

    ```syntax
    #coreasm.access< `[` sizes `]` `,` `[` strides `]` >
    ```

    ```mlir
    #coreasm.access<[4, 16], [64, 4]>
    ```
    """

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
    One instruction word. Properties are its fields (see `encoding.WORD`); `source` is the operation that it was
    generated for.

    The entry of the instruction table defines the rules for the fields; the assembly format is that of `text`.
    """

    types = prop_def(IntegerAttr[IntegerType])
    """Source type in the low nibble, destination type in the high nibble (i8)."""
    wait = prop_def(IntegerAttr[IntegerType])
    signal = prop_def(IntegerAttr[IntegerType])
    regs = prop_def(IntegerAttr[IntegerType])
    imm = prop_def(IntegerAttr[IntegerType])
    addr = prop_def(DenseArrayBase[IntegerType])
    desc = prop_def(DenseArrayBase[IntegerType])
    params = opt_prop_def(DictionaryAttr)
    """Fields that each core sets to its own value: name of the field -> the number of the value in the launch."""
    source = opt_prop_def(StringAttr | BytesAttr | IntegerAttr[IntegerType])
    """
    The operation that the word was generated for, by name (UTF-8 bytes if xDSL has read a string literal with escapes
    as bytes), or by its number in `coreasm.sources`.
    """

    def __init__(
        self,
        fields: Fields,
        params: Sequence[tuple[int, int]] = (),
        source: Source = None,
        body: Sequence[Operation] | None = None,
    ) -> None:
        """`params`: (field code, number of the value)."""
        super().__init__(
            properties=_properties(fields, params, source), regions=[] if body is None else [Region(Block(list(body)))]
        )

    @property
    def instruction(self) -> Instruction:
        """The entry of the instruction table, by the op's name."""
        return _entry(self.name)

    @property
    def source_name(self) -> Source:
        """The operation that the word was generated for."""
        if self.source is None or isinstance(self.source, IntegerAttr):
            return None if self.source is None else self.source.value.data
        return text_of(self.source)

    @property
    def patched(self) -> list[tuple[int, int]]:
        """(Field code, number of the value) of each field that cores set. Raises VerifyException for invalid ones."""
        found: list[tuple[int, int]] = []
        if self.params is None:
            return found
        for name, number in self.params.data.items():
            if name not in FIELD_CODE or not isinstance(number, IntegerAttr) or number.value.data < 0:
                raise VerifyException(f"'params' gives fields ({', '.join(FIELDS)}) the number of a value")
            found.append((FIELD_CODE[name], number.value.data))
        return found

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
        return cls.create(properties=_parse(parser, _entry(cls.name)))

    def print(self, printer: Printer) -> None:
        _print(self, printer)

    def verify_(self) -> None:
        if len(self.addr.get_values()) != 4 or len(self.desc.get_values()) != 4:
            raise VerifyException("'addr' and 'desc' must have 4 elements")
        program = self.parent_op()
        while isinstance(program, LoopOp):
            program = program.parent_op()
        if not isinstance(program, UnpackedOp):
            raise VerifyException("an instruction must stand in an unpacked program or in a loop of one")
        # numbers that refer to parts of the executable are checked when it is linked; here only the range of the field
        limits = Limits(
            0 if program.descs is None else len(program.descs), NO_DESC, 1 << 16, 1 << 16, program.CONTROLLER
        )
        problem = first_problem(fields_to_words([(self.instruction, self.fields)]), limits)
        if problem is not None:
            raise VerifyException(problem[1])
        for field, _ in self.patched:
            if not PATCHABLE[self.instruction.code, field]:
                raise VerifyException(f"'{self.instruction.mnemonic}': field {FIELDS[field]} cannot be a parameter")


def _entry(name: str) -> Instruction:
    return BY_MNEMONIC[name.removeprefix("coreasm.")]


def _properties(fields: Fields, params: Sequence[tuple[int, int]], source: Source) -> dict[str, Attribute]:
    properties: dict[str, Attribute] = {
        "types": IntegerAttr(_signed(fields.dtype, 8), i8),
        "wait": IntegerAttr(_signed(fields.wait, 8), i8),
        "signal": IntegerAttr(_signed(fields.signal, 8), i8),
        "regs": IntegerAttr(_signed(fields.regs, 16), i16),
        "imm": IntegerAttr(_signed(fields.imm, 16), i16),
        "addr": DenseArrayBase.from_list(i32, [_signed(v, 32) for v in fields.addr]),
        "desc": DenseArrayBase.from_list(i16, [_signed(v, 16) for v in fields.desc]),
    }
    if params:
        properties["params"] = DictionaryAttr({FIELDS[code]: IntegerAttr(number, i32) for code, number in params})
    if source is not None:
        properties["source"] = StringAttr(source) if isinstance(source, str) else IntegerAttr(source, i64)
    return properties


def _parse(parser: Parser, ins: Instruction) -> dict[str, Attribute]:
    """Parse the properties, which follow the op's name."""
    tokens = _ParserTokens(parser)
    fields = parse_fields(tokens, ins)
    params, source = parse_tail(tokens)
    if len({code for code, _ in params}) < len(params):
        parser.raise_error("a field can be one parameter only")
    return _properties(fields, params, source)


def _print(op: InstructionOp, printer: Printer) -> None:
    if text := format_fields(op.instruction, op.fields):
        printer.print_string(f" {text}")
    source = op.source_name
    printer.print_string(format_tail(op.patched, source if isinstance(source, int) else None, str))
    if isinstance(source, str):
        printer.print_string(" from ")
        printer.print_string_literal(source)


def fields_to_words(instructions: Sequence[tuple[Instruction, Fields]]) -> NDArray[Any]:
    """The words (WORD) of instructions and their fields."""
    rows = [(i.code, f.dtype, f.wait, f.signal, f.regs, f.imm, tuple(f.addr), tuple(f.desc)) for i, f in instructions]
    return np.array(rows, WORD)


class LoopOp(InstructionOp, abc.ABC):
    """A loop over the instructions of its body; the body length in the word is derived from the region."""

    body = region_def("single_block")
    traits = traits_def(NoTerminator())

    @classmethod
    def parse(cls, parser: Parser) -> InstructionOp:
        properties = _parse(parser, _entry(cls.name))
        return cls.create(properties=properties, regions=[parser.parse_region()])

    def print(self, printer: Printer) -> None:
        _print(self, printer)
        printer.print_string(" ")
        printer.print_region(self.body)


class UnpackedOp(IRDLOperation, abc.ABC):
    """A program as a block of instructions."""

    CONTROLLER: ClassVar[bool]

    descs = opt_prop_def(ArrayAttr[AccessAttr])
    body = region_def("single_block")
    traits = traits_def(IsolatedFromAbove(), NoTerminator())

    @property
    def code(self) -> Code:
        """The program as arrays, with the body lengths of loops. Raises VerifyException for invalid parameters."""
        rows: list[tuple[Instruction, Fields]] = []
        params: list[tuple[int, int, int]] = []
        names = Names()

        def collect(ops: Iterable[Operation]) -> None:
            for op in ops:
                if not isinstance(op, InstructionOp):
                    raise VerifyException(f"'{op.name}' is not an instruction")
                fields = op.fields
                params.extend((number, len(rows), code) for code, number in op.patched)
                rows.append((op.instruction, fields))
                names.add(op.source_name)
                if isinstance(op, LoopOp):
                    at = len(rows)
                    collect(op.body.block.ops)
                    fields.addr[1] = len(rows) - at

        collect(self.body.block.ops)
        table = numbered_params(params)
        if isinstance(table, tuple):
            raise VerifyException(f"word {table[0]}: {table[1]}")
        descs = [(list(one.sizes.get_values()), list(one.strides.get_values())) for one in self.descs or ()]
        return Code(fields_to_words(rows), desc_array(descs), table, names.array(), tuple(names.names))

    def verify_(self) -> None:
        code = self.code
        problem = structure_problem(code.words, self.CONTROLLER)
        if problem is not None:
            raise VerifyException(f"word {problem[0]}: {problem[1]}")
        if self.CONTROLLER and (len(code.descs) or len(code.params)):
            raise VerifyException("a controller has neither descriptors nor parameters")


@irdl_op_definition
class UnpackedProgramOp(UnpackedOp):
    """
    The program of a class of cores, with an operation for each instruction, for passes that rewrite instructions.
    `descs` are its access descriptors, to which instructions refer by number: d0, d1, ...

    ```mlir
    coreasm.unpacked_program @worker descs [#coreasm.access<[16], [4]>] {
      coreasm.load f32 [0x0, d0], dram[0x1000, d0] signal(vpu)
      coreasm.loop count = 5 {
        coreasm.add f32 [0x40, d0], [0x0, d0], 1.5 wait(load) from "relu"
      }
      coreasm.halt
    }
    ```
    """

    name = "coreasm.unpacked_program"
    CONTROLLER: ClassVar[bool] = False
    sym_name = prop_def(SymbolNameConstraint())
    traits = traits_def(SymbolOpInterface())
    assembly_format = "$sym_name (`descs` $descs^)? $body attr-dict"

    def __init__(self, name: str, body: Sequence[Operation], descs: Sequence[AccessAttr] = ()) -> None:
        properties: dict[str, Attribute] = {"sym_name": StringAttr(name)}
        if descs:
            properties["descs"] = ArrayAttr(descs)
        super().__init__(properties=properties, regions=[Region(Block(list(body)))])


@irdl_op_definition
class UnpackedControllerOp(UnpackedOp):
    """
    The program of the chip's controller, with an operation for each instruction.

    ```mlir
    module attributes {manycore.chip = #manycore.chip<"tiny">} {
      coreasm.program @idle {
        halt
      }
      coreasm.launch {
        .run "idle" cores 0 to 3
      }
      coreasm.unpacked_controller {
        coreasm.ctl.launch launch(0)
        coreasm.ctl.join launch(0)
        coreasm.ctl.halt
      }
    }
    ```
    """

    name = "coreasm.unpacked_controller"
    CONTROLLER: ClassVar[bool] = True
    assembly_format = "(`descs` $descs^)? $body attr-dict"

    def __init__(self, body: Sequence[Operation]) -> None:
        super().__init__(regions=[Region(Block(list(body)))])

    def verify_(self) -> None:
        super().verify_()
        verify_executable(self)


def _class_of(ins: Instruction) -> type[InstructionOp]:
    class_name = "".join(part.capitalize() for part in ins.mnemonic.split(".")) + "Op"
    members = {
        "__doc__": f"{ins.semantics}. {ins.doc}".rstrip(),
        "__module__": __name__,
        "name": f"coreasm.{ins.mnemonic}",
    }
    if ins.has_body:
        return irdl_op_definition(type(class_name, (LoopOp,), members))
    return irdl_op_definition(type(class_name, (InstructionOp,), members))


INSTRUCTION_OPS: dict[str, type[InstructionOp]] = {}
"""Op class of each instruction, by mnemonic."""


def _enter(ins: Instruction) -> None:
    INSTRUCTION_OPS[ins.mnemonic] = _class_of(ins)


for_each_instruction(_enter)
