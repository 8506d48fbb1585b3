"""The packed form of programs: one op that holds words, descriptors, parameters and sources as arrays."""

from __future__ import annotations

import abc
from collections.abc import Sequence
from typing import ClassVar

import numpy as np
from xdsl.dialects.builtin import (
    ArrayAttr,
    BytesAttr,
    IntegerAttr,
    IntegerType,
    ModuleOp,
    StringAttr,
    SymbolNameConstraint,
    i64,
)
from xdsl.ir import Attribute
from xdsl.irdl import IRDLOperation, irdl_op_definition, opt_prop_def, prop_def, traits_def
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import SymbolOpInterface
from xdsl.utils.exceptions import VerifyException

from .block_text import BlockParser, in_its_file, location_of, payload, print_block, text_of
from .code import Code, arrays_problem, params_problem
from .encoding import DESC, NO_SOURCE, WORD
from .program_text import CodeReader, code_lines
from .verify_executable import verify_executable

Names = ArrayAttr[StringAttr | BytesAttr | IntegerAttr[IntegerType]]


class PackedOp(IRDLOperation, abc.ABC):
    """
    Base of packed programs: the arrays of `Code` as bytes, little-endian as in an executable; printed as instructions.
    """

    CONTROLLER: ClassVar[bool]

    words = prop_def(BytesAttr | StringAttr)
    descs = prop_def(BytesAttr | StringAttr)
    params = prop_def(BytesAttr | StringAttr)
    """Index of the word and field code of each parameter, u32 each."""
    sources = prop_def(BytesAttr | StringAttr)
    """Index in `names` for each word, u32 each."""
    names = opt_prop_def(Names)
    """Operations that words were generated for, by name or by their number in `coreasm.sources`."""

    @property
    def code(self) -> Code:
        """The arrays, which share the op's memory. Raises VerifyException for arrays of wrong sizes."""
        words, descs, params = payload(self.words), payload(self.descs), payload(self.params)
        sources = payload(self.sources)
        if (problem := arrays_problem(words, descs, params, sources)) is not None:
            raise VerifyException(problem)
        return Code(
            np.frombuffer(words, WORD),
            np.frombuffer(descs, DESC),
            np.frombuffer(params, "<u4").reshape(-1, 2),
            np.frombuffer(sources, "<u4"),
            tuple(
                name.value.data if isinstance(name, IntegerAttr) else text_of(name)
                for name in (() if self.names is None else self.names)
            ),
        )

    def verify_(self) -> None:
        code = self.code
        problem = code.problem(self.CONTROLLER)
        if problem is not None:
            location = location_of(self, problem[0])
            message = f"word {problem[0]}: {problem[1]}"
            raise VerifyException(in_its_file(self, f"{location}: {message}") if location else message)
        if (wrong := params_problem(code.params, len(code.words))) is not None:
            raise VerifyException(wrong)
        stray = (code.sources >= len(code.names)) & (code.sources != NO_SOURCE)
        if stray.any():
            raise VerifyException(f"word {int(np.argmax(stray))}: its source is outside of the {len(code.names)} names")
        if self.CONTROLLER and (len(code.descs) or len(code.params)):
            raise VerifyException("a controller has neither descriptors nor parameters")

    def print_code(self, printer: Printer) -> None:
        """Print the block of instructions."""
        print_block(printer, code_lines(self.code, self._table(), "//"))
        if self.attributes:
            printer.print_string(" attributes")
            printer.print_op_attributes(self.attributes)

    def _table(self) -> Sequence[str]:
        """The names in the table of sources of the executable that the op is in; empty without one."""
        from .executable_ops import SourcesOp

        parent = self.parent_op()
        if isinstance(parent, ModuleOp):
            for op in parent.ops:
                if isinstance(op, SourcesOp):
                    return op.all
        return ()


def code_properties(code: Code) -> dict[str, Attribute]:
    """The properties that hold the arrays of a program."""
    properties: dict[str, Attribute] = {
        "words": BytesAttr(np.ascontiguousarray(code.words, WORD).tobytes()),
        "descs": BytesAttr(np.ascontiguousarray(code.descs, DESC).tobytes()),
        "params": BytesAttr(np.ascontiguousarray(code.params, "<u4").tobytes()),
        "sources": BytesAttr(np.ascontiguousarray(code.sources, "<u4").tobytes()),
    }
    if code.names:
        names = [StringAttr(name) if isinstance(name, str) else IntegerAttr(name, i64) for name in code.names]
        properties["names"] = ArrayAttr(names)
    return properties


def _parse(parser: Parser, controller: bool) -> tuple[Code, BlockParser, list[int], dict[str, Attribute]]:
    block = BlockParser(parser)
    reader = CodeReader(block.fail, controller)
    end = block.read(reader.line, lambda: reader.depth)
    code = reader.finish(end)
    attributes = parser.parse_optional_attr_dict_with_keyword()
    return code, block, reader.marks, {} if attributes is None else dict(attributes.data)


@irdl_op_definition
class ProgramOp(PackedOp):
    """
    The program of a class of cores in one operation. Its properties are the arrays of the executable; it is printed as
    instructions, one on each line, without the prefix `coreasm.`. `.desc` defines an access descriptor: sizes, then
    strides.

    ```syntax
    coreasm.program $sym_name `{` (`.desc` `[` sizes `]` `[` strides `]`)* instructions `}` attr-dict-with-keyword
    ```

    ```mlir
    coreasm.program @worker {
      .desc [16] [4]  // d0
      load f32 [0x0, d0], dram[0x1000, d0] signal(vpu) param(addr1 = 0) from "conv/0"
      halt
    }
    ```
    """

    name = "coreasm.program"
    CONTROLLER: ClassVar[bool] = False
    sym_name = prop_def(SymbolNameConstraint())
    traits = traits_def(SymbolOpInterface())

    def __init__(self, name: str, code: Code) -> None:
        super().__init__(properties={"sym_name": StringAttr(name), **code_properties(code)})

    @classmethod
    def parse(cls, parser: Parser) -> ProgramOp:
        name = parser.parse_symbol_name()
        code, block, marks, attributes = _parse(parser, controller=False)
        op = cls(name.data, code)
        op.attributes.update(attributes)
        block.note_lines(op, marks)
        return op

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_symbol_name(self.sym_name.data)
        self.print_code(printer)


@irdl_op_definition
class ControllerOp(PackedOp):
    """
    The program of the chip's controller in one operation, printed as `coreasm.program`. The controller starts all other
    programs; the executable around it is verified with it.

    ```syntax
    coreasm.controller `{` instructions `}` attr-dict-with-keyword
    ```

    ```mlir
    module attributes {manycore.chip = #manycore.chip<"tiny">} {
      coreasm.program @idle {
        halt
      }
      coreasm.launch {
        .run "idle" cores 0 to 3
      }
      coreasm.controller {
        ctl.launch launch(0)
        ctl.join launch(0)
        ctl.halt
      }
    }
    ```
    """

    name = "coreasm.controller"
    CONTROLLER: ClassVar[bool] = True

    def __init__(self, code: Code) -> None:
        super().__init__(properties=code_properties(code))

    def verify_(self) -> None:
        super().verify_()
        verify_executable(self)

    @classmethod
    def parse(cls, parser: Parser) -> ControllerOp:
        code, block, marks, attributes = _parse(parser, controller=True)
        op = cls(code)
        op.attributes.update(attributes)
        block.note_lines(op, marks)
        return op

    def print(self, printer: Printer) -> None:
        self.print_code(printer)
