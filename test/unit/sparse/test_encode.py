"""Tests of encodings: exact round trips, sizes computed by hand, damaged streams."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from meshloom.formats.sparse.encode import Encoded, counts, decode, encode
from meshloom.formats.sparse.fibers import Fibers
from meshloom.formats.sparse.index_formats import DIRECT, Format, Kind, Order, csr, run_length, stride
from meshloom.formats.sparse.sizes import encoded_bytes, gap_histogram
from meshloom.formats.sparse.stride_kinds import CountedKind
from meshloom.support.errors import InputError
from numpy.typing import NDArray

FORMATS = [
    DIRECT,
    Format(Kind.DIRECT, group=3),
    *(stride(bits) for bits in range(2, 9)),
    stride(3, 4),
    run_length(2),
    run_length(5),
    csr(8),
    csr(16, 2),
]
TYPES = (np.float32, np.float64, np.int8, np.uint8, np.int64, np.bool_)


@st.composite
def tensors(draw: st.DrawFn) -> tuple[NDArray[Any], Fibers]:
    shape = tuple(draw(st.lists(st.integers(0, 9), min_size=1, max_size=3)))
    generator = np.random.default_rng(draw(st.integers(0, 1 << 32)))
    values = generator.integers(1, 100, shape) * (generator.random(shape) < draw(st.floats(0, 1)))
    fibers = Fibers(shape, draw(st.sampled_from(list(Order))), draw(st.integers(0, len(shape) - 1)))
    return values.astype(draw(st.sampled_from(TYPES))), fibers


@settings(max_examples=150, deadline=None)
@given(case=tensors(), format=st.sampled_from(FORMATS))
def test_round_trips_are_exact_and_sizes_as_counted(case: tuple[NDArray[Any], Fibers], format: Format) -> None:
    tensor, fibers = case
    encoded = encode(tensor, format, fibers)
    decoded = decode(encoded)
    assert decoded.dtype == tensor.dtype
    assert decoded.tobytes() == tensor.tobytes()
    gaps = gap_histogram(fibers.matrix(tensor != 0), format.group)
    assert encoded.nbytes == encoded_bytes(gaps, format, tensor.dtype.itemsize)


def codes(values: list[int], format: Format) -> tuple[list[int], list[int]]:
    """The codes and the values of one fiber."""
    encoded = encode(np.array([values], np.int8), format)
    bits = np.unpackbits(encoded.index, bitorder="little")
    kind = format.definition
    assert isinstance(kind, CountedKind)
    header = -(-kind.header_bits(format.positions(len(values))) // 8) * 8
    count = len(encoded.values) // format.group
    planes = bits[header : header + count * format.bits].reshape(count, format.bits)
    return [int(sum(int(bit) << place for place, bit in enumerate(plane))) for plane in planes], encoded.values.tolist()


def test_stride_counts_the_first_distance_from_position_0() -> None:
    # The strides of 1 0 0 1 1 are 0 3 1, those of 1 0 1 0 1 are 0 2 2 (spec 5).
    assert codes([5, 0, 0, 6, 7], stride(2)) == ([0, 3, 1], [5, 6, 7])
    assert codes([5, 0, 6, 0, 7], stride(2)) == ([0, 2, 2], [5, 6, 7])
    assert codes([0, 0, 9], stride(2)) == ([2], [9])


def test_gaps_that_exceed_a_code_have_fillers() -> None:
    # 2 bits hold distances up to 3: 3 needs no filler, 4 is a filler at 3 and then 1, 7 is 3, 3, 1.
    assert codes([0, 0, 0, 9], stride(2)) == ([3], [9])
    assert codes([0, 0, 0, 0, 9], stride(2)) == ([3, 1], [0, 9])
    assert codes([8, 0, 0, 0, 0, 0, 0, 9], stride(2)) == ([0, 3, 3, 1], [8, 0, 0, 9])
    # A distance of six needs only one filler: 3, 3.
    assert codes([8, 0, 0, 0, 0, 0, 9], stride(2)) == ([0, 3, 3], [8, 0, 9])
    # Runs of at most 3 zeros: seven zeros are 3 zeros, a stored zero, and 3 zeros.
    assert codes([0] * 7 + [9], run_length(2)) == ([3, 3], [0, 9])
    assert codes([1, 0, 0, 0, 9], run_length(2)) == ([0, 3], [1, 9])


def test_sizes_in_bytes() -> None:
    matrix = np.zeros((2, 16), np.int8)
    matrix[0, [1, 2, 15]] = 7
    matrix[1, 4] = 7
    # The index has 32 bits, and 4 values are stored.
    assert encode(matrix, DIRECT).nbytes == 4 + 4
    # Row 0: strides 1, 1 and 13, which exceeds 7 and needs a filler. Row 1: 4. Counts: 2 x 5 bits; codes: 5 x 3 bits.
    assert encode(matrix, stride(3)).nbytes == 2 + 2 + 5
    # A pointer of 4 bytes per row, 4 positions of one byte, 4 values.
    assert encode(matrix, csr(8)).nbytes == 8 + 4 + 4
    # Groups of 4: the first and last of row 0 and the second of row 1 are stored: 8 bits, 12 values.
    assert encode(matrix, Format(Kind.DIRECT, group=4)).nbytes == 1 + 12


def test_threshold_and_special_values() -> None:
    values = np.array([0.5, -0.5, 0.25, -0.75, np.nan, -0.0, np.inf], np.float32)
    assert counts(values).tolist() == [True, True, True, True, True, False, True]
    assert counts(values, 0.5).tolist() == [False, False, False, True, True, False, True]
    assert counts(np.array([-128, 127, 0, 1], np.int8), 1).tolist() == [True, True, False, False]
    assert decode(encode(values, DIRECT, threshold=0.5)).tolist()[:4] == [0, 0, 0, -0.75]


def damaged(encoded: Encoded, **changes: Any) -> str:
    with pytest.raises(InputError) as caught:
        decode(replace(encoded, **changes))
    return str(caught.value)


def test_damaged_streams_are_errors() -> None:
    tensor = np.zeros((2, 12), np.float32)
    tensor[0, [0, 5, 11]] = 1
    tensor[1, 3] = 1
    strided = encode(tensor, stride(4))
    # The header has two counts of 4 bits (3 and 1); the codes are 0, 5, 6, 3.
    assert strided.index.tolist() == [0x13, 0x50, 0x36]
    assert "3 entries, the index has 4" in damaged(strided, values=strided.values[:3])
    assert "at position 14: expected ascending positions below 12" in damaged(
        strided, index=np.array([0x13, 0x50, 0x39], np.uint8)
    )
    assert "at position 0: expected ascending" in damaged(strided, index=np.array([0x13, 0x00, 0x36], np.uint8))
    assert "14 entries in fiber 0 of 12 positions" in damaged(strided, index=np.array([0x1E, 0x50, 0x36], np.uint8))
    assert "2 bytes, expected 3 for 5 codes" in damaged(strided, index=np.array([0x14, 0x50, 0x36], np.uint8))
    assert "0 bytes, expected 1" in damaged(strided, index=np.zeros(0, np.uint8))
    rows = encode(tensor, csr(8))
    assert "-1 entries in fiber 1" in damaged(
        rows, index=np.concatenate([np.array([3, 0, 0, 0, 2, 0, 0, 0], np.uint8), rows.index[8:]])
    )
    direct = encode(np.ones((1, 4), np.int8), DIRECT)
    assert "bits are set after the last of 4 codes" in damaged(direct, index=np.array([0x1F], np.uint8))
    grouped = encode(np.ones((1, 3), np.int8), Format(Kind.DIRECT, group=2))
    assert "after the end of a fiber" in damaged(grouped, values=np.ones(4, np.int8))
    assert "not whole groups" in damaged(grouped, values=np.ones(3, np.int8))


@settings(max_examples=150, deadline=None)
@given(case=tensors(), format=st.sampled_from(FORMATS), data=st.data())
def test_any_damage_is_an_error_or_a_tensor(
    case: tuple[NDArray[Any], Fibers], format: Format, data: st.DataObject
) -> None:
    tensor, fibers = case
    encoded = encode(tensor, format, fibers)
    index = encoded.index.copy()
    if len(index):
        index[data.draw(st.integers(0, len(index) - 1))] ^= data.draw(st.integers(1, 255))
    message = "damaged"
    try:
        assert decode(replace(encoded, index=index)).shape == tensor.shape
    except InputError as error:
        message = str(error)
    assert message.startswith("damaged")


def test_parameters_out_of_range() -> None:
    with pytest.raises(ValueError, match="stride index of 9 bits: expected 2 to 8"):
        stride(9)
    with pytest.raises(ValueError, match="groups of 0 elements"):
        Format(Kind.DIRECT, group=0)
    with pytest.raises(ValueError, match="positions of 2 bits for fibers of 5"):
        encode(np.ones((1, 5)), csr(2))
