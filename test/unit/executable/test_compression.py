"""Compression of sections in the standard ELF format, and errors for damaged sections."""

from __future__ import annotations

import struct
import zlib

import pytest
from meshloom.emulator.executable.compression import compressed, decompressed
from meshloom.support.errors import InputError

CONTENT = bytes(range(8)) * 100


def section(size: int, data: bytes, kind: int = 1, reserved: int = 0) -> memoryview:
    """A compressed section: the header Elf64_Chdr (type, reserved, size, alignment), then the data."""
    return memoryview(struct.pack("<IIQQ", kind, reserved, size, 8) + data)


def test_section_is_header_and_zlib_stream() -> None:
    found = compressed(CONTENT, 8)
    assert found is not None
    assert found[:24] == struct.pack("<IIQQ", 1, 0, 800, 8)
    assert zlib.decompress(found[24:]) == CONTENT
    assert decompressed(memoryview(found), "x") == CONTENT


@pytest.mark.parametrize("content", [b"", b"a", bytes(range(256))])
def test_data_that_would_not_shrink_are_not_compressed(content: bytes) -> None:
    assert compressed(content, 1) is None


STREAM = zlib.compress(CONTENT)


@pytest.mark.parametrize(
    ("damaged", "message"),
    [
        (section(800, STREAM)[:20], "x is truncated"),
        (section(800, STREAM, kind=2), "x has an unknown compression"),
        (section(800, STREAM, reserved=1), "x has an unknown compression"),
        (section(1 << 40, STREAM), "a wrong size"),
        (section(800, STREAM[:-1]), "x does not have the size in its header"),
        (section(800, STREAM + b"more"), "x does not have the size in its header"),
        (section(799, STREAM), "x does not have the size in its header"),
        (section(801, STREAM), "x does not have the size in its header"),
        (section(800, STREAM[:4] + bytes(4) + STREAM[8:]), "x cannot be decompressed"),
    ],
)
def test_damaged_sections_are_refused(damaged: memoryview, message: str) -> None:
    with pytest.raises(InputError, match=message):
        decompressed(damaged, "x")
