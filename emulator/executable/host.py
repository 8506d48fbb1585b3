"""The controller in a run: host memory, copies to and from DRAM, launches."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import cast

import numpy as np

from ...dialects.coreasm.isa import MNEMONICS
from ...support.errors import InputError
from ..machine.errors import EmulationError
from ..machine.memory import BF16, STORAGE, Array, Bytes, new_memory, round_bf16, widen_bf16
from .executable import Executable, TensorInfo, as_view


def host_memory(exe: Executable, inputs: Mapping[str, Array]) -> Bytes:
    """Host memory with inputs and weights at their addresses. Raises InputError for inputs missing or mismatched."""
    wanted = {info.name: info for info in exe.tensors if info.role == "input"}
    unknown = [name for name in inputs if name not in wanted]
    if unknown:
        raise InputError(f"unknown input '{unknown[0]}'; the inputs are {', '.join(wanted) or 'none'}")
    memory = new_memory(exe.host_bytes)
    held = as_view(exe.host_weights)
    memory[exe.host_weights_address : exe.host_weights_address + len(held)] = np.frombuffer(held, np.uint8)
    for name, info in wanted.items():
        if name not in inputs:
            raise InputError(f"input '{name}' is missing: give an array of shape {list(info.shape)}")
        if info.host_address >= 0:
            memory[info.host_address : info.host_address + info.nbytes] = _raw(np.asarray(inputs[name]), info)
    return memory


def _raw(value: Array, info: TensorInfo) -> Bytes:
    kind = STORAGE[info.dtype]
    if value.shape != tuple(info.shape):
        raise InputError(f"input '{info.name}' has shape {list(value.shape)}, expected {list(info.shape)}")
    if info.dtype == BF16 and value.dtype == np.float32:
        value = round_bf16(value)
    elif info.dtype == BF16 and value.dtype.name == "bfloat16":
        value = value.view(np.uint16)
    if value.dtype != kind:
        raise InputError(f"input '{info.name}' has type {value.dtype}, expected {kind}")
    raw = np.frombuffer(value.astype(kind, copy=False).tobytes(), np.uint8)
    if len(raw) != info.nbytes:
        raise InputError(f"input '{info.name}': the executable reserves {info.nbytes} bytes for {len(raw)}")
    return raw


def tensor_values(raw: Bytes, info: TensorInfo) -> Array:
    """A copy of raw bytes as a tensor; bf16 is returned as f32."""
    nbytes = math.prod(info.shape) * info.element_bytes
    if len(raw) < nbytes:
        raise EmulationError(f"tensor '{info.name}' does not fit in its {info.nbytes} bytes")
    values = np.frombuffer(raw[:nbytes].tobytes(), STORAGE[info.dtype]).reshape(info.shape)
    return widen_bf16(values) if info.dtype == BF16 else values.copy()


def read_outputs(exe: Executable, host: Bytes, dram: Bytes) -> dict[str, Array]:
    """The outputs after a run, from host memory, or from DRAM if they remain there."""

    def raw(info: TensorInfo) -> Bytes:
        memory, address = (dram, info.dram_address) if info.host_address < 0 else (host, info.host_address)
        return memory[address : address + info.nbytes]

    return {info.name: tensor_values(raw(info), info) for info in exe.outputs}


@dataclass(frozen=True)
class ControllerStep:
    """One word of the controller's program."""

    mnemonic: str
    number: int
    """Number of the launch, or tag of the copy."""
    target: int
    source: int
    nbytes: int
    """Bytes of a copy; `source` and `target` are addresses in DRAM and host memory."""
    word: int

    @property
    def host(self) -> int:
        """The address of a copy in host memory."""
        return self.target if self.mnemonic == "ctl.d2h" else self.source

    def run(self, host: Bytes, dram: Bytes, launch: Callable[[int], None]) -> None:
        """Execute the step immediately, which is equivalent to a later execution because of the controller's waits."""
        if self.mnemonic == "ctl.launch":
            launch(self.number)
        elif self.mnemonic in ("ctl.h2d", "ctl.d2h"):
            to, of = (dram, host) if self.mnemonic == "ctl.h2d" else (host, dram)
            if self.target + self.nbytes > len(to) or self.source + self.nbytes > len(of):
                raise EmulationError(
                    f"controller, word {self.word} '{self.mnemonic}': {self.nbytes} bytes from {self.source} to "
                    f"{self.target} leave host memory ({len(host)} bytes) or DRAM ({len(dram)} bytes)"
                )
            to[self.target : self.target + self.nbytes] = of[self.source : self.source + self.nbytes]


def controller_steps(exe: Executable) -> Iterator[ControllerStep]:
    """The controller's program up to its `ctl.halt`."""
    for index, word in enumerate(exe.controller):
        mnemonic = MNEMONICS[int(word["op"])]
        if mnemonic == "ctl.halt":
            return
        if not mnemonic.startswith("ctl."):
            raise EmulationError(f"controller, word {index}: '{mnemonic or '?'}' is no instruction of the controller")
        low0, high0, low1, high1 = cast("list[int]", word["addr"].tolist())
        parts = cast("list[int]", word["desc"].tolist())
        nbytes = sum(part << 16 * k for k, part in enumerate(parts))
        dram, host = low0 + (high0 << 32), low1 + (high1 << 32)
        target, source = (host, dram) if mnemonic == "ctl.d2h" else (dram, host)
        yield ControllerStep(mnemonic, int(word["imm"]), target, source, nbytes, index)
    raise EmulationError("the controller's program ends without 'ctl.halt'")
