"""
Cache of compiled subgraphs by content: in this process, and in a folder if one is given.

The key is the hash of all that the machine code depends on: the text of the subgraph, the chip, the effort, the
compiler's own source. Failures are cached as well, so that a second compilation fails as quickly. An entry that cannot
be read, or that belongs to another key, is compiled again and overwritten.
"""

from __future__ import annotations

import hashlib
import json
import os
from dataclasses import asdict, dataclass, field
from functools import cache
from pathlib import Path
from typing import TypeAlias, cast

from ...chips import Chip
from ...emulator.executable.file import FORMAT_VERSION, map_file
from ...support.errors import InputError, MeshloomError, ResourceError
from ...support.files import write_atomically
from ...support.plugins import plugins_digest
from ..options.effort import EFFORTS, Effort
from .cache_entry import read_entry, write_entry
from .subgraph_code import SubgraphCode
from .subgraph_file import subgraph_from_bytes, subgraph_to_bytes

SOURCES = ("analysis", "chips", "dialects", "emulator", "formats", "lowering", "mapping", "support", "transforms")
"""Folders of the package whose code determines the result of a compilation."""
COMPILED, FAILED = ".part", ".failure"
"""Suffixes of entries: machine code, and the reason why there is none."""


@dataclass(frozen=True)
class Failure:
    """The reason why a subgraph does not compile. `resource` is empty unless it does not fit."""

    message: str
    resource: str = ""
    needed: int = 0
    available: int = 0

    def error(self, message: str) -> MeshloomError:
        """The failure as an error to raise."""
        return (
            ResourceError(message, self.resource, self.needed, self.available)
            if self.resource
            else MeshloomError(message)
        )


Outcome: TypeAlias = SubgraphCode | Failure


def default_folder() -> Path:
    """The user's cache folder (XDG base directories)."""
    base = os.environ.get("XDG_CACHE_HOME", "")
    return (Path(base) if os.path.isabs(base) else Path.home() / ".cache") / "meshloom"


@cache
def compiler_digest() -> bytes:
    """A hash over the compiler's source, since other code may compile the same text differently."""
    digest = hashlib.sha256(str(FORMAT_VERSION).encode())
    root = Path(__file__).parents[2]
    for folder in SOURCES:
        for path in sorted((root / folder).rglob("*.py")):
            digest.update(path.relative_to(root).as_posix().encode() + b"\0")
            digest.update(path.read_bytes())
    return digest.digest()


_shared: dict[tuple[str, Effort], CompileCache] = {}


def cache_for(chip: Chip, effort: Effort = EFFORTS["default"]) -> CompileCache:
    """
    The cache that successive passes of this process share, for one chip and effort at a time.
    """
    key = chip.fingerprint, effort
    if key not in _shared:
        _shared.clear()
        _shared[key] = CompileCache(chip, effort=effort)
    return _shared[key]


@dataclass
class CompileCache:
    """Compilation results by key. Without a folder, only results of this process are cached."""

    chip: Chip
    folder: Path | None = None
    effort: Effort = EFFORTS["default"]
    """The effort of all entries."""
    hits: int = 0
    """Number of results that were read from the folder."""
    _known: dict[str, Outcome] = field(default_factory=dict[str, Outcome])

    def __post_init__(self) -> None:
        if self.folder is not None:
            try:
                self.folder.mkdir(parents=True, exist_ok=True)
            except OSError as error:
                raise InputError(f"cannot make the cache folder {self.folder}: {error.strerror or error}") from error

    def key(self, text: str) -> str:
        """The name of the entry of a subgraph."""
        digest = hashlib.sha256(f"{self.chip.fingerprint}\n{self.effort}\n".encode())
        if self.folder is not None:
            digest.update(compiler_digest() + plugins_digest())
        digest.update(text.encode())
        return digest.hexdigest()

    def get(self, key: str) -> Outcome | None:
        """The cached outcome for a subgraph."""
        if key not in self._known and self.folder is not None:
            found = self._read(self.folder, key)
            if found is not None:
                self.hits += 1
                self._known[key] = found
        return self._known.get(key)

    def put(self, key: str, outcome: Outcome) -> None:
        """Store the result of compiling a subgraph, code or failure. Raises MeshloomError if it cannot be written."""
        self._known[key] = outcome
        if self.folder is None:
            return
        if isinstance(outcome, Failure):
            suffix, content = FAILED, json.dumps(asdict(outcome)).encode()
        else:
            suffix, content = COMPILED, subgraph_to_bytes(outcome, self.chip)
        try:
            write_atomically(self.folder / f"{key}{suffix}", write_entry(key, content))
        except MeshloomError as error:
            raise MeshloomError(f"the cache cannot be written: {error}") from error

    def _read(self, folder: Path, key: str) -> Outcome | None:
        path = folder / f"{key}{COMPILED}"
        try:
            if path.is_file():
                return subgraph_from_bytes(read_entry(key, map_file(path), str(path)), self.chip, str(path))
            path = folder / f"{key}{FAILED}"
            if path.is_file():
                table = cast("dict[str, object]", json.loads(bytes(read_entry(key, map_file(path), str(path)))))
                message, resource, needed, available = (table[name] for name in Failure.__dataclass_fields__)
                if isinstance(needed, int) and isinstance(available, int):
                    return Failure(str(message), str(resource), needed, available)
        except (InputError, OSError, ValueError, KeyError, TypeError, AttributeError):
            pass  # damaged, of another version or for another key: it is written again
        return None
