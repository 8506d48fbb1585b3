"""
Files of a cache: each contains its key, so that a renamed file is not mistaken for another entry.

    +0   the key, 32 bytes
    +32  SHA-256 over key and content
    +64  the content
"""

from __future__ import annotations

import hashlib

from ...support.errors import InputError

KEY_BYTES = 32
"""Bytes of a key (SHA-256) and of the checksum."""


def write_entry(key: str, content: bytes) -> bytes:
    """The bytes of the entry for a key (64 hexadecimal digits)."""
    name = bytes.fromhex(key)
    return name + _checksum(name, content) + content


def read_entry(key: str, data: memoryview, location: str) -> memoryview:
    """The content of an entry. Raises InputError naming `location` if it is damaged or belongs to another key."""
    name, checksum = bytes(data[:KEY_BYTES]), bytes(data[KEY_BYTES : 2 * KEY_BYTES])
    content = data[2 * KEY_BYTES :]
    if checksum != _checksum(name, content):
        raise InputError(f"{location} is damaged: its checksum does not match")
    if name != bytes.fromhex(key):
        raise InputError(f"{location} is the entry of key {name.hex()}, expected {key}")
    return content


def _checksum(name: bytes, content: bytes | memoryview) -> bytes:
    digest = hashlib.sha256(name)
    digest.update(content)
    return digest.digest()
