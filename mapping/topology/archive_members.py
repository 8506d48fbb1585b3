"""Reads members of an untrusted zip archive with bounded memory, and one error message for any damage."""

from __future__ import annotations

import struct
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import IO

from ...support.errors import InputError, shortened

MOST_DEFLATED = 1040
"""Deflate cannot expand a byte to more than 1,032; a member that claims more is damaged."""

_ENCRYPTED = 1
_CHUNK = 1 << 22
_DAMAGE = (
    zipfile.BadZipFile,
    zlib.error,
    struct.error,
    EOFError,
    NotImplementedError,
    RuntimeError,
    ValueError,
    OverflowError,
    OSError,
)


class Damage:
    """A context that converts any error to an InputError about damage of member `name` of the file at `path`."""

    def __init__(self, path: Path, name: str) -> None:
        self.path = path
        self.name = name

    def __enter__(self) -> None:
        pass

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if isinstance(error, (InputError, *_DAMAGE)):
            said = shortened(str(error), 500) or "ends too early"
            raise InputError(f"{self.path}: {self.name}: {said}") from error


class Members:
    """The members of the zip file at `path`, by name."""

    def __init__(self, path: str | Path) -> None:
        """
        Raises InputError if the file is not a zip file, has two members of the same name, or a member with an
        impossible length.
        """
        self.path = Path(path)
        if not self.path.is_file():
            raise InputError(f"{path}: no such file")
        with self.damage("the zip directory"):
            self._archive = zipfile.ZipFile(path)
        self.by_name: dict[str, zipfile.ZipInfo] = {}
        for info in self._archive.infolist():
            if info.filename in self.by_name:
                self.close()
                raise InputError(f"{path}: two members {info.filename!r}")
            self.by_name[info.filename] = info
        claimed = sum(info.file_size for info in self.by_name.values())
        if claimed > MOST_DEFLATED * self.path.stat().st_size:
            self.close()
            raise InputError(f"{path}: the zip directory: {claimed} bytes of content do not fit this file")

    def close(self) -> None:
        """Close the file."""
        self._archive.close()

    def damage(self, name: str) -> Damage:
        """The context for reading member `name`, see `Damage`."""
        return Damage(self.path, name)

    def read(self, name: str, most: int, prefix: int | None = None) -> bytes:
        """
        The content of member `name`, of at most `most` bytes; only its first `prefix` bytes if that is given.

        Raises InputError if it is missing, too long, or damaged (its CRC is checked unless only a prefix is read).
        """
        with self.damage(name):
            info = self._checked(name, most)
            wanted = info.file_size if prefix is None else min(prefix, info.file_size)
            with self._archive.open(info) as member:
                data = member.read(wanted)
                if prefix is None:
                    data += member.read(1)  # reading at the end checks the CRC
            if len(data) != wanted:
                raise InputError(f"{len(data)} bytes, the zip directory says {wanted}")
            return data

    def read_into(self, name: str, start: Callable[[IO[bytes], int], tuple[bytearray, int]]) -> bytearray:
        """
        Read the rest of member `name` into memory that the caller provides: `start(member, length)` reads the head of
        the member, and returns the memory for the rest and the length of the head. Raises InputError as `read` does.
        """
        with self.damage(name):
            info = self._checked(name, MOST_DEFLATED * self.path.stat().st_size)
            with self._archive.open(info) as member:
                data, head = start(member, info.file_size)
                at = 0
                while at < len(data) and (chunk := member.read(min(_CHUNK, len(data) - at))):
                    data[at : at + len(chunk)] = chunk
                    at += len(chunk)
                if at != len(data) or member.read(1) or head + at != info.file_size:
                    raise InputError("its length differs from that in the zip directory")
            return data

    def _checked(self, name: str, most: int) -> zipfile.ZipInfo:
        """The entry of a member that can be read with at most `most` bytes of memory."""
        if (info := self.by_name.get(name)) is None:
            raise InputError("this member is missing")
        if info.flag_bits & _ENCRYPTED or info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            raise InputError("encrypted, or compressed by another method than deflate")
        if info.file_size > most or info.file_size > MOST_DEFLATED * (info.compress_size + 1):
            raise InputError(
                f"{info.file_size} bytes out of {info.compress_size} compressed ones; at most {most} are allowed"
            )
        return info
