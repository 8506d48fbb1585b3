"""A builder of executables from single instructions, for tests and experiments without the compiler."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...chips.chip import Chip
from ...dialects.coreasm.isa import DESC, OPCODE, WORD
from ..machine.memory import F32, STORAGE, is_float
from .executable import Executable, Launch, Program, TensorInfo

_NONE = 0xFFFF


@dataclass(frozen=True)
class Operand:
    """An operand: address, sizes (up to 5, outermost first) and byte strides."""

    address: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]


def at(address: int, shape: Sequence[int], code: int = F32, strides: Sequence[int] | None = None) -> Operand:
    """An operand at `address`; without `strides`, it is dense and row-major with elements of type `code`."""
    if strides is None:
        size = STORAGE[code].itemsize
        dense: list[int] = []
        for extent in reversed(shape):
            dense.insert(0, size)
            size *= extent
        strides = dense
    return Operand(address, tuple(shape), tuple(strides))


@dataclass
class Assembly:
    """
    Builder of an executable with one launch: `op` appends instructions to cores, `input` and `output` add tensors.
    """

    chip: Chip
    dram_bytes: int = 1 << 16
    words: dict[int, list[NDArray[Any]]] = field(default_factory=dict)
    """The words of each core, without the final halt."""
    table: list[tuple[tuple[int, ...], tuple[int, ...]]] = field(default_factory=list)
    sets: list[tuple[int, ...]] = field(default_factory=list)
    tensors: list[TensorInfo] = field(default_factory=list)
    weights: bytes = b""
    weights_address: int = 0
    sources: list[str] = field(default_factory=list)
    source: str = ""
    """Name of the source operator of the following instructions."""
    _source_of: dict[int, list[int]] = field(default_factory=dict)

    def op(
        self, core: int, mnemonic: str, *operands: Operand | float | None, source: int = F32, result: int | None = None,
        imm: int = 0, wait: int = 0, signal: int = 0, regs: int = 0, cores: Sequence[int] | None = None,
        raw: Sequence[int] = (),
    ) -> None:  # fmt: skip
        """
        Append an instruction to a core. Operands by slot: an operand in memory, a number (immediate) or None; `raw`
        sets the other address fields.

        `cores` is the core set of put, signal and ready; `source` and `result` are element types.
        """
        word = np.zeros((), WORD)
        word["op"], word["imm"] = OPCODE[mnemonic], imm
        word["dtype"] = source | (source if result is None else result) << 4
        word["wait"], word["signal"], word["regs"] = wait, signal, regs
        address, desc = [0, 0, 0, 0], [_NONE] * 4
        far = {"load": (1, 2), "load.gather": (1, 2), "store": (0, 3)}.get(mnemonic)
        for slot, operand in enumerate(operands):
            if isinstance(operand, Operand):
                address[slot] = operand.address & 0xFFFFFFFF
                if far and slot == far[0]:
                    address[far[1]] = operand.address >> 32
                desc[slot] = self._descriptor(operand)
            elif operand is not None:
                address[slot] = immediate_field(operand, source)
        for slot, value in enumerate(raw):
            if slot >= len(operands) or operands[slot] is None:
                address[slot] = value & 0xFFFFFFFF
        if cores is not None:
            desc[3] = self._core_set(tuple(sorted(cores)))
        word["addr"], word["desc"] = address, desc
        self.words.setdefault(core, []).append(word)
        if self.source not in self.sources:
            self.sources.append(self.source)
        self._source_of.setdefault(core, []).append(self.sources.index(self.source))

    def _descriptor(self, operand: Operand) -> int:
        pad = 5 - len(operand.shape)
        entry = ((1,) * pad + operand.shape, (0,) * pad + operand.strides)
        if entry not in self.table:
            self.table.append(entry)
        return self.table.index(entry)

    def _core_set(self, cores: tuple[int, ...]) -> int:
        if cores not in self.sets:
            self.sets.append(cores)
        return self.sets.index(cores)

    def tensor(self, name: str, role: Any, shape: Sequence[int], address: int, code: int = F32) -> None:
        """Add a tensor at a DRAM address; inputs and outputs get the next host address."""
        nbytes = int(np.prod(shape, dtype=np.int64)) * STORAGE[code].itemsize
        host = -1
        if role in ("input", "output"):
            host = max((t.host_address + t.nbytes for t in self.tensors if t.host_address >= 0), default=0)
        self.tensors.append(TensorInfo(name, role, code, tuple(shape), address, nbytes, host))

    def build(self) -> Executable:
        """The executable: copies inputs in, runs the launch, copies outputs out."""
        descs = np.zeros(len(self.table), DESC)
        for k, (sizes, strides) in enumerate(self.table):
            descs[k]["size"], descs[k]["stride"] = sizes, strides
        none = np.zeros((0, 2), np.uint32)
        programs: list[Program] = []
        halt = np.zeros((), WORD)
        halt["op"], halt["desc"] = OPCODE["halt"], _NONE
        for core in range(self.chip.cores):
            words = np.array([*self.words.get(core, []), halt], WORD)
            sources = np.array([*self._source_of.get(core, []), 0xFFFFFFFF], np.uint32)
            programs.append(Program(f"core{core}", words, descs, none, sources))
        sets = np.zeros((len(self.sets), self.chip.cores), np.bool_)
        for k, members in enumerate(self.sets):
            sets[k, list(members)] = True
        cores = np.arange(self.chip.cores, dtype=np.int32)
        launch = Launch(cores, [np.zeros(0, np.uint32)] * self.chip.cores)
        return Executable(
            chip=self.chip, tensors=self.tensors, programs=programs, launches=[launch], core_sets=sets,
            controller=self._controller(), weights=self.weights, weights_address=self.weights_address,
            dram_bytes_used=self.dram_bytes, source_names=self.sources, notes={},
        )  # fmt: skip

    def _controller(self) -> NDArray[Any]:
        words = [control_copy("ctl.h2d", t, k) for k, t in enumerate(self.tensors) if t.role == "input"]
        tags = [k for k, t in enumerate(self.tensors) if t.role == "input"]
        words += [control("ctl.wait", tag) for tag in tags]
        words += [control("ctl.launch", 0), control("ctl.join", 0)]
        words += [control_copy("ctl.d2h", t, k) for k, t in enumerate(self.tensors) if t.role == "output"]
        words += [control("ctl.wait", k) for k, t in enumerate(self.tensors) if t.role == "output"]
        return np.array([*words, control("ctl.halt", 0)], WORD)


def control(mnemonic: str, imm: int) -> NDArray[Any]:
    """A word of the controller other than a copy."""
    word = np.zeros((), WORD)
    word["op"], word["imm"], word["desc"] = OPCODE[mnemonic], imm, _NONE
    return word


def control_copy(mnemonic: str, info: TensorInfo, tag: int) -> NDArray[Any]:
    """A word of the controller that copies a whole tensor between host and DRAM."""
    word = np.zeros((), WORD)
    word["op"], word["imm"] = OPCODE[mnemonic], tag
    halves = [value >> shift & 0xFFFFFFFF for value in (info.dram_address, info.host_address) for shift in (0, 32)]
    word["addr"] = halves
    word["desc"] = [info.nbytes >> 16 * k & 0xFFFF for k in range(4)]
    return word


def immediate_field(value: float, code: int) -> int:
    """The address field of an immediate of element type `code`."""
    if is_float(code):
        return int(np.array(value, np.float32).view(np.uint32))
    return int(value) & 0xFFFFFFFF
