"""
Executables: programs, tensors, launches and weights of a compiled network, as plain NumPy objects.

`file` converts them to bytes and back, `check` validates them. They are independent of the IR: executables are the only
input of the emulator.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ...chips.chip import Chip
from ...dialects.coreasm.encoding import DESC, NO_SOURCE, TYPES, new_words

Role: TypeAlias = Literal["input", "output", "weight", "temp"]
ROLES: tuple[Role, ...] = ("input", "output", "weight", "temp")

Buffer: TypeAlias = bytes | bytearray | memoryview | NDArray[np.uint8]
"""Types of weights: objects with the buffer protocol."""


def as_view(buffer: Buffer) -> memoryview:
    """`buffer` as flat bytes, without a copy (arrays must be contiguous)."""
    view = buffer.data if isinstance(buffer, np.ndarray) else memoryview(buffer)
    return view.cast("B") if view.nbytes else memoryview(b"")


def _no_params() -> NDArray[np.uint32]:
    return np.zeros((0, 2), np.uint32)


def _no_sources() -> NDArray[np.uint32]:
    return np.zeros(0, np.uint32)


@dataclass
class Program:
    """The instructions of a class of cores."""

    name: str
    words: NDArray[Any]
    """WORD [words]"""
    descs: NDArray[Any]
    """DESC [descriptors]: the table that the words' descriptor fields index."""
    params: NDArray[np.uint32] = field(default_factory=_no_params)
    """[n, 2]: word index and field code (see `encoding.FIELDS`) of fields into which each core inserts a value."""
    sources: NDArray[np.uint32] = field(default_factory=_no_sources)
    """[words] index in `Executable.source_names`, or `NO_SOURCE`, to which the array is initialised if omitted."""

    def __post_init__(self) -> None:
        self.params = np.asarray(self.params, np.uint32).reshape(-1, 2)
        if len(self.sources) == 0:
            self.sources = np.full(len(self.words), NO_SOURCE, np.uint32)


@dataclass
class TensorInfo:
    """A named tensor, for the host and for reports."""

    name: str
    role: Role
    dtype: int
    """Type code."""
    shape: tuple[int, ...]
    dram_address: int
    nbytes: int
    """Bytes in DRAM, row-major; at least those of the elements."""
    host_address: int = -1
    """Address in host memory; -1: none. An output without one remains in DRAM, from where another chip copies it."""

    @property
    def element_bytes(self) -> int:
        return TYPES[self.dtype].bytes


@dataclass
class Launch:
    """The programs of all cores that the controller starts together."""

    program_of_core: NDArray[np.int32]
    """[cores] index of the program of each core."""
    params_of_core: list[NDArray[np.uint32]]
    """[cores] values of the program's `params`, in the same order."""


@dataclass
class Executable:
    """A compiled network: all data that the emulator needs to run it."""

    chip: Chip
    tensors: list[TensorInfo]
    programs: list[Program]
    launches: list[Launch]
    core_sets: NDArray[np.bool_]
    """[sets, cores] whether a core is in a set."""
    controller: NDArray[Any]
    """WORD [words]: the controller's program."""
    weights: Buffer = b""
    """Bytes that are loaded to DRAM at `weights_address` before the run."""
    weights_address: int = 0
    dram_bytes_used: int = 0
    source_names: list[str] = field(default_factory=list[str])
    """Names of the source operations of words, which their programs' `sources` index."""
    notes: dict[str, str] = field(default_factory=dict[str, str])
    """Entry name, pipeline, compiler version and others; the order is not kept (files sort them by key)."""
    host_weights: Buffer = b""
    """Bytes in host memory at `host_weights_address`, read-only: the controller copies them to DRAM in parts."""
    host_weights_address: int = 0
    host_bytes_used: int = 0
    """Host memory up to the end of the area for temporaries of the controller; 0 if there is none."""

    @property
    def inputs(self) -> list[TensorInfo]:
        return [t for t in self.tensors if t.role == "input"]

    @property
    def outputs(self) -> list[TensorInfo]:
        return [t for t in self.tensors if t.role == "output"]

    @property
    def weight_bytes(self) -> int:
        return as_view(self.weights).nbytes

    @property
    def host_weight_bytes(self) -> int:
        return as_view(self.host_weights).nbytes

    @property
    def host_bytes(self) -> int:
        """Size of host memory in bytes: inputs and outputs, streamed weights, and temporaries."""
        ends = [t.host_address + t.nbytes for t in self.tensors if t.host_address >= 0]
        if size := self.host_weight_bytes:
            ends.append(self.host_weights_address + size)
        return max([self.host_bytes_used, *ends])


def idle_program() -> Program:
    """The program of cores without work: one `halt`."""
    from ...dialects.coreasm.isa import OPCODE

    words = new_words(1)
    words["op"] = OPCODE["halt"]
    return Program("idle", words, np.zeros(0, DESC))


def source_name(exe: Executable, program: Program, word: int) -> str:
    """The name of the source operation of a word; "" if it is not recorded."""
    index = int(program.sources[word]) if word < len(program.sources) else NO_SOURCE
    return exe.source_names[index] if index < len(exe.source_names) else ""


def to_bytes(exe: Executable) -> bytes:
    """The bytes of the `.mlx` file. Raises MeshloomError if `exe` is not valid."""
    from .file import encode

    return b"".join(encode(exe))


def from_bytes(data: bytes | bytearray | memoryview, location: str = "executable") -> Executable:
    """The executable in `.mlx` bytes, without a copy of weights; `location` names it in errors. Raises InputError."""
    from .file import decode

    return decode(data, location)


def write_executable(exe: Executable, path: str | Path) -> None:
    """Write `exe` to `path` atomically. Raises MeshloomError if that fails."""
    from ...support.files import write_chunks
    from .file import encode

    write_chunks(path, encode(exe))


def read_executable(path: str | Path) -> Executable:
    """The executable in the `.mlx` file at `path`; weights remain in the file (memory-mapped). Raises InputError."""
    from .file import decode, map_file

    return decode(map_file(path), str(path))
