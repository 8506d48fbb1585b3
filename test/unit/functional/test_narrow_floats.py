"""Casts to and from storage-only types, against ml_dtypes and arithmetic on bits."""

from __future__ import annotations

import math

import numpy as np
import pytest
from meshloom.chips import load_chip
from meshloom.dialects.coreasm.encoding import TYPE_BY_NAME
from meshloom.emulator.executable.build import Assembly, Operand, at
from meshloom.emulator.executable.check import check_executable
from meshloom.emulator.functional.engine import run_functional
from meshloom.emulator.machine.costs import word_costs
from meshloom.emulator.machine.memory import F32, U8, Array
from meshloom.support.errors import InputError

NAMES = ("f24", "f8e4m3", "f8e5m2")


def moved(data: Array, source: Operand, target: Operand, types: tuple[int, int]) -> Array:
    """The SRAM after one `mov` from `source` to `target`; before, it contains `data` (bytes)."""
    work = Assembly(load_chip("edge"), dram_bytes=1 << 20)
    work.weights = data.tobytes()
    work.op(0, "load", at(0, (len(data),), U8), at(0, (len(data),), U8), source=U8)
    work.op(0, "mov", target, source, source=types[0], result=types[1])
    return np.asarray(run_functional(work.build(), {}).machine.srams[0])


def to_bytes(values: Array, name: str) -> Array:
    """The bytes [values, bytes] of f32 values that are converted to a narrow type."""
    kind = TYPE_BY_NAME[name]
    data = np.concatenate([values.astype(np.float32).view(np.uint8), np.zeros(values.size * 4, np.uint8)])
    target = at(values.size * 4, (values.size,), kind.code)
    sram = moved(data, at(0, (values.size,), F32), target, (F32, kind.code))
    return sram[values.size * 4 :][: values.size * kind.bytes].reshape(-1, kind.bytes)


def from_bytes(data: Array, name: str) -> Array:
    """The f32 values of the bytes [values, bytes] of a narrow type."""
    kind, count = TYPE_BY_NAME[name], len(data)
    room = np.concatenate([data.reshape(-1), np.zeros(-data.size % 4 + count * 4, np.uint8)])
    start = data.size + -data.size % 4
    sram = moved(room, at(0, (count,), kind.code), at(start, (count,), F32), (kind.code, F32))
    return sram[start : start + 4 * count].view(np.float32)


def interesting(values: Array) -> Array:
    """All values of a format, the midpoints of neighbours, the next f32 to each of these, and values out of range."""
    known = np.unique(np.abs(values[np.isfinite(values)]).astype(np.float64))
    middles = (known[1:] + known[:-1]) / 2
    last = known[-1] + (known[-1] - known[-2]) / 2
    exact = np.concatenate([known, middles, [last, 3e38, np.inf, np.nan, 1e-45, 1e-39]]).astype(np.float32)
    with np.errstate(over="ignore"):
        around = np.concatenate([exact, np.nextafter(exact, np.float32(0)), np.nextafter(exact, np.float32(np.inf))])
    return np.concatenate([around, -around])


@pytest.mark.parametrize(("name", "theirs"), [("f8e4m3", "float8_e4m3fn"), ("f8e5m2", "float8_e5m2")])
def test_f8_equals_ml_dtypes(name: str, theirs: str) -> None:
    ml_dtypes = pytest.importorskip("ml_dtypes")
    codes = np.arange(256, dtype=np.uint8)
    numbers = codes.view(getattr(ml_dtypes, theirs)).astype(np.float32)
    found = from_bytes(codes[:, None], name)
    np.testing.assert_array_equal(found, numbers)
    np.testing.assert_array_equal(np.signbit(found), np.signbit(numbers))
    values = interesting(numbers)
    with np.errstate(all="ignore"):
        expected = values.astype(getattr(ml_dtypes, theirs))
    got = to_bytes(values, name)[:, 0].view(getattr(ml_dtypes, theirs))
    number = ~np.isnan(expected.astype(np.float32))
    np.testing.assert_array_equal(got.view(np.uint8)[number], expected.view(np.uint8)[number])
    np.testing.assert_array_equal(np.isnan(got.astype(np.float32)), ~number)


def test_f24_is_f32_without_its_last_byte() -> None:
    """Operands: all exponents, mantissas near a tie and a carry, subnormals, infinities and NaN."""
    high = (np.arange(512, dtype=np.uint64) << 23)[:, None, None]
    middle = (np.array([0, 1, 2, 0x3FFF, 0x7FFE, 0x7FFF], np.uint64) << 8)[None, :, None]
    low = np.array([0, 1, 0x7F, 0x80, 0x81, 0xFF], np.uint64)
    bits = (high | middle | low).reshape(-1)
    # Round to nearest, ties to even.
    rest, odd = bits & 0xFF, bits >> 8 & 1
    expected = (bits >> 8) + ((rest > 128) | ((rest == 128) & (odd == 1)))
    got = to_bytes(bits.astype(np.uint32).view(np.float32), "f24").astype(np.uint64)
    codes = got[:, 0] | got[:, 1] << 8 | got[:, 2] << 16
    number = ~np.isnan(bits.astype(np.uint32).view(np.float32))
    np.testing.assert_array_equal(codes[number], expected[number])
    back = from_bytes(got.astype(np.uint8), "f24")
    np.testing.assert_array_equal(np.isnan(back), ~number)
    np.testing.assert_array_equal(back.view(np.uint32)[number], expected[number] << 8)


@pytest.mark.parametrize("name", NAMES)
def test_casts_of_strided_elements(name: str) -> None:
    """The source is read backwards, and the target has gaps between its rows."""
    kind = TYPE_BY_NAME[name]
    shape, count = (3, 5), 15
    values = (np.arange(count) - 7).astype(np.float32) / 4
    expected = to_bytes(values, name).reshape(*shape, kind.bytes)
    data = np.zeros(256, np.uint8)
    data[: 4 * count] = values[::-1].copy().view(np.uint8)
    source = Operand(4 * (count - 1), shape, (-4 * shape[1], -4))
    row_bytes = kind.bytes * 7
    sram = moved(data, source, Operand(100, shape, (row_bytes, kind.bytes)), (F32, kind.code))
    rows = sram[100 : 100 + 3 * row_bytes].reshape(3, 7, kind.bytes)
    np.testing.assert_array_equal(rows[:, :5], expected)
    assert not rows[:, 5:].any()


@pytest.mark.parametrize("name", NAMES)
def test_arithmetic_on_storage_types_is_refused(name: str) -> None:
    """Only conversions support these types: executables with other instructions or tensors of them are refused."""
    code = TYPE_BY_NAME[name].code
    for mnemonic in ("add", "copy", "exp"):
        work = Assembly(load_chip("tiny"), dram_bytes=1 << 10)
        places = [at(0, (4,), code)] * (3 if mnemonic == "add" else 2)
        work.op(0, mnemonic, *places, source=code, result=code)
        with pytest.raises(InputError, match="does not take these element types"):
            check_executable(work.build())
    work = Assembly(load_chip("tiny"), dram_bytes=1 << 10)
    work.tensor("x", "temp", (4,), 0, code)
    with pytest.raises(InputError, match="element type"):
        check_executable(work.build())


@pytest.mark.parametrize("name", NAMES)
def test_cycles_follow_lanes_and_bytes(name: str) -> None:
    """The cycles of a cast are those of its f32 operand: elements by lanes, or bytes by the width of the SRAM."""
    chip, kind = load_chip("tiny"), TYPE_BY_NAME[name]
    work = Assembly(chip, dram_bytes=1 << 10)
    work.op(0, "mov", at(8192, (1000,), kind.code), at(0, (1000,), F32), source=F32, result=kind.code)
    exe = work.build()
    cycles = int(word_costs(chip, exe.programs[0].words, exe.programs[0].descs).cycles[0])
    assert cycles >= max(math.ceil(1000 / chip.vpu_lanes), math.ceil(4000 / chip.sram_bytes_per_cycle))
    assert cycles <= 2 * math.ceil(1000 / chip.vpu_lanes)
