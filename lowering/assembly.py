"""Listings (see `listing`) as executables."""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
import reprlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from ..chips.load import chip_from_table
from ..dialects.coreasm.encoding import DESC, FIELD_CODE, MAX_DIMS, NO_SOURCE, TENSOR_TYPES, WORD
from ..dialects.coreasm.isa import BY_MNEMONIC, ISA_VERSION
from ..dialects.coreasm.text import Fields, parse_fields
from ..emulator.executable import ROLES, Buffer, Executable, Launch, Program, TensorInfo, as_view
from ..emulator.executable_check import check_executable
from ..support.errors import InputError
from ..support.input_files import read_regular
from .listing_tokens import LineTokens

_MAX_CORES = 4096


@dataclass
class _Code:
    """Words that are being read; those of `programs` have descriptors and parameters too."""

    name: str
    place: str
    words: list[tuple[int, Fields]] = field(default_factory=list[tuple[int, Fields]])
    sources: list[int] = field(default_factory=list[int])
    loops: list[int] = field(default_factory=list[int])
    descs: list[tuple[list[int], list[int]]] = field(default_factory=list[tuple[list[int], list[int]]])
    params: list[tuple[int, int]] = field(default_factory=list[tuple[int, int]])

    def array(self) -> NDArray[Any]:
        """The words; all loops must be closed."""
        if self.loops:
            raise InputError(f"{self.place}: word {self.loops[-1]}: a 'loop' lacks its '}}'")
        rows = [(c, f.dtype, f.wait, f.signal, f.regs, f.imm, tuple(f.addr), tuple(f.desc)) for c, f in self.words]
        return np.array(rows, WORD)

    def program(self) -> Program:
        """The program."""
        words = self.array()
        descs = np.zeros(len(self.descs), DESC)
        descs["size"] = 1
        for row, (sizes, strides) in zip(descs, self.descs, strict=True):
            row["size"][MAX_DIMS - len(sizes) :] = sizes
            row["stride"][MAX_DIMS - len(strides) :] = strides
        params = np.array(self.params, np.uint32).reshape(-1, 2)
        return Program(self.name, words, descs, params, np.array(self.sources, np.uint32))


@dataclass
class _Run:
    """One line of a launch: these cores run that program with these values."""

    place: str
    program: str
    cores: list[int]
    values: list[int]


class _Assembler:
    """State while a listing is read."""

    def __init__(self, place: str, folder: Path, weights: Buffer | None) -> None:
        self.place, self.folder, self.given_weights = place, folder, weights
        self.chip: dict[str, Any] | None = None
        self.version = False
        self.notes: dict[str, str] = {}
        self.dram_used = 0
        self.tensors: list[TensorInfo] = []
        self.sets: list[list[int]] = []
        self.sources: list[str] = []
        self.programs: list[_Code] = []
        self.launches: list[list[_Run]] = []
        self.controller: _Code | None = None
        self.code: _Code | None = None
        self.weights: Buffer | None = None
        self.weights_address = 0
        self.host_weights: Buffer = b""
        self.host_weights_address = self.host_used = 0
        self.directives: dict[str, Callable[[LineTokens, Iterator[tuple[int, str]]], None]] = {
            ".meshloom": self._meshloom, ".chip": self._chip, ".note": self._note, ".dram": self._dram,
            ".tensor": self._tensor, ".set": self._set, ".source": self._source, ".program": self._program,
            ".desc": self._desc, ".param": self._param, ".launch": self._launch, ".run": self._run,
            ".controller": self._controller, ".weights": self._weights, ".host": self._host,
        }  # fmt: skip

    def read(self, lines: Iterable[str]) -> None:
        numbered = iter(enumerate(lines, 1))
        for number, line in numbered:
            tokens = LineTokens(line, f"{self.place}:{number}")
            if not tokens.kinds:
                continue
            if tokens.punctuation("}"):
                self._close(tokens)
            else:
                word = tokens.word()
                if word is None:
                    tokens.fail("expected an instruction or a directive")
                directive = self.directives.get(word)
                if directive is not None:
                    directive(tokens, numbered)
                else:
                    self._instruction(word, tokens)
            tokens.end()

    def _instruction(self, mnemonic: str, tokens: LineTokens) -> None:
        ins, code = BY_MNEMONIC.get(mnemonic), self.code
        if ins is None:
            raise InputError(f"{tokens.place}: there is no instruction or directive {reprlib.repr(mnemonic)}")
        if code is None:
            raise InputError(f"{tokens.place}: instructions belong after '.program' or '.controller'")
        fields = parse_fields(tokens, ins)
        code.sources.append(tokens.integer("a source", 0, NO_SOURCE) if tokens.keyword("from") else NO_SOURCE)
        code.words.append((ins.code, fields))
        if mnemonic == "loop":
            tokens.expect("{")
            code.loops.append(len(code.words) - 1)

    def _close(self, tokens: LineTokens) -> None:
        if self.code is None or not self.code.loops:
            tokens.fail("'}' closes no 'loop'")
        at = self.code.loops.pop()
        self.code.words[at][1].addr[1] = len(self.code.words) - at - 1

    def _meshloom(self, tokens: LineTokens, _: object) -> None:
        tokens.expect("isa")
        if tokens.integer("a version") != ISA_VERSION:
            tokens.fail(f"this program knows version {ISA_VERSION} of the instruction set")
        self.version = True

    def _chip(self, tokens: LineTokens, _: object) -> None:
        try:
            chip: object = json.loads(tokens.string("a chip description"))
        except (ValueError, RecursionError):
            chip = None
        if not isinstance(chip, dict):
            tokens.fail("the chip description is not a JSON object")
        self.chip = cast("dict[str, Any]", chip)

    def _note(self, tokens: LineTokens, _: object) -> None:
        key = tokens.string("a key")
        self.notes[key] = tokens.string("a value")

    def _dram(self, tokens: LineTokens, _: object) -> None:
        tokens.expect("used")
        self.dram_used = tokens.integer("bytes")

    def _tensor(self, tokens: LineTokens, _: object) -> None:
        role, name, kind = tokens.word(), tokens.string("a name"), tokens.word()
        if role not in ROLES:
            tokens.fail(f"the role must be one of {', '.join(ROLES)}")
        found = next((type for type in TENSOR_TYPES if type.name == kind), None)
        if found is None:
            tokens.fail(f"the element type must be one of {', '.join(type.name for type in TENSOR_TYPES)}")
        shape = tuple(_numbers(tokens, 0, (1 << 63) - 1))
        tokens.expect("dram")
        dram = tokens.integer("an address")
        tokens.expect("bytes")
        size = tokens.integer("a size")
        host = tokens.integer("an address") if tokens.keyword("host") else -1
        self.tensors.append(TensorInfo(name, role, found.code, shape, dram, size, host))

    def _set(self, tokens: LineTokens, _: object) -> None:
        self.sets.append(_cores(tokens))

    def _source(self, tokens: LineTokens, _: object) -> None:
        self.sources.append(tokens.string("a name"))

    def _program(self, tokens: LineTokens, _: object) -> None:
        self.code = _Code(tokens.string("a name"), tokens.place)
        self.programs.append(self.code)

    def _desc(self, tokens: LineTokens, _: object) -> None:
        sizes = _numbers(tokens, 1, (1 << 32) - 1)
        strides = _numbers(tokens, -(1 << 31), (1 << 31) - 1)
        if self.code is None or not 1 <= len(sizes) <= MAX_DIMS or len(sizes) != len(strides):
            tokens.fail(f"a descriptor of a program has 1 to {MAX_DIMS} sizes and as many strides")
        self.code.descs.append((sizes, strides))

    def _param(self, tokens: LineTokens, _: object) -> None:
        tokens.expect("word")
        number, name = tokens.integer("a word", 0, (1 << 32) - 1), tokens.word()
        if self.code is None or name not in FIELD_CODE:
            tokens.fail(f"a parameter of a program names one of {', '.join(FIELD_CODE)}")
        self.code.params.append((number, FIELD_CODE[name]))

    def _launch(self, tokens: LineTokens, _: object) -> None:
        self.code = None
        self.launches.append([])

    def _run(self, tokens: LineTokens, _: object) -> None:
        if not self.launches:
            tokens.fail("'.run' belongs after '.launch'")
        program = tokens.string("a program")
        tokens.expect("cores")
        cores = _cores(tokens)
        values: list[int] = []
        if tokens.keyword("params"):
            values = [tokens.integer("a value", 0, (1 << 32) - 1)]
            while tokens.punctuation(","):
                values.append(tokens.integer("a value", 0, (1 << 32) - 1))
        self.launches[-1].append(_Run(tokens.place, program, cores, values))

    def _controller(self, tokens: LineTokens, _: object) -> None:
        self.controller = self.code = _Code("controller", tokens.place)

    def _weights(self, tokens: LineTokens, lines: Iterator[tuple[int, str]]) -> None:
        self.code = None
        self.weights_address = tokens.integer("an address")
        tokens.expect("bytes")
        size = tokens.integer("a size")
        tokens.expect("sha256")
        digest = tokens.string("a hash")
        given = self._file(tokens) if tokens.keyword("file") else self._inline(tokens, lines)
        self.weights = self._checked(tokens, given, size, digest, 0)

    def _host(self, tokens: LineTokens, lines: Iterator[tuple[int, str]]) -> None:
        self.code = None
        self.host_weights_address = tokens.integer("an address")
        tokens.expect("bytes")
        size = tokens.integer("a size")
        tokens.expect("sha256")
        digest = tokens.string("a hash")
        tokens.expect("used")
        self.host_used = tokens.integer("bytes")
        if tokens.keyword("file"):
            given = self._file(tokens)
            tokens.expect("at")
            given = given[tokens.integer("an offset") :]
        else:
            given = self._inline(tokens, lines)
        start = 0 if self.weights is None else as_view(self.weights).nbytes
        self.host_weights = self._checked(tokens, given, size, digest, start)

    def _file(self, tokens: LineTokens) -> bytes:
        path = self.folder / tokens.string("a file name")
        try:
            return read_regular(path)
        except (OSError, ValueError) as error:
            raise InputError(f"{tokens.place}: cannot read the weights {path}: {error}") from error

    def _checked(self, tokens: LineTokens, found: bytes, size: int, digest: str, start: int) -> Buffer:
        """`size` bytes of what the listing gives, or from `start` on of what the caller gives, with that hash."""
        if self.given_weights is None and not found and size:
            tokens.fail("the listing has no weights: give them with --weights FILE")
        weights = memoryview(found)[:size] if self.given_weights is None else as_view(self.given_weights)[start:][:size]
        if weights.nbytes != size or hashlib.sha256(weights).hexdigest() != digest:
            tokens.fail(f"the weights are not the {size} bytes with that sha256")
        return weights

    def _inline(self, tokens: LineTokens, lines: Iterator[tuple[int, str]]) -> bytes:
        pieces: list[bytes] = []
        for number, line in lines:
            line = line.strip()
            if line == ".end":
                break
            try:
                pieces.append(base64.b64decode(line, validate=True))
            except (binascii.Error, ValueError):
                raise InputError(f"{self.place}:{number}: expected weights in base64, or '.end'") from None
        return b"".join(pieces)

    def finish(self) -> Executable:
        if not self.version or self.chip is None or self.controller is None:
            raise InputError(f"{self.place}: a listing needs '.meshloom', '.chip' and '.controller'")
        chip = chip_from_table(self.chip, f"{self.place}: chip description")
        sets = np.zeros((len(self.sets), chip.cores), np.bool_)
        for row, members in zip(sets, self.sets, strict=True):
            if any(core >= chip.cores for core in members):
                raise InputError(f"{self.place}: a core set names a core above {chip.cores - 1}")
            row[members] = True
        exe = Executable(
            chip, self.tensors, [code.program() for code in self.programs], [], sets, self.controller.array(),
            b"" if self.weights is None else self.weights, self.weights_address, self.dram_used, self.sources,
            self.notes, self.host_weights, self.host_weights_address, self.host_used,
        )  # fmt: skip
        exe.launches = [self._finish_launch(runs, chip.cores) for runs in self.launches]
        check_executable(exe, self.place)
        return exe

    def _finish_launch(self, runs: list[_Run], cores: int) -> Launch:
        numbers = {code.name: index for index, code in enumerate(self.programs)}
        program_of_core = np.full(cores, -1, np.int32)
        params: list[NDArray[np.uint32]] = [np.zeros(0, np.uint32)] * cores
        for run in runs:
            if run.program not in numbers:
                raise InputError(f"{run.place}: there is no program '{run.program}'")
            values = np.array(run.values, np.uint32)
            for core in run.cores:
                if core >= cores or program_of_core[core] >= 0:
                    raise InputError(f"{run.place}: core {core} does not exist or has a program already")
                program_of_core[core] = numbers[run.program]
                params[core] = values
        if (program_of_core < 0).any():
            raise InputError(f"{self.place}: a launch gives core {int(np.argmin(program_of_core))} no program")
        return Launch(program_of_core, params)


def _numbers(tokens: LineTokens, low: int, high: int) -> list[int]:
    tokens.expect("[")
    if tokens.punctuation("]"):
        return []
    values = [tokens.integer("a number", low, high)]
    while tokens.punctuation(","):
        values.append(tokens.integer("a number", low, high))
    tokens.expect("]")
    return values


def _cores(tokens: LineTokens) -> list[int]:
    cores: list[int] = []
    if tokens.at == len(tokens.kinds):
        return cores
    while True:
        first = tokens.integer("a core", 0, _MAX_CORES - 1)
        last = tokens.integer("a core", first, _MAX_CORES - 1) if tokens.keyword("to") else first
        cores.extend(range(first, last + 1))
        if not tokens.punctuation(","):
            return cores


def assemble(
    lines: Iterable[str], place: str = "listing", folder: str | Path = ".", weights: Buffer | None = None
) -> Executable:
    """
    The executable of a listing.

    `place` names it in errors; `folder` is where its weights file lies; `weights` replace those of the listing (they
    must be the same bytes). Raises InputError naming `place`, line and remedy.
    """
    assembler = _Assembler(place, Path(folder), weights)
    assembler.read(lines)
    return assembler.finish()
