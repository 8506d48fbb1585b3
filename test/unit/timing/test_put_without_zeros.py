"""Tests of transfers between cores without zeros: the same bits arrive, and fewer bytes are sent."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from meshloom.chips import load_chip
from meshloom.chips.chip import Chip
from meshloom.emulator.executable.build import Assembly, at
from meshloom.emulator.executable.executable import Executable
from meshloom.emulator.functional.engine import run_functional
from meshloom.emulator.machine.memory import F32, I8, STORAGE, U8
from meshloom.emulator.reports.stats import collect
from meshloom.emulator.timing.engine import run_timing
from meshloom.emulator.timing.reference import run_reference
from meshloom.formats.sparse.nonzero import Nonzero
from meshloom.lowering.codegen.transfers import bytes_without_zeros
from numpy.typing import NDArray

TINY = load_chip("tiny")
LOAD, STORE, SEND, RECV = 3, 4, 5, 6


def sent(chip: Chip, mnemonic: str, values: NDArray[Any], code: int, declared: int = 1) -> Executable:
    """Core 0 loads values and sends them to core 1, which stores the received values after them in DRAM."""
    asm = Assembly(chip, dram_bytes=1 << 17, source="layer")
    asm.weights = values.tobytes()
    whole, x = at(0, (values.nbytes,), U8), at(0, (values.size,), code)
    asm.op(0, "load", whole, whole, source=U8, signal=1 << SEND)
    raw = (0, 0, 0, declared) if mnemonic == "put.z" else ()
    asm.op(0, mnemonic, x, x, source=code, cores=[1], imm=2, wait=1 << LOAD, raw=raw)
    asm.op(1, "wait", imm=2, raw=(1,), signal=1 << STORE)
    asm.op(1, "store", at(1 << 16, (values.nbytes,), U8), whole, source=U8, wait=1 << RECV)
    asm.tensor("y", "output", (values.nbytes,), 1 << 16, U8)
    return asm.build()


def stored(executable: Executable) -> bytes:
    """The values that core 1 received."""
    return run_functional(executable, {}, check=True).outputs["y"].tobytes()


@settings(deadline=None, max_examples=30)
@given(st.integers(1, 900), st.floats(0, 1), st.sampled_from([F32, I8]), st.integers(0, 99))
def test_the_same_bits_in_fewer_bytes(count: int, density: float, code: int, seed: int) -> None:
    generator = np.random.default_rng(seed)
    values = generator.integers(-9, 10, count).astype(STORAGE[code]) * (generator.random(count) < density)
    values = values.astype(STORAGE[code])  # some floats are -0, whose bits are not all 0
    executable = sent(TINY, "put.z", values, code)
    run = run_functional(executable, {}, check=True)
    plain = run_timing(sent(TINY, "put", values, code))
    timing = run_timing(executable, mapped=run.mapped)
    bits = values.view(f"u{values.itemsize}")
    sent_bytes = -(-count // 8) + int(np.count_nonzero(bits)) * values.itemsize
    assert run.mapped.total("traffic") == sent_bytes
    assert int(timing.link_bytes.sum() - plain.link_bytes.sum()) == 2 * (sent_bytes - values.nbytes)
    reference = run_reference(executable, run.mapped)
    assert (reference.cycles, reference.link_bytes.tolist()) == (timing.cycles, timing.link_bytes.tolist())
    figures = collect(executable, timing, run.mapped)["sparse"]
    assert figures["index_elements"] == count
    assert (figures["bytes_sent"], figures["bytes_sent_dense"]) == (sent_bytes, values.nbytes)


def test_sent_values_arrive() -> None:
    values = np.array([0.0, -0.0, np.nan, np.inf, 1e-45, 0.0, 3.0], np.float32)
    for mnemonic in ("put", "put.z"):
        assert stored(sent(TINY, mnemonic, values, F32)) == values.tobytes()


@pytest.mark.parametrize("rate", [4, 64])
def test_zeros_are_found_before_the_first_byte_is_sent(rate: int) -> None:
    """Of 4,000 zeros only an index of 500 bytes is sent, after 4,000 / rate cycles; by `put` 16,000 bytes are sent."""
    chip = replace(TINY, map_encode_elements=rate, noc_packet_bytes=1 << 14)
    zeros = np.zeros(4000, np.float32)
    executable = sent(chip, "put.z", zeros, F32)
    with_zeros = run_timing(sent(chip, "put", zeros, F32)).cycles
    mapped = run_functional(executable, {}).mapped
    spared = (16000 - 500) // chip.link_bytes_per_cycle - 4000 // rate
    assert with_zeros - run_timing(executable, mapped=mapped).cycles == pytest.approx(spared, abs=2)
    # Without a functional run, the bytes are those that the word declares.
    declared = run_timing(sent(chip, "put.z", zeros, F32, declared=16000))
    assert declared.declared
    assert declared.cycles == with_zeros - (-4000 // rate)


def test_transfers_without_zeros_are_chosen_if_faster() -> None:
    chip = load_chip("edge")
    assert bytes_without_zeros(chip, 1024, 4, Nonzero()) is None
    assert bytes_without_zeros(chip, 1024, 4, Nonzero(0.25)) == 128 + 1024
    # Sending 1,024 bytes takes 32 cycles, as many as searching 1,024 elements for zeros.
    assert bytes_without_zeros(chip, 1024, 1, Nonzero(0.25)) is None
    assert bytes_without_zeros(chip, 1024, 4, Nonzero(0.9)) is None
