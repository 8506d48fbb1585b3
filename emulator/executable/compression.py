"""
Compressed sections of ELF (`SHF_COMPRESSED`): a header with the size of the contents, then a zlib stream. Any tool that
reads ELF files can read them.
"""

from __future__ import annotations

import struct
import zlib

from ...support.errors import InputError

_HEADER = struct.Struct("<IIQQ")
_ZLIB = 1
_LEVEL = 9
_LARGEST_RATIO = 1032
"""The highest compression ratio of Deflate: larger declared sizes are rejected before memory is allocated."""


def compressed(content: bytes, align: int) -> bytes | None:
    """The compressed section for `content`, aligned to `align` bytes in memory; None if it would not be smaller."""
    found = _HEADER.pack(_ZLIB, 0, len(content), align) + zlib.compress(content, _LEVEL)
    return found if len(found) < len(content) else None


def decompressed(section: memoryview, what: str) -> memoryview:
    """The contents of a compressed section. Raises InputError, beginning with `what`, if it is damaged."""
    if len(section) < _HEADER.size:
        raise InputError(f"{what} is truncated")
    kind, reserved, size, _ = _HEADER.unpack(section[: _HEADER.size])
    data = section[_HEADER.size :]
    if kind != _ZLIB or reserved != 0 or size > _LARGEST_RATIO * len(data):
        raise InputError(f"{what} has an unknown compression or a wrong size")
    inflate = zlib.decompressobj()
    try:
        content = inflate.decompress(data, size + 1)
    except zlib.error as error:
        raise InputError(f"{what} cannot be decompressed: {error}") from error
    if len(content) != size or not inflate.eof or inflate.unused_data:
        raise InputError(f"{what} does not have the size in its header")
    return memoryview(content)
