"""
Operations for the parts of an executable other than programs: tensors, memories and their data, core sets, launches,
source names, notes.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from xdsl.dialects.builtin import (
    I32,
    I64,
    ArrayAttr,
    BytesAttr,
    DenseArrayBase,
    IntegerAttr,
    StringAttr,
    i32,
    i64,
)
from xdsl.ir import Attribute
from xdsl.irdl import IRDLOperation, irdl_op_definition, opt_prop_def, prop_def
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from ..reference import ReferenceOp, parse_reference, reference_properties
from .block_text import BlockParser, parse_text, payload, print_block, text_of
from .encoding import TENSOR_TYPES, TYPE_BY_NAME
from .launch_text import MAX_CORES, Run, parse_cores, parse_run, ranges, run_lines
from .line_tokens import LineTokens, quote

SPACES = ("dram", "host")
"""Memories that hold data before the run."""
ROLES = ("input", "output", "weight", "temp")


def _int(value: int) -> IntegerAttr[I64]:
    return IntegerAttr(value, i64)


def _attributes(parser: Parser) -> dict[str, Attribute]:
    found = parser.parse_optional_attr_dict_with_keyword()
    return {} if found is None else dict(found.data)


def _print_attributes(op: IRDLOperation, printer: Printer) -> None:
    if op.attributes:
        printer.print_string(" attributes")
        printer.print_op_attributes(op.attributes)


def _parse_space(parser: Parser) -> StringAttr:
    for space in SPACES:
        if parser.parse_optional_keyword(space) is not None:
            return StringAttr(space)
    parser.raise_error(f"expected a memory: {' or '.join(SPACES)}")


def _verify_space(space: str) -> None:
    if space not in SPACES:
        raise VerifyException(f'space = "{space}" should be {" or ".join(SPACES)}')


def _verify_not_negative(**values: IntegerAttr[I64] | None) -> None:
    for name, value in values.items():
        if value is not None and value.value.data < 0:
            raise VerifyException(f"{name} = {value.value.data} should not be negative")


def _address(printer: Printer, value: IntegerAttr[I64]) -> None:
    printer.print_string(f" {value.value.data:#x}")


@irdl_op_definition
class NoteOp(IRDLOperation):
    """
    A note of the executable: a text by its key, such as the name of the network, or how it was compiled.

    ```syntax
    coreasm.note $key `=` $value (`attributes` attr-dict)?
    ```

    ```mlir
    coreasm.note "entry" = "main"
    ```
    """

    name = "coreasm.note"
    key = prop_def(StringAttr | BytesAttr)
    value = prop_def(StringAttr | BytesAttr)

    def __init__(self, key: str, value: str) -> None:
        super().__init__(properties={"key": StringAttr(key), "value": StringAttr(value)})

    @classmethod
    def parse(cls, parser: Parser) -> NoteOp:
        key = parse_text(parser)
        parser.parse_punctuation("=")
        op = cls(key.data, parse_text(parser).data)
        op.attributes.update(_attributes(parser))
        return op

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_string_literal(text_of(self.key))
        printer.print_string(" = ")
        printer.print_string_literal(text_of(self.value))
        _print_attributes(self, printer)


@irdl_op_definition
class MemoryOp(IRDLOperation):
    """
    The use of a memory (`dram` or `host`): the number of bytes used, and the range that is filled before the run, of
    `bytes` bytes from the address `image` on. Bytes of that range that no `coreasm.data` and no `coreasm.bytes` defines
    are zero. Without this operation, both are derived from the data and the tensors.

    ```syntax
    coreasm.memory $space `used` $used `image` $image `bytes` $bytes (`attributes` attr-dict)?
    ```

    ```mlir
    coreasm.memory dram used 70000 image 0x10000 bytes 1280
    ```
    """

    name = "coreasm.memory"
    space = prop_def(StringAttr)
    used = prop_def(IntegerAttr[I64])
    image = prop_def(IntegerAttr[I64])
    bytes = prop_def(IntegerAttr[I64])

    def __init__(self, space: str, used: int, image: int, nbytes: int) -> None:
        super().__init__(
            properties={"space": StringAttr(space), "used": _int(used), "image": _int(image), "bytes": _int(nbytes)}
        )

    @classmethod
    def parse(cls, parser: Parser) -> MemoryOp:
        space = _parse_space(parser).data
        numbers: list[int] = []
        for keyword in ("used", "image", "bytes"):
            parser.parse_keyword(keyword)
            numbers.append(parser.parse_integer(allow_boolean=False))
        op = cls(space, *numbers)
        op.attributes.update(_attributes(parser))
        return op

    def print(self, printer: Printer) -> None:
        printer.print_string(f" {self.space.data} used {self.used.value.data} image")
        _address(printer, self.image)
        printer.print_string(f" bytes {self.bytes.value.data}")
        _print_attributes(self, printer)

    def verify_(self) -> None:
        _verify_space(self.space.data)
        _verify_not_negative(used=self.used, image=self.image, bytes=self.bytes)


@irdl_op_definition
class DataOp(ReferenceOp):
    """
    Bytes of a file that are in a memory before the run, from an address on. The reference is that of `dataflow.weight`.

    ```syntax
    coreasm.data $space $address `{` `source` `=` $source `,` `offset` `=` $offset `,` `bytes` `=` $bytes `,`
      `sha256` `=` $sha256 (`,` attributes)? `}`
    ```

    ```mlir
    coreasm.data dram 0x10000 {source = "net.onnx", offset = 128 : i64, bytes = 48 : i64,
      sha256 = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"}
    ```
    """

    name = "coreasm.data"
    space = prop_def(StringAttr)
    address = prop_def(IntegerAttr[I64])

    def __init__(self, space: str, address: int, *, source: str, offset: int, nbytes: int, sha256: str) -> None:
        reference = reference_properties(source, offset, nbytes, sha256)
        super().__init__(properties={"space": StringAttr(space), "address": _int(address), **reference})

    @classmethod
    def parse(cls, parser: Parser) -> DataOp:
        space = _parse_space(parser)
        address = _int(parser.parse_integer(allow_boolean=False))
        reference, attributes = parse_reference(parser, cls.name)
        return cls.create(properties={"space": space, "address": address, **reference}, attributes=attributes)

    def print(self, printer: Printer) -> None:
        printer.print_string(f" {self.space.data}")
        _address(printer, self.address)
        printer.print_op_attributes(self.shown)

    def verify_(self) -> None:
        _verify_space(self.space.data)
        _verify_not_negative(address=self.address)
        if (problem := self.reference_problem()) is not None:
            raise VerifyException(problem)


@irdl_op_definition
class BytesOp(IRDLOperation):
    """
    Bytes that are in a memory before the run, from an address on, as hexadecimal digits.

    ```syntax
    coreasm.bytes $space $address $data (`attributes` attr-dict)?
    ```

    ```mlir
    coreasm.bytes dram 0x10000 "00ff7e"
    ```
    """

    name = "coreasm.bytes"
    space = prop_def(StringAttr)
    address = prop_def(IntegerAttr[I64])
    data = prop_def(BytesAttr | StringAttr)

    def __init__(self, space: str, address: int, data: bytes) -> None:
        super().__init__(properties={"space": StringAttr(space), "address": _int(address), "data": BytesAttr(data)})

    @property
    def content(self) -> bytes:
        """The bytes."""
        return payload(self.data)

    @classmethod
    def parse(cls, parser: Parser) -> BytesOp:
        space = _parse_space(parser).data
        address = parser.parse_integer(allow_boolean=False)
        position = parser.pos
        text = parser.parse_str_literal()
        try:
            data = bytes.fromhex(text)
        except ValueError:
            parser.raise_error("expected bytes as pairs of hexadecimal digits", position, parser.pos)
        op = cls(space, address, data)
        op.attributes.update(_attributes(parser))
        return op

    def print(self, printer: Printer) -> None:
        printer.print_string(f" {self.space.data}")
        _address(printer, self.address)
        printer.print_string(f' "{self.content.hex()}"')
        _print_attributes(self, printer)

    def verify_(self) -> None:
        _verify_space(self.space.data)
        _verify_not_negative(address=self.address)


@irdl_op_definition
class TensorOp(IRDLOperation):
    """
    A tensor of the network: its role (`input`, `output`, ...), name, element type and shape, its address and bytes in
    DRAM, and its address in host memory if it is there, too.

    ```syntax
    coreasm.tensor $role $tensor_name $type `[` $shape `]` `dram` $dram `bytes` $bytes (`host` $host)?
      (`attributes` attr-dict)?
    ```

    ```mlir
    coreasm.tensor input "x" f32 [4, 4] dram 0x1000 bytes 64 host 0x0
    ```
    """

    name = "coreasm.tensor"
    role = prop_def(StringAttr)
    tensor_name = prop_def(StringAttr | BytesAttr)
    type = prop_def(StringAttr)
    """Name of the element type."""
    shape = prop_def(DenseArrayBase[I64])
    dram = prop_def(IntegerAttr[I64])
    bytes = prop_def(IntegerAttr[I64])
    host = opt_prop_def(IntegerAttr[I64])

    def __init__(
        self, role: str, name: str, type: str, shape: Sequence[int], dram: int, nbytes: int, host: int | None
    ) -> None:
        properties: dict[str, Attribute] = {
            "role": StringAttr(role),
            "tensor_name": StringAttr(name),
            "type": StringAttr(type),
            "shape": DenseArrayBase.from_list(i64, list(shape)),
            "dram": _int(dram),
            "bytes": _int(nbytes),
        }
        if host is not None:
            properties["host"] = _int(host)
        super().__init__(properties=properties)

    @classmethod
    def parse(cls, parser: Parser) -> TensorOp:
        role = parser.parse_optional_identifier()
        if role not in ROLES:
            parser.raise_error(f"expected a role: {', '.join(ROLES)}")
        name = parse_text(parser).data
        type = parser.parse_optional_identifier()
        if type not in TYPE_BY_NAME:
            parser.raise_error(f"expected an element type: {', '.join(one.name for one in TENSOR_TYPES)}")
        shape = parser.parse_comma_separated_list(parser.Delimiter.SQUARE, parser.parse_integer)
        parser.parse_keyword("dram")
        dram = parser.parse_integer(allow_boolean=False)
        parser.parse_keyword("bytes")
        nbytes = parser.parse_integer(allow_boolean=False)
        host = None
        if parser.parse_optional_keyword("host") is not None:
            host = parser.parse_integer(allow_boolean=False)
        op = cls(role, name, type, shape, dram, nbytes, host)
        op.attributes.update(_attributes(parser))
        return op

    def print(self, printer: Printer) -> None:
        printer.print_string(f" {self.role.data} ")
        printer.print_string_literal(text_of(self.tensor_name))
        printer.print_string(f" {self.type.data} {list(self.shape.get_values())} dram")
        _address(printer, self.dram)
        printer.print_string(f" bytes {self.bytes.value.data}")
        if self.host is not None:
            printer.print_string(" host")
            _address(printer, self.host)
        _print_attributes(self, printer)

    def verify_(self) -> None:
        if self.role.data not in ROLES:
            raise VerifyException(f'role = "{self.role.data}" should be one of {", ".join(ROLES)}')
        if self.type.data not in {one.name for one in TENSOR_TYPES}:
            raise VerifyException(f'type = "{self.type.data}" is not an element type of tensors')
        _verify_not_negative(dram=self.dram, bytes=self.bytes, host=self.host)


@irdl_op_definition
class SourcesOp(IRDLOperation):
    """
    The table of the operations that instructions were generated for. Instructions refer to an operation by its number
    in the table; a name may be in the table several times.

    ```syntax
    coreasm.sources `{` (`.source` string)* `}` (`attributes` attr-dict)?
    ```

    ```mlir
    coreasm.sources {
      .source "conv/0"  // 0
    }
    ```
    """

    name = "coreasm.sources"
    names = prop_def(ArrayAttr[StringAttr | BytesAttr])

    def __init__(self, names: Sequence[str]) -> None:
        super().__init__(properties={"names": ArrayAttr([StringAttr(name) for name in names])})

    @property
    def all(self) -> list[str]:
        """The names."""
        return [text_of(name) for name in self.names]

    @classmethod
    def parse(cls, parser: Parser) -> SourcesOp:
        names: list[str] = []

        def take(tokens: LineTokens, _: int) -> None:
            tokens.expect(".source")
            names.append(tokens.string("a name"))
            tokens.end()

        BlockParser(parser).read(take)
        op = cls(names)
        op.attributes.update(_attributes(parser))
        return op

    def print(self, printer: Printer) -> None:
        print_block(printer, (f".source {quote(name)}  // {number}" for number, name in enumerate(self.all)))
        _print_attributes(self, printer)


@irdl_op_definition
class SetsOp(IRDLOperation):
    """
    The table of core sets, the receivers of messages. Instructions refer to a set by its number in the table.

    ```syntax
    coreasm.sets `{` (`.set` ranges of cores)* `}` (`attributes` attr-dict)?
    ```

    ```mlir
    coreasm.sets {
      .set 0 to 3, 7  // 0
    }
    ```
    """

    name = "coreasm.sets"
    sizes = prop_def(DenseArrayBase[I32])
    """Number of cores of each set."""
    cores = prop_def(DenseArrayBase[I32])
    """The cores of all sets, one set after the other, ascending."""

    def __init__(self, sets: Sequence[Sequence[int]]) -> None:
        cores = [core for one in sets for core in one]
        super().__init__(
            properties={
                "sizes": DenseArrayBase.from_list(i32, [len(one) for one in sets]),
                "cores": DenseArrayBase.from_list(i32, cores),
            }
        )

    @property
    def all(self) -> list[tuple[int, ...]]:
        """The cores of each set."""
        cores = self.cores.get_values()
        found: list[tuple[int, ...]] = []
        at = 0
        for size in self.sizes.get_values():
            found.append(tuple(cores[at : at + size]))
            at += size
        return found

    @classmethod
    def parse(cls, parser: Parser) -> SetsOp:
        sets: list[list[int]] = []
        marks: list[int] = []

        def take(tokens: LineTokens, mark: int) -> None:
            tokens.expect(".set")
            sets.append(sorted(set(parse_cores(tokens))))
            marks.append(mark)
            tokens.end()

        block = BlockParser(parser)
        block.read(take)
        op = cls(sets)
        op.attributes.update(_attributes(parser))
        block.note_lines(op, marks)
        return op

    def print(self, printer: Printer) -> None:
        lines = (f".set {ranges(one)}".rstrip() + f"  // {number}" for number, one in enumerate(self.all))
        print_block(printer, lines)
        _print_attributes(self, printer)

    def verify_(self) -> None:
        sizes = self.sizes.get_values()
        if any(size < 0 for size in sizes) or sum(sizes) != len(self.cores.get_values()):
            raise VerifyException("'sizes' should add up to the number of 'cores'")
        if any(not 0 <= core < MAX_CORES for core in self.cores.get_values()):
            raise VerifyException(f"'cores' should lie in 0..{MAX_CORES - 1}")


@irdl_op_definition
class LaunchOp(IRDLOperation):
    """
    The programs that the cores execute when the controller starts the launch (`ctl.launch`), and the values of their
    parameters, u32 each. Launches are numbered in the order of the text.

    ```syntax
    coreasm.launch `{` (`.run` program `cores` ranges (`params` integers)?)* `}` (`attributes` attr-dict)?
    ```

    ```mlir
    coreasm.launch {
      .run "worker" cores 0 to 2 params 8192, 1
      .run "idle" cores 3
    }
    ```
    """

    name = "coreasm.launch"
    programs = prop_def(ArrayAttr[StringAttr])
    """The name of the program of each run."""
    core_counts = prop_def(DenseArrayBase[I32])
    cores = prop_def(DenseArrayBase[I32])
    """The cores of all runs, one run after the other."""
    value_counts = prop_def(DenseArrayBase[I32])
    values = prop_def(BytesAttr | StringAttr)
    """The values of all runs, one run after the other, u32 each."""

    def __init__(self, runs: Sequence[Run]) -> None:
        values = [np.ascontiguousarray(run.values, "<u4").tobytes() for run in runs]
        super().__init__(
            properties={
                "programs": ArrayAttr([StringAttr(run.program) for run in runs]),
                "core_counts": DenseArrayBase.from_list(i32, [len(run.cores) for run in runs]),
                "cores": DenseArrayBase.from_list(i32, [core for run in runs for core in run.cores]),
                "value_counts": DenseArrayBase.from_list(i32, [len(run.values) for run in runs]),
                "values": BytesAttr(b"".join(values)),
            }
        )

    @property
    def runs(self) -> list[Run]:
        """Which cores run which program, with which values."""
        cores = self.cores.get_values()
        values: NDArray[np.uint32] = np.frombuffer(payload(self.values), "<u4")
        found: list[Run] = []
        core = value = 0
        for program, many, given in zip(
            self.programs, self.core_counts.get_values(), self.value_counts.get_values(), strict=True
        ):
            found.append(Run(program.data, tuple(cores[core : core + many]), values[value : value + given]))
            core += many
            value += given
        return found

    @classmethod
    def parse(cls, parser: Parser) -> LaunchOp:
        runs: list[Run] = []
        marks: list[int] = []

        def take(tokens: LineTokens, mark: int) -> None:
            tokens.expect(".run")
            runs.append(parse_run(tokens))
            marks.append(mark)
            tokens.end()

        block = BlockParser(parser)
        block.read(take)
        op = cls(runs)
        op.attributes.update(_attributes(parser))
        block.note_lines(op, marks)
        return op

    def print(self, printer: Printer) -> None:
        print_block(printer, run_lines(self.runs))
        _print_attributes(self, printer)

    def verify_(self) -> None:
        core_counts, value_counts = self.core_counts.get_values(), self.value_counts.get_values()
        runs = len(self.programs)
        if len(core_counts) != runs or len(value_counts) != runs or min((*core_counts, *value_counts), default=0) < 0:
            raise VerifyException("'core_counts' and 'value_counts' should have an entry for each of 'programs'")
        if sum(core_counts) != len(self.cores.get_values()) or 4 * sum(value_counts) != len(payload(self.values)):
            raise VerifyException("the counts of all runs should add up to the lengths of 'cores' and 'values'")
        if any(not 0 <= core < MAX_CORES for core in self.cores.get_values()):
            raise VerifyException(f"'cores' should lie in 0..{MAX_CORES - 1}")
