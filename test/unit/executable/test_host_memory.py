"""Weights and kept values in host memory: files, listings, the checks and the timing of the controller's copies."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from meshloom.chips import load_chip
from meshloom.dialects.coreasm.isa import OPCODE, new_words
from meshloom.emulator.executable.executable import Executable, TensorInfo, as_view, from_bytes, to_bytes
from meshloom.emulator.functional.engine import run_functional
from meshloom.emulator.machine.errors import EmulationError
from meshloom.emulator.reports.stats import collect
from meshloom.emulator.timing.engine import run_timing
from meshloom.emulator.timing.reference import run_reference
from meshloom.lowering.linker.assemble import assemble
from meshloom.lowering.linker.listing import listing
from meshloom.support.errors import InputError, MeshloomError

HELD = np.arange(16, dtype=np.float32)
"""64 bytes of weights at host address 128."""
Copy = tuple[str, int, int, int, int]
"""(instruction, tag, DRAM address, host address, bytes); a wait uses the tag only."""


def host_network(copies: list[Copy]) -> Executable:
    """No launches. Host memory: input (0-63), output (64-127), weights (128-191), space (192-255)."""
    words = new_words(len(copies) + 1)
    for word, (name, tag, dram, host, size) in zip(words, copies, strict=False):
        word["op"], word["imm"] = OPCODE[name], tag
        if name != "ctl.wait":
            word["addr"] = dram, 0, host, 0
            word["desc"] = size, 0, 0, 0
    words["op"][-1] = OPCODE["ctl.halt"]
    chip = load_chip("tiny")
    tensors = [TensorInfo("x", "input", 0, (16,), 0, 64, 0), TensorInfo("y", "output", 0, (16,), 64, 64, 64)]
    return Executable(
        chip, tensors, [], [], np.zeros((0, chip.cores), np.bool_), words, dram_bytes_used=256,
        host_weights=HELD.tobytes(), host_weights_address=128, host_bytes_used=256,
    )  # fmt: skip


GOOD: list[Copy] = [
    ("ctl.h2d", 0, 128, 128, 64),  # weights to DRAM
    ("ctl.wait", 0, 0, 0, 0),
    ("ctl.d2h", 1, 128, 192, 64),  # from there to the host
    ("ctl.wait", 1, 0, 0, 0),
    ("ctl.h2d", 2, 64, 192, 64),  # and back, to another address
    ("ctl.wait", 2, 0, 0, 0),
    ("ctl.d2h", 3, 64, 64, 64),
]


def test_round_trips() -> None:
    exe = host_network(GOOD)
    data = to_bytes(exe)
    again = from_bytes(data)
    assert to_bytes(again) == data
    assert bytes(as_view(again.host_weights)) == HELD.tobytes()
    assert (again.host_weights_address, again.host_bytes_used, again.host_bytes) == (128, 256, 256)
    assert to_bytes(assemble(list(listing(exe)))) == data
    bare = list(listing(exe, weights="none"))
    assert to_bytes(assemble(bare, weights=HELD.tobytes())) == data
    with pytest.raises(InputError, match="--weights FILE"):
        assemble(bare)


def test_weights_of_both_kinds_share_a_file(sample: Callable[[], Executable], tmp_path_factory: pytest.TempPathFactory):
    exe = replace(sample(), host_weights=HELD.tobytes(), host_weights_address=192)
    folder = tmp_path_factory.mktemp("listing")
    (folder / "w.bin").write_bytes(bytes(as_view(exe.weights)) + HELD.tobytes())
    lines = list(listing(exe, weights="file", weights_file="w.bin"))
    assert to_bytes(assemble(lines, folder=folder)) == to_bytes(exe)


def test_damaged_bytes_are_detected() -> None:
    data = to_bytes(host_network(GOOD))
    for at in range(0, len(data), 3):
        damaged = bytearray(data)
        damaged[at] ^= 0x10
        with pytest.raises(InputError):
            from_bytes(damaged)


@pytest.mark.parametrize(
    ("copy", "message"),
    [
        (("ctl.d2h", 0, 0, 150, 8), "overwrites the weights"),
        (("ctl.h2d", 0, 0, 200, 64), "beyond the DRAM or the host's memory"),
    ],
)
def test_invalid_copies_are_refused(copy: Copy, message: str) -> None:
    with pytest.raises(MeshloomError, match=message):
        to_bytes(host_network([copy]))


def test_tensors_may_not_overlap_the_weights() -> None:
    exe = host_network(GOOD)
    exe.tensors[1].host_address = 100
    with pytest.raises(MeshloomError, match="'y' overlaps the weights in host memory"):
        to_bytes(exe)


def test_values_and_time() -> None:
    exe = host_network(GOOD)
    x = np.zeros(16, np.float32)
    np.testing.assert_array_equal(run_functional(exe, {"x": x}, check=True).outputs["y"], HELD)
    timing = run_timing(exe)
    each = 1000 + 64 // 4  # latency, and bytes per cycle, of the host link of `tiny`
    assert (timing.total_cycles, timing.host_in_bytes, timing.host_out_bytes) == (4 * each, 128, 128)
    assert run_reference(exe).total_cycles == timing.total_cycles
    assert collect(exe, timing)["bytes"]["host_weights"] == 64


@pytest.mark.parametrize(
    ("left_out", "message"),
    [
        (3, "word 3 'ctl.h2d': race in host memory"),
        (2, "word 3 'ctl.h2d': reads byte 192 of host memory, which has not been written"),
        (5, "word 5 'ctl.d2h': race with a copy"),
    ],
)
def test_errors_of_the_controller_are_detected(left_out: int, message: str) -> None:
    exe = host_network([copy for index, copy in enumerate(GOOD) if index != left_out])
    with pytest.raises(EmulationError, match=message):
        run_functional(exe, {"x": np.zeros(16, np.float32)}, check=True)
