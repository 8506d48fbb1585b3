"""
Tests of integers of variable length: check values of spec 4, round trips, malformed bytes.

The oracle is an encoder that works on binary digits as text.
"""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from meshloom.mapping.topology.varint import decode_varints, encode_varints
from meshloom.support.errors import InputError

CHECK = bytes([0b1_0000100, 0b1_1010101, 0b0_0010101, 0b0_0001101])
NUMBERS = st.integers(0, 62).flatmap(lambda bits: st.integers(0, (1 << (bits + 1)) - 1))


def reference_bytes(value: int) -> list[int]:
    """The bytes of `value`, from groups of seven of its binary digits, the most significant first."""
    bits = format(value, "b")
    bits = "0" * (-len(bits) % 7) + bits
    groups = [bits[k : k + 7] for k in range(0, len(bits), 7)]
    return [int(("0" if k == len(groups) - 1 else "1") + group, 2) for k, group in enumerate(groups)]


def test_check_values_of_the_specification() -> None:
    assert decode_varints(CHECK).tolist() == [76437, 13]
    assert encode_varints([76437, 13]) == CHECK


@settings(deadline=None)
@given(st.lists(NUMBERS))
def test_round_trip_and_the_bytes_themselves(values: list[int]) -> None:
    data = encode_varints(values)
    assert list(data) == [byte for value in values for byte in reference_bytes(value)]
    assert decode_varints(data).tolist() == values


@settings(deadline=None)
@given(st.binary())
def test_any_bytes_are_decoded_or_refused(data: bytes) -> None:
    try:
        values = decode_varints(data)
    except InputError:
        return
    assert all(0 <= value < 1 << 63 for value in values.tolist())
    assert len(values) == sum(byte < 128 for byte in data)


@pytest.mark.parametrize(
    ("data", "byte"), [(b"\x01\x81", 1), (b"\x80", 0), (b"\x05" + b"\xff" * 9 + b"\x00", 1), (b"\xff" * 20, 0)]
)
def test_truncated_and_too_long_numbers_are_refused(data: bytes, byte: int) -> None:
    with pytest.raises(InputError, match=f"byte {byte}:"):
        decode_varints(data)


@pytest.mark.parametrize("values", [[-1], [1 << 63], [0.5]])
def test_values_that_cannot_be_encoded(values: list[float]) -> None:
    with pytest.raises(InputError):
        encode_varints(values)
