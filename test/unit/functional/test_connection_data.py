"""Connection data on the mapping unit: connect, combine and compact against masks in numpy and counted costs."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from meshloom.chips import load_chip
from meshloom.emulator.executable.build import Assembly, Operand, at
from meshloom.emulator.functional.engine import FunctionalResult, run_functional
from meshloom.emulator.machine.errors import EmulationError
from meshloom.emulator.machine.mapped_work import COLUMNS
from meshloom.emulator.machine.memory import BF16, BOOL, F32, I8, STORAGE, U8, Array
from meshloom.emulator.timing.engine import run_timing
from meshloom.formats.sparse.block import Block, block_for, unpack_block
from meshloom.formats.sparse.encode import decode
from meshloom.formats.sparse.index_formats import DIRECT, Format, Kind, stride

TINY = load_chip("tiny")
FORMATS = (DIRECT, stride(2), stride(3), stride(8), Format(Kind.DIRECT, group=3))
LOAD, MAP = 3, 7


class Core:
    """Core 0 of the chip `tiny`, whose memory initially contains given arrays."""

    def __init__(self) -> None:
        self.asm = Assembly(TINY, dram_bytes=1 << 17, source="layer")
        self.data = bytearray()

    def array(self, values: Array) -> int:
        address = len(self.data)
        self.data += np.ascontiguousarray(values).tobytes()
        self.data += bytes(-len(self.data) % 8)
        return address

    def room(self, block: Block, code: int) -> Operand:
        return Operand(self.array(np.full(block.nbytes(STORAGE[code].itemsize), 0xEE, np.uint8)), *block.descriptor)

    def encoded(self, values: Array, block: Block) -> Operand:
        return Operand(self.array(packed(values, block)), *block.descriptor)

    def run(self, mnemonic: str, *operands: Any, check: bool = True, **fields: Any) -> FunctionalResult:
        self.asm.weights = bytes(self.data)
        whole = at(0, (len(self.data),), U8)
        self.asm.op(0, "load", whole, whole, source=U8, signal=1 << MAP)
        self.asm.op(0, mnemonic, *operands, wait=1 << LOAD, raw=(0, 0, 0, 7), **fields)
        return run_functional(self.asm.build(), {}, check=check)


def packed(values: Array, block: Block) -> Array:
    """A block built from the definition of the format: count, header, codes and values, in this order."""
    group, positions = block.format.group, block.positions
    bits: list[int] = []
    codes: list[int] = []
    counts: list[int] = []
    stored: list[Array] = []
    for row in values:
        last, entries = 0, 0
        padded = np.zeros(positions * group, values.dtype)
        padded[: len(row)] = row
        groups = padded.reshape(positions, group)
        for position, one in enumerate(groups):
            bits.append(int(one.any()))
            if not one.any():
                continue
            while block.format.kind == Kind.STRIDE and position - last > ((1 << block.format.bits) - 1):
                last += (1 << block.format.bits) - 1
                codes.append((1 << block.format.bits) - 1)
                stored.append(np.zeros(group, values.dtype))
                entries += 1
            codes.append(position - last)
            stored.append(one)
            entries, last = entries + 1, position
        counts.append(entries)

    def stream(numbers: list[int], width: int) -> bytes:
        text = "".join(format(number, f"0{width}b")[::-1] for number in numbers)
        text += "0" * (-len(text) % 8)
        return bytes(int(text[at : at + 8][::-1], 2) for at in range(0, len(text), 8))

    if block.format.kind == Kind.DIRECT:
        index = stream(bits, 1)
    else:
        index = stream(counts, positions.bit_length()) + stream(codes, block.format.bits)
    data = len(stored).to_bytes(4, "little") + index
    data += bytes(block.offset - len(data)) + b"".join(one.tobytes() for one in stored)
    return np.frombuffer(data + bytes(block.nbytes(values.itemsize) - len(data)), np.uint8)


def matrix(rng: np.random.Generator, shape: tuple[int, int], density: float, code: int = F32) -> Array:
    """A matrix with a random share `density` of nonzero elements."""
    values = rng.integers(1, 100, shape) * (rng.random(shape) < density)
    return values.astype(STORAGE[code])


def whole_groups(mask: Array, format: Format) -> Array:
    """The mask of all elements of groups in which `mask` has an element."""
    rows = [
        [bool(row[i - i % format.group : i - i % format.group + format.group].any()) for i in range(len(row))]
        for row in mask
    ]
    return np.array(rows, np.bool_)


def entries_of(mask: Array, format: Format) -> int:
    """The number of entries of an index, including fillers."""
    found = 0
    for row in mask:
        last = 0
        for position in range(math.ceil(len(row) / format.group)):
            if row[position * format.group : (position + 1) * format.group].any():
                gap = position - last
                found += 1 + (max(0, gap - 1) // ((1 << format.bits) - 1) if format.kind == Kind.STRIDE else 0)
                last = position
    return found


def scan_cost(mask: Array, format: Format) -> tuple[int, int]:
    """The number of elements of an index that are scanned, and the cycles of that on the chip `tiny`."""
    if format.kind == Kind.DIRECT:
        elements = len(mask) * math.ceil(mask.shape[1] / format.group)
        return elements, math.ceil(elements / 512)
    elements = entries_of(mask, format)
    return elements, math.ceil(elements / 64)


def used(mask: Array, block: Block, item: int) -> int:
    entries, positions = entries_of(mask, block.format), block.positions
    if block.format.kind == Kind.DIRECT:
        index = math.ceil(len(mask) * positions / 8)
    else:
        index = math.ceil(len(mask) * positions.bit_length() / 8) + math.ceil(entries * block.format.bits / 8)
    return 4 + index + entries * block.format.group * item


def result_of(got: FunctionalResult, place: Operand, block: Block, code: int) -> Array:
    data = got.machine.srams[0][place.address : place.address + block.nbytes(STORAGE[code].itemsize)]
    return decode(unpack_block(data, block, STORAGE[code]))


def check_cost(got: FunctionalResult, elements: int, map_cycles: int, nbytes: list[int]) -> None:
    """
    Check the cost of an instruction: `STARTUP` plus the cycles of scanning indices or of memory, whichever are more.

    The timing engine uses the counted cycles or, without them, the declared ones.
    """
    cost = dict(zip(COLUMNS, got.mapped.costs[0].tolist(), strict=True))
    cycles = 4 + max(map_cycles, math.ceil(max(nbytes) / 128))
    assert cost == {
        "cycles": cycles, "pairs": 0, "skipped": 0, "index_elements": elements, "map_cycles": map_cycles,
        "nbytes": sum(nbytes), "traffic": 0,
    }  # fmt: skip
    assert run_timing(got.executable, mapped=got.mapped).busy[0, MAP] == cycles
    assert run_timing(got.executable).busy[0, MAP] == 7


shapes = st.tuples(st.integers(1, 6), st.integers(1, 40))
densities = st.sampled_from([0.0, 0.05, 0.3, 1.0])


@given(st.sampled_from(FORMATS), st.sampled_from([F32, BF16, I8]), shapes, densities, st.integers(0, 1 << 30))
@settings(max_examples=60, deadline=None)
def test_connect(form: Format, code: int, shape: tuple[int, int], density: float, seed: int) -> None:
    """`connect` marks the elements that a block stores, in whole groups, but no fillers."""
    values = matrix(np.random.default_rng(seed), shape, density, code)
    block = block_for(form, *shape)
    core = Core()
    source, target = core.encoded(values, block), core.room(block, BOOL)
    got = core.run("connect", target, source, source=code, result=BOOL)
    connected = whole_groups(values != 0, form)
    assert np.array_equal(result_of(got, target, block, BOOL), connected)
    elements, cycles = scan_cost(values != 0, form)
    nbytes = [used(values != 0, block, STORAGE[code].itemsize), used(connected, block, 1)]
    check_cost(got, elements, cycles, nbytes)


@given(
    st.sampled_from(FORMATS), st.sampled_from(FORMATS), st.sampled_from(FORMATS), shapes, densities, densities,
    st.integers(0, 1 << 30),
)  # fmt: skip
@settings(max_examples=80, deadline=None)
def test_combine(
    first: Format, second: Format, form: Format, shape: tuple[int, int], some: float, others: float, seed: int
) -> None:
    """`combine` is the AND of two blocks, for any index formats of operands and result."""
    rng = np.random.default_rng(seed)
    sides = [whole_groups(rng.random(shape) < density, one) for one, density in ((first, some), (second, others))]
    blocks = [block_for(one, *shape) for one in (first, second)]
    target_block = block_for(form, *shape)
    core = Core()
    places = [core.encoded(side, block) for side, block in zip(sides, blocks, strict=True)]
    target = core.room(target_block, BOOL)
    got = core.run("combine", target, *places, source=BOOL)
    both = sides[0] & sides[1]
    # If the result has groups, their elements that are not connected in both operands are stored as false.
    assert np.array_equal(result_of(got, target, target_block, BOOL), both)
    looked = [scan_cost(side, block.format) for side, block in zip(sides, blocks, strict=True)]
    nbytes = [used(side, block, 1) for side, block in zip(sides, blocks, strict=True)]
    elements, cycles = sum(one for one, _ in looked), max(one for _, one in looked)
    check_cost(got, elements, cycles, [*nbytes, used(both, target_block, 1)])


@given(st.sampled_from(FORMATS), st.sampled_from([F32, I8]), shapes, densities, st.integers(0, 1 << 30))
@settings(max_examples=60, deadline=None)
def test_compact(form: Format, code: int, shape: tuple[int, int], density: float, seed: int) -> None:
    """`compact` stores connected elements, including zeros; all others become zero."""
    rng = np.random.default_rng(seed)
    values = matrix(rng, shape, 0.7, code)
    connected = whole_groups(rng.random(shape) < density, form)
    block = block_for(form, *shape)
    core = Core()
    given, source = core.encoded(connected, block), at(core.array(values), shape, code)
    target = core.room(block, code)
    got = core.run("compact", target, source, given, source=code)
    assert np.array_equal(result_of(got, target, block, code), np.where(connected, values, 0))
    data = got.machine.srams[0][target.address :]
    entries = int.from_bytes(data[:4].tobytes(), "little")
    assert entries == entries_of(connected, form), "zeros that are connected are stored"
    elements, cycles = scan_cost(connected, form)
    item = STORAGE[code].itemsize
    nbytes = [values.nbytes, used(connected, block, 1), used(connected, block, item)]
    check_cost(got, values.size + elements, max(cycles, math.ceil(values.size / 8)), nbytes)


def test_claims_by_instruction() -> None:
    """1 0 0 1 1 AND 1 0 1 0 1 = 1 0 0 0 1, as direct indices, as strides, and one of each (claims 7 to 10)."""
    a, b = np.array([[1, 0, 0, 1, 1]], np.bool_), np.array([[1, 0, 1, 0, 1]], np.bool_)
    for first in (DIRECT, stride(4)):
        for second in (DIRECT, stride(4)):
            block = block_for(stride(4), 1, 5)
            core = Core()
            places = [core.encoded(a, block_for(first, 1, 5)), core.encoded(b, block_for(second, 1, 5))]
            target = core.room(block, BOOL)
            got = core.run("combine", target, *places, source=BOOL)
            data = got.machine.srams[0][target.address :]
            assert data[:4].tolist() == [2, 0, 0, 0]
            # Two entries, in 3 bits; then distances 0 and 4, of 4 bits each.
            assert data[4:6].tolist() == [2, 0 | 4 << 4]


@pytest.mark.parametrize("mnemonic", ["connect", "combine", "compact"])
def test_blocks_of_other_sizes_are_refused(mnemonic: str) -> None:
    core = Core()
    small, large = block_for(DIRECT, 4, 10), block_for(DIRECT, 4, 11)
    values = np.ones((4, 10), np.bool_)
    target, source = core.room(large, BOOL), core.encoded(values, small)
    operands: dict[str, tuple[Any, ...]] = {
        "connect": (target, source),
        "combine": (target, source, source),
        "compact": (target, at(core.array(values), (4, 10), BOOL), source),
    }
    with pytest.raises(EmulationError, match=r"is a block of 4 fibers, 10 long: operand 0 has 4, 11 long"):
        core.run(mnemonic, *operands[mnemonic], source=BOOL, result=BOOL)


def test_damaged_connection_data_is_refused() -> None:
    core = Core()
    block = block_for(stride(3), 4, 10)
    data = np.array(packed(np.ones((4, 10), np.bool_), block))
    data[4] = data[4] & 0xF0 | 11  # entries in a fiber of 10
    source, target = Operand(core.array(data), *block.descriptor), core.room(block, BOOL)
    with pytest.raises(EmulationError, match=r"word 1 'combine' .*operand 1: damaged .*11 entries in fiber 0 of 10"):
        core.run("combine", target, source, source, source=BOOL)
