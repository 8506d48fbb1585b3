"""Encoding, decoding and sparse products: values against numpy, cycles and pairs against an explicit count."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from meshloom.chips import load_chip
from meshloom.chips.chip import MAP_LANES, Chip
from meshloom.emulator.executable.build import Assembly, Operand, at
from meshloom.emulator.functional.engine import FunctionalResult, run_functional
from meshloom.emulator.machine.errors import EmulationError
from meshloom.emulator.machine.mapped_work import COLUMNS
from meshloom.emulator.machine.memory import BF16, F16, F32, I8, I32, STORAGE, U8, Array, round_bf16, widen_bf16
from meshloom.emulator.reports.stats import collect
from meshloom.emulator.timing.engine import run_timing
from meshloom.formats.sparse.block import Block, block_for, block_of, pack_block, unpack_block
from meshloom.formats.sparse.encode import decode, encode
from meshloom.formats.sparse.fibers import Fibers
from meshloom.formats.sparse.index_formats import DIRECT, Format, Kind, stride
from meshloom.support.errors import InputError
from meshloom.tools.report.summary import summary

TINY = load_chip("tiny")  # 8 x 8 matrix unit, caches after the mapping unit
FORMATS = (DIRECT, Format(Kind.DIRECT, group=3), stride(2), stride(4), stride(8), stride(3, 2))
VARIANTS = ("w", "z", "zw", "x", "xw")
LOAD, MPU, MAP = 3, 0, 7


class Core:
    """Core 0, whose memory initially contains given arrays; instructions run one after the other."""

    def __init__(self, chip: Chip) -> None:
        self.asm = Assembly(chip, dram_bytes=1 << 17, source="layer")
        self.data = bytearray()

    def array(self, values: Array) -> int:
        address = len(self.data)
        self.data += np.ascontiguousarray(values).tobytes()
        self.data += bytes(-len(self.data) % 8)
        return address

    def run(self, mnemonic: str, *operands: Any, check: bool = True, **fields: Any) -> FunctionalResult:
        self.asm.weights = bytes(self.data)
        whole = at(0, (len(self.data),), U8)
        unit = MPU if mnemonic.startswith("matmul") else MAP
        self.asm.op(0, "load", whole, whole, source=U8, signal=1 << unit)
        self.asm.op(0, mnemonic, *operands, wait=1 << LOAD, **fields)
        return run_functional(self.asm.build(), {}, check=check)


def stored_bits(values: Array, code: int) -> Array:
    return round_bf16(values.astype(np.float32)) if code == BF16 else values.astype(STORAGE[code])


def values_of(bits: Array, code: int) -> Array:
    return widen_bf16(bits) if code == BF16 else bits


def sparse_values(rng: np.random.Generator, shape: tuple[int, ...], density: float, code: int = F32) -> Array:
    """Small integers, which are exact in every type, and whose sums are exact in any order."""
    values = rng.integers(1, 5, shape) * np.where(rng.random(shape) < 0.5, -1, 1)
    return stored_bits(values * (rng.random(shape) < density), code)


def matrix_block(values: Array, format: Format) -> tuple[Block, Array]:
    encoded = encode(values, format, Fibers(values.shape))
    return block_of(encoded), pack_block(encoded)


def cost_of(result: FunctionalResult) -> dict[str, int]:
    assert len(result.mapped.run) == 1
    return dict(zip(COLUMNS, result.mapped.costs[0].tolist(), strict=True))


def stored_mask(values: Array, format: Format) -> Array:
    """The mask of elements of [fibers, length] that an index stores, including fillers, fiber by fiber."""
    mask = np.zeros(values.shape, np.bool_)
    for fiber, row in zip(mask, values, strict=True):
        last = 0
        for position in range(format.positions(len(fiber))):
            group = slice(position * format.group, (position + 1) * format.group)
            if not np.any(row[group] != 0):
                continue
            fiber[group] = True
            if format.kind == Kind.STRIDE:
                while position - last > ((1 << format.bits) - 1):
                    last += (1 << format.bits) - 1
                    fiber[last * format.group : (last + 1) * format.group] = True
                last = position
    return mask


def counted_cost(
    chip: Chip, rate: int, a: Array, b: Array, a_index: Format | str | None, b_index: Format | None, nbytes: list[int]
) -> dict[str, int]:
    """
    The cost of the product of A [b, m, k] and B [b, n, k], counted lane by lane and pair by pair.

    The index 'z' stands for zeros that are found in A. Joined lanes hold encoded weights as if they were one lane.
    """
    batch, m, k = a.shape
    n = b.shape[1]
    joined, again = chip.map_lanes == "joined" and b_index is not None, chip.map_caches == "before"
    lanes, places = (1, chip.mpu_cols * chip.mpu_rows * rate) if joined else (chip.mpu_cols, chip.mpu_rows * rate)
    a_mask = np.ones(a.shape, np.bool_) if a_index is None else a != 0
    if isinstance(a_index, Format):
        a_mask = stored_mask(a.reshape(-1, k), a_index).reshape(a.shape)
    b_mask = np.ones(b.shape, np.bool_) if b_index is None else stored_mask(b.reshape(-1, k), b_index).reshape(b.shape)
    work, pairs = [0] * lanes, 0
    for one in range(batch):
        held, passes = [0] * lanes, [0] * lanes
        for neuron in range(n):
            mine = [sum(bool(a_mask[one, row, i] and b_mask[one, neuron, i]) for row in range(m)) for i in range(k)]
            used = sum(count > 0 for count in mine)
            passing = sum(mine) if again else m * used
            pairs += passing
            held[neuron % lanes] += used
            passes[neuron % lanes] += passing
        fill = 2 * chip.mpu_rows + chip.mpu_cols - 2
        for lane in range(lanes):
            work[lane] += fill * math.ceil(held[lane] / places) + math.ceil(passes[lane] / places)

    def scan_cost(index: Format | str | None, mask: Array, uses: int) -> tuple[int, int]:
        if index is None:
            return 0, 0
        if isinstance(index, str) or index.kind == Kind.DIRECT:
            group = 1 if isinstance(index, str) else index.group
            elements = mask.shape[0] * mask.shape[1] * math.ceil(k / group)
            return uses * elements, math.ceil(uses * elements / chip.map_direct_bits)
        elements = sum(math.ceil(part.sum() / index.group) for part in mask.reshape(-1, k)) if index.group == 1 else 0
        if index.group > 1:
            elements = sum(
                bool(row[i : i + index.group].any()) for row in mask.reshape(-1, k) for i in range(0, k, index.group)
            )
        return uses * elements, math.ceil(uses * elements / chip.map_stride_codes)

    seen_b, time_b = scan_cost(b_index, b_mask, m if again else 1)
    seen_a, time_a = scan_cost(a_index, a_mask, math.ceil(n / chip.mpu_cols) if again else 1)
    mapping, memory = max(time_a, time_b), math.ceil(max(nbytes) / chip.map_bytes_per_cycle)
    return {
        "cycles": max(1, max(work) - 1, mapping, memory), "pairs": pairs, "skipped": batch * m * n * k - pairs,
        "index_elements": seen_a + seen_b, "map_cycles": mapping, "nbytes": sum(nbytes), "traffic": 0,
    }  # fmt: skip


def index_bytes(mask: Array, format: Format) -> int:
    """Bytes of the count and the index of [fibers, length], without the values."""
    fibers, length = mask.shape
    positions = math.ceil(length / format.group)
    if format.kind == Kind.DIRECT:
        return 4 + math.ceil(fibers * positions / 8)
    entries = sum(bool(row[i : i + format.group].any()) for row in mask for i in range(0, length, format.group))
    return 4 + math.ceil(fibers * positions.bit_length() / 8) + math.ceil(entries * format.bits / 8)


@given(
    st.sampled_from(VARIANTS), st.sampled_from(FORMATS), st.sampled_from(FORMATS), st.booleans(), st.booleans(),
    st.sampled_from(MAP_LANES),
    st.sampled_from([(F32, F32), (F16, F32), (BF16, BF16), (I8, I32)]),
    st.tuples(*[st.integers(1, limit) for limit in (2, 4, 40, 11)]), st.sampled_from([0.0, 0.1, 0.5, 1.0]),
    st.integers(0, 1 << 30),
)  # fmt: skip
@settings(max_examples=120, deadline=None)
def test_sparse_products(
    how: str, a_format: Format, b_format: Format, again: bool, accumulate: bool, map_lanes: str,
    types: tuple[int, int], shape: tuple[int, int, int, int], density: float, seed: int,
) -> None:  # fmt: skip
    """All variants, index formats, types, places of caches and kinds of lanes; a dense A has gaps between its rows."""
    rng = np.random.default_rng(seed)
    batch, m, k, n = shape
    source, result = types
    size, out = STORAGE[source].itemsize, STORAGE[result].itemsize
    chip = replace(TINY, map_caches="before" if again else "after", map_lanes=map_lanes)
    a = sparse_values(rng, (batch, m, k), density, source)
    b = sparse_values(rng, (batch, n, k), density, source)
    core = Core(chip)
    padded = np.zeros((batch, m, k + 1), a.dtype)
    padded[..., :k] = a
    nbytes = [0, 0, 0]
    if "x" in how:
        block, data = matrix_block(a.reshape(-1, k), a_format)
        place_a = Operand(core.array(data), *block.descriptor)
        mask = stored_mask(a.reshape(-1, k), a_format)
        entries = int.from_bytes(data[:4].tobytes(), "little")
        nbytes[1] = index_bytes(mask, a_format) + entries * a_format.group * size
    else:
        strides = (m * (k + 1) * size, (k + 1) * size, size)
        place_a = at(core.array(padded), a.shape, strides=strides)
        nbytes[1] = min(a.size, ((batch * m - 1) * (k + 1) + k)) * size
    if "w" in how:
        block, data = matrix_block(b.reshape(-1, k), b_format)
        place_b = Operand(core.array(data), *block.descriptor)
        mask = stored_mask(b.reshape(-1, k), b_format)
        entries = int.from_bytes(data[:4].tobytes(), "little")
        nbytes[2] = index_bytes(mask, b_format) + entries * b_format.group * size
    else:
        place_b = at(core.array(np.swapaxes(b, 1, 2)), (batch, k, n), source)
        nbytes[2] = b.size * size
    old = sparse_values(rng, (batch, m, n), 1.0, result)
    target = core.array(old)
    nbytes[0] = old.size * out
    name = f"matmul.{how}" + (".acc" if accumulate else "")
    imm = 1 | 1 << 4 | (0 if how == "xw" else 1 << 8) | 1 << 12
    got = core.run(
        name, at(target, old.shape, result), place_a, place_b, imm=imm, source=source, result=result, raw=(0, 0, 0, 7)
    )
    left, right = (values_of(x, source).astype(np.float64) for x in (a, b))
    want = left @ np.swapaxes(right, 1, 2) + (values_of(old, result) if accumulate else 0)
    memory = got.machine.srams[0][target : target + old.nbytes].view(STORAGE[result]).reshape(old.shape)
    assert np.array_equal(memory, stored_bits(want, result))
    a_index = a_format if "x" in how else "z" if "z" in how else None
    rate = {F32: 1, F16: 2, BF16: 2, I8: 4}[source]
    b_index = b_format if "w" in how else None
    expected = counted_cost(chip, rate, values_of(a, source), values_of(b, source), a_index, b_index, nbytes)
    assert cost_of(got) == expected
    timing = run_timing(got.executable, mapped=got.mapped)
    assert timing.busy[0, MPU] == expected["cycles"]
    assert run_timing(got.executable).busy[0, MPU] == 7


@given(
    st.sampled_from(FORMATS), st.sampled_from([F32, F16, BF16, I8, I32]), st.integers(1, 9), st.integers(1, 40),
    st.sampled_from([0.0, 0.1, 0.5, 1.0]), st.sampled_from([0, 2]), st.integers(0, 1 << 30),
)  # fmt: skip
@settings(max_examples=80, deadline=None)
def test_encode_and_decode(
    format: Format, code: int, fibers: int, length: int, density: float, threshold: int, seed: int
) -> None:
    """`encode` gives the bytes of `formats.sparse`; `decode` gives the stored elements, and zeros elsewhere."""
    values = sparse_values(np.random.default_rng(seed), (fibers, length), density, code)
    size, block = STORAGE[code].itemsize, block_for(format, fibers, length)
    core = Core(TINY)
    source = at(core.array(values), values.shape, code)
    target = core.array(np.full(block.nbytes(size), 0xEE, np.uint8))
    word = (0, 0, threshold if code in (I8, I32) else int(np.float32(threshold).view(np.uint32)), 3)
    got = core.run("encode", Operand(target, *block.descriptor), source, float(threshold), source=code, raw=word)
    data = got.machine.srams[0][target : target + block.nbytes(size)]
    kept = np.where(np.abs(values_of(values, code)) > threshold, values, values.dtype.type(0))
    expected = encode(kept, format, Fibers(kept.shape))
    if format.group == 1:
        assert np.array_equal(data, pack_block(expected, block))
        entries = len(expected.values)
        written = 4 + len(expected.index) + entries * size
        cycles = 4 + max(math.ceil(values.size / 8), math.ceil(max(values.nbytes, written) / 128))
        assert cost_of(got)["cycles"] == cycles
        assert run_timing(got.executable, mapped=got.mapped).busy[0, MAP] == cycles
    back = decode(unpack_block(data, block, STORAGE[code]))
    counted = stored_mask(kept, Format(Kind.DIRECT, group=format.group))  # whole groups are stored; fillers are zeros
    assert np.array_equal(back, np.where(counted, values, back.dtype.type(0)))

    again = Core(TINY)
    encoded = Operand(again.array(data), *block.descriptor)
    out = again.array(np.full(values.shape, 77, values.dtype))
    result = again.run("decode", at(out, values.shape, code), encoded, source=code, raw=(0, 0, 0, 5))
    assert np.array_equal(result.machine.srams[0][out : out + values.nbytes], back.reshape(-1).view(np.uint8))


@given(st.sampled_from(FORMATS), st.integers(0, 1 << 30))
@settings(max_examples=150, deadline=None)
def test_damaged_blocks(format: Format, seed: int) -> None:
    """A changed count or index leads to an error with its location, or to the product with the values now encoded."""
    rng = np.random.default_rng(seed)
    values = sparse_values(rng, (5, 40), 0.3)
    block, data = matrix_block(values, format)
    data[rng.integers(0, block.offset)] ^= 1 << rng.integers(0, 8)
    core = Core(TINY)
    a = np.ones((2, 40), np.float32)
    place_a, place_b = at(core.array(a), (2, 40)), Operand(core.array(data), *block.descriptor)
    target = core.array(np.zeros((2, 5), np.float32))
    imm = 1 << 4 | 1 << 8 | 1 << 12
    try:
        now = decode(unpack_block(data, block, np.dtype(np.float32)))
    except InputError:
        with pytest.raises(
            EmulationError, match=r"core 0, word 1 'matmul.w' of program 'core0' \(from layer\): .*damaged"
        ):
            core.run("matmul.w", at(target, (2, 5)), place_a, place_b, imm=imm)
        return
    got = core.run("matmul.w", at(target, (2, 5)), place_a, place_b, imm=imm)
    assert np.array_equal(got.machine.srams[0][target : target + 40].view(np.float32), (a @ now.T).reshape(-1))


DAMAGES: dict[str, tuple[int, list[int]]] = {
    "200 entries, the index has": (0, [200, 0]),
    "entries, there is room for 300": (0, [255, 255]),
    "41 entries in fiber 0 of 40 positions": (4, [41]),
    "126 bytes in a room of 36": (4, [0x28, 0x8A, 0xA2, 0x28, 0x8A, 0xA2]),
    "expected ascending positions below 40": (10, [0xFF] * 16),
}
"""Offset and bytes written there: the count; the header, 6 bits for each fiber of 40; distances of 7."""


@pytest.mark.parametrize("message", DAMAGES)
def test_errors_name_the_damage(message: str) -> None:
    """Errors for a wrong or too large count, a header beyond the fiber or the room, and positions beyond the fiber."""
    values = np.zeros((8, 40), np.float32)
    values[:, ::4] = 1
    block, data = matrix_block(values, stride(3))
    if not message.startswith("126"):
        block = replace(block, entries=300, offset=block.offset + 100)
        data = pack_block(encode(values, stride(3), Fibers(values.shape)), block)
    offset, damage = DAMAGES[message]
    data[offset : offset + len(damage)] = damage
    core = Core(TINY)
    encoded = Operand(core.array(data), *block.descriptor)
    out = core.array(np.zeros((8, 40), np.float32))
    with pytest.raises(EmulationError, match=rf"word 1 'decode' .*\(from layer\): operand 1: damaged .*{message}"):
        core.run("decode", at(out, (8, 40)), encoded)


BAD_DESCRIPTORS = {
    "a block of 8 fibers, 40 long: the product has 5, 40": ((8, 40, 1, 1, 320), (44, 0, 0, 0, 0)),
    "leave no room for its direct index": ((5, 40, 1, 1, 200), (24, 0, 0, 0, 0)),
    "leave no room for its stride3 index": ((5, 40, 1, 3, 200), (0, 0, 0, 0, 0)),
    "stride index of 9 bits": ((5, 40, 1, 9, 200), (300, 0, 0, 0, 0)),
    "has one stride, the offset of the values": ((5, 40, 1, 1, 200), (32, 0, 0, 0, 4)),
    "is too large": ((1 << 20, 1 << 10, 1, 1, 200), (32, 0, 0, 0, 0)),
    "of SRAM, which has 65536": ((5, 40, 1, 1, 1 << 20), (32, 0, 0, 0, 0)),
}


@pytest.mark.parametrize("message", BAD_DESCRIPTORS)
def test_invalid_descriptors_of_blocks_are_refused(message: str) -> None:
    core = Core(TINY)
    core.array(np.zeros(4000, np.uint8))
    sizes, strides = BAD_DESCRIPTORS[message]
    with pytest.raises(EmulationError, match=rf"word 1 'matmul.w' .*\(from layer\): operand 2.*{message}"):
        core.run(
            "matmul.w", at(0, (2, 5)), at(512, (2, 40)), Operand(1024, sizes, strides), imm=1 << 4 | 1 << 8 | 1 << 12,
            check=False,
        )  # fmt: skip


def test_unwritten_blocks_and_races_are_found() -> None:
    block = block_for(DIRECT, 2, 8)
    core = Core(TINY)
    core.array(np.zeros(16, np.uint8))
    with pytest.raises(EmulationError, match=r"operand 1 reads byte .* has not been written"):
        core.run("decode", at(0, (2, 8)), Operand(512, *block.descriptor))
    asm = Assembly(TINY)
    asm.op(0, "fill", at(0, (2, 8)), 0.0, signal=1 << MAP)
    asm.op(0, "encode", Operand(512, *block.descriptor), at(0, (2, 8)), 0.0, wait=1 << 2)
    asm.op(0, "fill", at(516, (1,)), 0.0)
    with pytest.raises(EmulationError, match=r"race: operand 0 accesses byte 516 of SRAM, not ordered with the .* MAP"):
        run_functional(asm.build(), {}, check=True)


def test_closed_form_of_a_layer() -> None:
    """
    The cycles of a pruned layer on `edge` (32 x 32 MACs, caches before the mapping unit) have a closed form.

    The layer has 64 neurons of 576 inputs, of which a tenth is left, and 49 rows; half of the inputs are zero.

    58 weights per neuron, direct index: each lane has the 116 weights of two neurons, 4 times the array's rows, with
    94 cycles each, and 49 * 116 / 32 = 177.6 cycles of pairs: 4 * 94 + 178 - 1 = 553; dense: 18 * 2 * (49 + 94) - 1 =
    5147. If zeros of the inputs are skipped, half of the weights are used in each row: 49 * 58 / 32 = 88.8 cycles of
    pairs. The index takes 49 * 64 * 576 / 32768 = 55.1 cycles, the inputs 49 * 576 * 4 / 1024 = 110.3.
    """
    edge = load_chip("edge")
    weights = np.zeros((64, 576), np.float32)
    for neuron in range(64):
        weights[neuron, (np.arange(58) * 9 + 3 * neuron) % 576] = 1
    block, data = matrix_block(weights, DIRECT)
    inputs = np.zeros((49, 576), np.float32)
    for row in range(49):
        inputs[row, row % 2 :: 2] = 1
    cycles, pairs = {}, {}
    for how in ("w", "zw"):
        core = Core(edge)
        b, a = Operand(core.array(data), *block.descriptor), at(core.array(inputs), (49, 576))
        target = core.array(np.zeros((49, 64), np.float32))
        core.asm.dram_bytes = 1 << 20
        got = cost_of(core.run(f"matmul.{how}", at(target, (49, 64)), a, b, imm=1 << 4 | 1 << 8 | 1 << 12))
        cycles[how], pairs[how] = got["cycles"], got["pairs"]
        assert got["map_cycles"] == 56
    assert cycles["w"] == 4 * 94 + 178 - 1
    assert pairs["w"] == 49 * 64 * 58
    assert pairs["zw"] == int((inputs @ weights.T).sum())
    per_lane = (inputs @ weights.T).sum(axis=0).reshape(2, 32).sum(axis=0)
    assert cycles["zw"] == 4 * 94 + math.ceil(per_lane.max() / 32) - 1


def test_statistics_count_pairs() -> None:
    """Two sparse products of i8, 3 x 40 by 5 neurons of 10 weights: each has 150 pairs, and 450 are skipped."""
    values = np.zeros((5, 40), np.int8)
    values[:, 2::4] = 3
    block, data = matrix_block(values, DIRECT)
    core = Core(TINY)
    a, b = at(core.array(np.ones((3, 40), np.int8)), (3, 40), I8), Operand(core.array(data), *block.descriptor)
    out = core.array(np.zeros((3, 5), np.int32))
    imm = 1 << 4 | 1 << 8 | 1 << 12
    core.asm.op(0, "loop", raw=(1, 1))
    core.asm.op(0, "nop")
    result = core.run("matmul.w", at(out, (3, 5), I32), a, b, imm=imm, source=I8, result=I32, raw=(0, 0, 0, 50))
    exe = result.executable
    exe.controller = np.concatenate([exe.controller[:-1], exe.controller[:-1], exe.controller[-1:]])
    result = run_functional(exe, {})
    assert result.mapped.run.tolist() == [0, 1]
    timing = run_timing(exe, mapped=result.mapped)
    stats = collect(exe, timing, result.mapped)
    # The index: 200 bits, scanned once (caches after the mapping unit). A lane: 22 + ceil(3 * 10 / 32) - 1 cycles.
    assert stats["sparse"] == {
        "cycles": "counted", "executed": 2, "pairs": 300, "skipped": 900, "index_elements": 400, "map_cycles": 2,
        "bytes_sent": 0, "bytes_sent_dense": 0,
    }  # fmt: skip
    assert stats["units"]["MPU"]["busy_cycles"] == 2 * (22 + 1 - 1)
    assert stats["macs"] == 300
    assert stats["energy_pj"]["mac"] == pytest.approx(300 / 4 * 3.1)
    assert stats["energy_pj"]["map"] == pytest.approx(400 * 0.05)
    declared = collect(exe, run_timing(exe))
    assert declared["sparse"] == {"cycles": "declared"}
    assert declared["units"]["MPU"]["busy_cycles"] == 2 * 50
    assert declared["macs"] == 300
    assert "300 pairs multiplied, 900 skipped (75.0%)" in summary("net", exe, stats)


@given(st.sampled_from([DIRECT, stride(3)]), st.tuples(*[st.integers(1, 40)] * 3), st.integers(0, 1 << 30))
@settings(max_examples=60, deadline=None)
def test_sums_of_floats_equal_those_of_dense_products(format: Format, shape: tuple[int, int, int], seed: int) -> None:
    """Sparse sums equal dense ones with k innermost bit for bit, and other layouts within 2 k u sum |a b|."""
    rng = np.random.default_rng(seed)
    m, k, n = shape
    a = rng.standard_normal((m, k)).astype(np.float32)
    b = (rng.standard_normal((n, k)) * (rng.random((n, k)) < 0.3)).astype(np.float32)
    imm = 1 << 4 | 1 << 8 | 1 << 12
    results: list[Array] = []
    block, data = matrix_block(b, format)
    for how in ("w", "inner", "outer"):
        core = Core(TINY)
        place_a, out = at(core.array(a), (m, k)), core.array(np.zeros((m, n), np.float32))
        if how == "w":
            place_b = Operand(core.array(data), *block.descriptor)
        else:
            address = core.array(b if how == "inner" else b.T)
            place_b = at(address, (k, n), strides=(4, 4 * k) if how == "inner" else (4 * n, 4))
        got = core.run("matmul.w" if how == "w" else "matmul", at(out, (m, n)), place_a, place_b, imm=imm)
        results.append(got.machine.srams[0][out : out + 4 * m * n].view(np.float32).reshape(m, n))
    assert np.array_equal(results[0], results[1])
    bound = 2 * k * 2.0**-24 * (np.abs(a).astype(np.float64) @ np.abs(b).T)
    assert (np.abs(results[0].astype(np.float64) - results[2]) <= bound).all()
