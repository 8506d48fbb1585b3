"""Tests of claims 6 to 10 and 17 to 22 of spec 5: connection data, derived or given, its combination, compaction."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from meshloom.formats.sparse.connection import (
    combine,
    combine_direct,
    combine_mixed_direct,
    combine_mixed_strides,
    combine_strides,
    compact,
    connection_mask,
    connections,
    direct_to_strides,
    strides_to_direct,
)
from meshloom.formats.sparse.encode import counts, decode, encode, encode_mask
from meshloom.formats.sparse.fibers import Fibers
from meshloom.formats.sparse.index_formats import DIRECT, Format, Kind, Order, run_length, stride
from meshloom.formats.sparse.product import accumulate, sparse_dot
from meshloom.support.errors import InputError

FIRST, SECOND, BOTH = (np.array(bits, np.uint8) for bits in ([1, 0, 0, 1, 1], [1, 0, 1, 0, 1], [1, 0, 0, 0, 1]))
FORMATS = (DIRECT, Format(Kind.DIRECT, group=2), stride(2), stride(3), run_length(2))
BITS = st.lists(st.booleans(), max_size=40)


def test_example_of_the_claims() -> None:
    assert combine_direct(FIRST, SECOND).tolist() == BOTH.tolist()
    assert direct_to_strides(FIRST).tolist() == [0, 3, 1]
    assert direct_to_strides(SECOND).tolist() == [0, 2, 2]
    assert combine_strides(np.array([0, 3, 1]), np.array([0, 2, 2])).tolist() == [0, 4]
    assert combine_mixed_direct(np.array([0, 3, 1]), SECOND).tolist() == BOTH.tolist()
    assert combine_mixed_direct(np.array([0, 2, 2]), FIRST).tolist() == BOTH.tolist()
    assert combine_mixed_strides(np.array([0, 3, 1]), SECOND).tolist() == [0, 4]
    assert combine_mixed_strides(np.array([0, 2, 2]), FIRST).tolist() == [0, 4]


@settings(deadline=None)
@given(pairs=st.lists(st.tuples(st.booleans(), st.booleans()), max_size=60))
def test_all_combinations_of_formats_are_equal(pairs: list[tuple[bool, bool]]) -> None:
    first, second = np.array(pairs, np.uint8).reshape(-1, 2).T
    both = np.array([a and b for a, b in pairs], np.uint8)
    assert combine_direct(first, second).tolist() == both.tolist()
    strides = combine_strides(direct_to_strides(first), direct_to_strides(second))
    assert strides_to_direct(strides, len(pairs)).tolist() == both.tolist()
    assert combine_mixed_direct(direct_to_strides(first), second).tolist() == both.tolist()
    assert combine_mixed_strides(direct_to_strides(second), first).tolist() == strides.tolist()


def test_fibers_of_different_lengths_are_errors() -> None:
    with pytest.raises(InputError, match=r"direct indices of 5 and 4 bits"):
        combine_direct(FIRST, SECOND[:4])
    with pytest.raises(InputError, match=r"expected ascending positions below 5"):
        strides_to_direct(np.array([0, 3, 2]), 5)
    with pytest.raises(InputError, match=r"expected ascending positions below 5"):
        strides_to_direct(np.array([1, 0]), 5)
    connected = connections(encode(np.ones((2, 3)), DIRECT))
    with pytest.raises(InputError, match=r"connection data of shapes \(2, 3\) and \(3, 2\)"):
        combine(connected, connections(encode(np.ones((3, 2)), DIRECT)), DIRECT)
    with pytest.raises(InputError, match=r"tensor of shape \(3, 2\)"):
        compact(np.ones((3, 2)), connected)


def test_connection_data_of_both_orders_and_thresholds() -> None:
    # Claim 22: 1 where |x| > threshold; the thresholds of neurons and weights differ.
    weights = np.array([[0.1, 0.9, -0.9], [-0.5, 0.5, 0.0]], np.float32)
    by_output = encode(weights, DIRECT, Fibers((2, 3)), threshold=0.5)
    by_input = encode(weights, DIRECT, Fibers((2, 3), Order.INPUT), threshold=0.5)
    assert np.unpackbits(by_output.index, bitorder="little")[:6].tolist() == [0, 1, 1, 0, 0, 0]
    assert np.unpackbits(by_input.index, bitorder="little")[:6].tolist() == [0, 0, 1, 0, 1, 0]
    assert connection_mask(by_output).tolist() == connection_mask(by_input).tolist()
    neurons = np.array([0.4, 0.3, -0.2], np.float32)
    assert counts(neurons, 0.3).tolist() == [True, False, False]


@settings(max_examples=100, deadline=None)
@given(
    rows=st.integers(1, 4),
    length=st.integers(1, 30),
    seed=st.integers(0, 1 << 32),
    formats=st.tuples(*[st.sampled_from(FORMATS)] * 3),
)
def test_whole_tensors_combine_and_compact(
    rows: int, length: int, seed: int, formats: tuple[Format, Format, Format]
) -> None:
    generator = np.random.default_rng(seed)
    a, b = (generator.integers(1, 9, (rows, length)) * (generator.random((rows, length)) < 0.3) for _ in range(2))
    first, second = encode(a, formats[0]), encode(b, formats[1])
    # Fillers are no connections; a stored group connects all of its elements.
    for tensor, encoded, format in ((a, first, formats[0]), (b, second, formats[1])):
        grouped = np.repeat(
            np.pad(tensor != 0, ((0, 0), (0, -length % format.group))).reshape(rows, -1, format.group).any(2),
            format.group,
            axis=1,
        )[:, :length]
        assert connection_mask(encoded).tolist() == grouped.tolist()
    both = combine(connections(first), connections(second), formats[2])
    wanted = connection_mask(first) & connection_mask(second)
    assert (connection_mask(both) | ~wanted).all()
    if formats[2].group == 1:
        assert connection_mask(both).tolist() == wanted.tolist()
        assert decode(compact(a, both)).tolist() == (a * wanted).tolist()
        if formats[2].kind == Kind.DIRECT:
            assert compact(a, both).values.tolist() == a[wanted].tolist()


def test_one_sided_use_and_given_connection_data() -> None:
    # Claims 17 and 21: the connection data of one input, derived or given, selects elements of the other.
    neurons = np.array([[5, 0, 7, 8]], np.float32)
    weights = np.array([[0, 2, 3, 0]], np.float32)
    kept = compact(neurons, connections(encode(weights, stride(2))))
    assert (kept.values.tolist(), decode(kept).tolist()) == ([0, 7], [[0, 0, 7, 0]])
    given_data = encode_mask(weights != 0, np.array([[True, True, False, False]]), DIRECT, Fibers((1, 4)))
    assert compact(neurons, given_data).values.tolist() == [5, 0]


@settings(max_examples=100, deadline=None)
@given(length=st.integers(1, 50), seed=st.integers(0, 1 << 32), formats=st.tuples(*[st.sampled_from(FORMATS)] * 2))
def test_sparse_dot_product_equals_the_dense_one_bit_by_bit(
    length: int, seed: int, formats: tuple[Format, Format]
) -> None:
    generator = np.random.default_rng(seed)
    x, w = (
        (generator.standard_normal((1, length)) * (generator.random((1, length)) < 0.4)).astype(np.float32)
        for _ in range(2)
    )
    total, pairs = sparse_dot(encode(x, formats[0]), encode(w, formats[1]))
    assert np.asarray(total).tobytes() == np.asarray(accumulate((x * w)[0])).tobytes()
    if all(format.group == 1 for format in formats):
        assert pairs == np.count_nonzero((x != 0) & (w != 0))
