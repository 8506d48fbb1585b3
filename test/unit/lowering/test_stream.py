"""Streams and descriptor tables."""

import time

import numpy as np
import pytest
from meshloom.dialects.coreasm.encoding import NO_SOURCE
from meshloom.lowering.codegen.stream import IMMEDIATE, UNUSED, CoreStream, DescriptorTable, split_address


def test_descriptors_are_interned_and_normalised():
    table = DescriptorTable()
    first = table.intern((3, 4), (16, 4))
    assert table.intern((1, 3, 4), (999, 16, 4)) == first, "the stride of a dimension of size 1 says nothing"
    second = table.intern((3, 4), (-16, 4))
    assert (first, second, len(table)) == (0, 1, 2)
    sizes, strides = table.arrays()
    assert sizes.tolist() == [[1, 1, 1, 3, 4]] * 2
    assert strides.tolist() == [[0, 0, 0, 16, 4], [0, 0, 0, -16, 4]]


@pytest.mark.parametrize(("sizes", "strides"), [((2,) * 6, (4,) * 6), ((2, 0), (4, 4)), ((2,), (4, 4))])
def test_wrong_descriptors_are_refused(sizes: tuple[int, ...], strides: tuple[int, ...]):
    with pytest.raises(ValueError, match="descriptor"):
        DescriptorTable().intern(sizes, strides)


def test_fields_and_effects_are_recorded():
    stream = CoreStream()
    stream.emit(7, dtype=0x31, imm=9, addr=(1, -1), desc=(0, IMMEDIATE), effects=[(0, 0, 8, True)], source=5)
    stream.emit(8)
    stream.emit(
        9, addr=split_address(0x5_0000_0010), effects=[(1, 4, 4, False)] + [(1, i, i + 1, False) for i in range(6)]
    )
    arrays = stream.finish()
    assert len(arrays) == len(stream) == 3
    assert arrays.op.tolist() == [7, 8, 9]
    assert (arrays.dtype[0], arrays.imm[0]) == (0x31, 9)
    assert arrays.addr.tolist() == [[1, 0xFFFF_FFFF, 0, 0], [0] * 4, [0x10, 5, 0, 0]]
    assert arrays.desc[0].tolist() == [0, IMMEDIATE, UNUSED, UNUSED]
    assert arrays.source.tolist() == [5, NO_SOURCE, NO_SOURCE]
    assert arrays.effect_start.tolist() == [0, 1, 1, 7], "the empty range is dropped, more than four are kept"
    assert arrays.effects[0].tolist() == [0, 0, 8, 1]


def test_a_stream_without_instructions():
    arrays = CoreStream().finish()
    assert len(arrays) == 0
    assert arrays.addr.shape == (0, 4)
    assert arrays.effects.shape == (0, 4)


def test_emitting_is_cheap():
    stream = CoreStream()
    effects = [(0, 0, 64, True), (0, 64, 128, False), (0, 128, 192, False)]
    started = time.process_time()
    for index in range(20_000):
        stream.emit(1, addr=(index, 64, 128), desc=(0, 0, 0), effects=effects, source=3)
    # About 2 us each; the bound leaves room for a slow, busy machine.
    assert time.process_time() - started < 20_000 * 20e-6


def test_repeat_equals_emitting_again():
    table = DescriptorTable()

    def emit(stream: CoreStream, *numbers: int) -> None:
        for number in numbers:
            effects = [(0, number, number + size, True) for size in range(number)]
            stream.emit(number, addr=(number,), effects=effects, source=number)

    one, other, expected = CoreStream(table), CoreStream(table), CoreStream(table)
    emit(one, 3, 1, 4, 0, 5)
    emit(other, 2)
    other.repeat(one, 1, 4)
    other.repeat(other, 0, 2)
    other.repeat(one, 2, 2)
    emit(expected, 2, 1, 4, 0, 2, 1)
    for found, wanted in zip(vars(other.finish()).values(), vars(expected.finish()).values(), strict=True):
        np.testing.assert_array_equal(found, wanted)
