"""Assembler: listings (see `listing`) to executables."""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, NoReturn, cast

from ...chips import Chip, chip_names, load_chip
from ...chips.load import chip_from_table
from ...dialects.coreasm.encoding import TENSOR_TYPES
from ...dialects.coreasm.isa import ISA_VERSION
from ...dialects.coreasm.launch_text import Run, parse_cores, parse_run
from ...dialects.coreasm.line_tokens import LineTokens, integers
from ...dialects.coreasm.program_text import CodeReader
from ...emulator.executable.check import check_executable
from ...emulator.executable.executable import ROLES, Buffer, Executable, TensorInfo, as_view
from ...support.errors import InputError, shortened
from ...support.input_files import read_regular
from .program_code import SourceTable, core_sets_of, launch_of


class _Assembler:
    """State while a listing is read."""

    def __init__(self, location: str, folder: Path, weights: Buffer | None) -> None:
        self.location, self.folder, self.given_weights = location, folder, weights
        self.chip: Chip | None = None
        self.version = False
        self.notes: dict[str, str] = {}
        self.dram_used = 0
        self.tensors: list[TensorInfo] = []
        self.sets: list[list[int]] = []
        self.sources: list[str] = []
        self.programs: list[tuple[str, CodeReader]] = []
        self.launches: list[list[tuple[Run, str]]] = []
        self.controller: CodeReader | None = None
        self.code: CodeReader | None = None
        self.line = 0
        self.weights: Buffer | None = None
        self.weights_address = 0
        self.host_weights: Buffer = b""
        self.host_weights_address = self.host_used = 0
        self.directives: dict[str, Callable[[LineTokens, Iterator[tuple[int, str]]], None]] = {
            ".meshloom": self._meshloom, ".chip": self._chip, ".note": self._note, ".dram": self._dram,
            ".tensor": self._tensor, ".set": self._set, ".source": self._source, ".program": self._program,
            ".launch": self._launch, ".run": self._run, ".controller": self._controller,
            ".weights": self._weights, ".host": self._host,
        }  # fmt: skip

    def read(self, lines: Iterable[str]) -> None:
        numbered = iter(enumerate(lines, 1))
        for number, line in numbered:
            self.line = number
            tokens = LineTokens(line, f"{self.location}:{number}")
            if not tokens.kinds:
                continue
            directive = self.directives.get(tokens.texts[0]) if tokens.kinds[0] == "word" else None
            if directive is not None:
                tokens.word()
                directive(tokens, numbered)
                tokens.end()
            elif self.code is not None:
                self.code.line(tokens, number)
            elif tokens.kinds[0] == "word":
                name = shortened(tokens.texts[0], 40)
                raise InputError(f"{tokens.location}: '{name}' belongs after '.program' or '.controller'")
            else:
                tokens.fail("expected an instruction or a directive")

    def _fail(self, mark: int, problem: str) -> NoReturn:
        raise InputError(f"{self.location}:{mark}: {problem}")

    def _meshloom(self, tokens: LineTokens, _: object) -> None:
        tokens.expect("isa")
        if tokens.integer("a version") != ISA_VERSION:
            tokens.fail(f"this version supports instruction set {ISA_VERSION}")
        self.version = True

    def _chip(self, tokens: LineTokens, _: object) -> None:
        text = tokens.string("a chip's name or description")
        if text in chip_names():
            self.chip = load_chip(text)
            return
        try:
            table: object = json.loads(text)
        except (ValueError, RecursionError):
            table = None
        if not isinstance(table, dict):
            tokens.fail(f"the chip is neither a JSON object nor one of {', '.join(chip_names())}")
        self.chip = chip_from_table(cast("dict[str, Any]", table), f"{self.location}: chip description")

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
        shape = tuple(integers(tokens, 0, (1 << 63) - 1))
        tokens.expect("dram")
        dram = tokens.integer("an address")
        tokens.expect("bytes")
        size = tokens.integer("a size")
        host = tokens.integer("an address") if tokens.keyword("host") else -1
        self.tensors.append(TensorInfo(name, role, found.code, shape, dram, size, host))

    def _set(self, tokens: LineTokens, _: object) -> None:
        self.sets.append(parse_cores(tokens))

    def _source(self, tokens: LineTokens, _: object) -> None:
        self.sources.append(tokens.string("a name"))

    def _program(self, tokens: LineTokens, _: object) -> None:
        self.code = CodeReader(self._fail, controller=False)
        self.programs.append((tokens.string("a name"), self.code))

    def _launch(self, tokens: LineTokens, _: object) -> None:
        self.code = None
        self.launches.append([])

    def _run(self, tokens: LineTokens, _: object) -> None:
        if not self.launches:
            tokens.fail("'.run' belongs after '.launch'")
        self.launches[-1].append((parse_run(tokens), tokens.location))

    def _controller(self, tokens: LineTokens, _: object) -> None:
        self.controller = self.code = CodeReader(self._fail, controller=True)

    def _weights(self, tokens: LineTokens, lines: Iterator[tuple[int, str]]) -> None:
        self.weights_address, self.weights = self._image(tokens, lines, host=False)

    def _host(self, tokens: LineTokens, lines: Iterator[tuple[int, str]]) -> None:
        self.host_weights_address, self.host_weights = self._image(tokens, lines, host=True)

    def _image(self, tokens: LineTokens, lines: Iterator[tuple[int, str]], *, host: bool) -> tuple[int, Buffer]:
        """The address and the bytes of the initial contents of DRAM, or of the host's memory."""
        self.code = None
        address = tokens.integer("an address")
        tokens.expect("bytes")
        size = tokens.integer("a size")
        tokens.expect("sha256")
        digest = tokens.string("a hash")
        if host:
            tokens.expect("used")
            self.host_used = tokens.integer("bytes")
        if tokens.keyword("file"):
            given = self._file(tokens)
            if host:
                tokens.expect("at")
                given = given[tokens.integer("an offset") :]
        else:
            given = self._inline(tokens, lines)
        start = as_view(self.weights).nbytes if host and self.weights is not None else 0
        return address, self._checked(tokens, given, size, digest, start)

    def _file(self, tokens: LineTokens) -> bytes:
        path = self.folder / tokens.string("a file name")
        try:
            return read_regular(path)
        except (OSError, ValueError) as error:
            raise InputError(f"{tokens.location}: cannot read the weights {path}: {error}") from error

    def _checked(self, tokens: LineTokens, found: bytes, size: int, digest: str, start: int) -> Buffer:
        """`size` bytes from the listing, or from `start` on of the caller's weights, checked against the hash."""
        if self.given_weights is None and not found and size:
            tokens.fail("the listing has no weights: give them with --weights FILE")
        weights = memoryview(found)[:size] if self.given_weights is None else as_view(self.given_weights)[start:][:size]
        if weights.nbytes != size or hashlib.sha256(weights).hexdigest() != digest:
            tokens.fail(f"the weights are not the {size} bytes with that sha256")
        return weights

    def _inline(self, tokens: LineTokens, lines: Iterator[tuple[int, str]]) -> bytes:
        chunks: list[bytes] = []
        for number, line in lines:
            line = line.strip()
            if line == ".end":
                break
            try:
                chunks.append(base64.b64decode(line, validate=True))
            except (binascii.Error, ValueError):
                raise InputError(f"{self.location}:{number}: expected weights in base64, or '.end'") from None
        return b"".join(chunks)

    def finish(self) -> Executable:
        if not self.version or self.chip is None or self.controller is None:
            raise InputError(f"{self.location}: a listing needs '.meshloom', '.chip' and '.controller'")
        chip = self.chip
        sets = core_sets_of([(members, self.location) for members in self.sets], chip.cores)
        table = SourceTable(self.sources)
        programs = [table.program(name, code.finish(self.line)) for name, code in self.programs]
        exe = Executable(
            chip, self.tensors, programs, [], sets, self.controller.finish(self.line).words,
            b"" if self.weights is None else self.weights, self.weights_address, self.dram_used, self.sources,
            self.notes, self.host_weights, self.host_weights_address, self.host_used,
        )  # fmt: skip
        numbers = {program.name: number for number, program in enumerate(programs)}
        exe.launches = [launch_of(runs, numbers, chip.cores, self.location) for runs in self.launches]
        check_executable(exe, self.location)
        return exe


def assemble(
    lines: Iterable[str], location: str = "listing", folder: str | Path = ".", weights: Buffer | None = None
) -> Executable:
    """
    The executable of a listing.

    `location` names it in errors; `folder` is the folder of its weights file; `weights` replace those of the listing
    (they must be the same bytes). Raises InputError naming `location`, line and remedy.
    """
    assembler = _Assembler(location, Path(folder), weights)
    assembler.read(lines)
    return assembler.finish()
