"""
Sparse formats that plug-ins add: kinds of indices of the blocks that mapping units read and write.

An executable that holds blocks of such a kind names the kind and its plug-in in its notes, so that a reader without the
plug-in can report what is missing.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...formats.sparse.block import CODE_SHIFT
from ...formats.sparse.index_kind import CODES, KINDS, IndexKind, kind_of_code
from ...support.errors import InputError
from .encoding import NO_DESC
from .isa import ENCODED
from .plugin_notes import check_named

NOTE = "sparse_formats"
"""Key of the note in which an executable names the plug-ins' sparse formats that it uses."""

_NAME = re.compile(r"[a-z][a-z0-9_]*")
_MOST_BITS = 32
_PLUGIN_OF: dict[str, str] = {}
"""Name of a kind -> the plug-in that adds it."""


def add(kind: IndexKind, plugin: str) -> None:
    """
    Register a kind of index. Raises InputError if its name or number is taken, or its number is not one of `CODES`.
    """
    if _NAME.fullmatch(kind.name) is None:
        raise InputError(f"sparse format '{kind.name}': a name consists of lower-case letters, digits and underscores")
    if kind.name in KINDS:
        raise InputError(f"there is a sparse format '{kind.name}' already: give it another name")
    if kind.code not in CODES:
        raise InputError(
            f"sparse format '{kind.name}': number {kind.code} is not reserved for plug-ins: choose "
            f"{CODES.start} to {CODES[-1]}"
        )
    for other in KINDS.values():
        if other.code == kind.code:
            raise InputError(f"sparse format '{kind.name}': number {kind.code} is used by '{other.name}'")
    low, high = kind.bits
    if not 1 <= low <= high <= _MOST_BITS:
        raise InputError(f"sparse format '{kind.name}': codes have {low} to {high} bits: expected 1 to {_MOST_BITS}")
    KINDS[kind.name] = kind
    _PLUGIN_OF[kind.name] = plugin


def noted_formats(notes: Mapping[str, str], programs: Iterable[tuple[NDArray[Any], NDArray[Any]]]) -> dict[str, str]:
    """
    The notes of an executable, with the note that names the plug-ins' formats used by `programs` (words, descriptors).
    """
    codes = sorted({code for words, descs in programs for code in _codes(words, descs)})
    others = {key: note for key, note in notes.items() if key != NOTE}
    if not codes:
        return others
    kinds = [kind_of_code(code) for code in codes]
    entries = [
        {"format": kind.name, "plugin": _PLUGIN_OF[kind.name], "definition": _definition(kind)} for kind in kinds
    ]
    return {**others, NOTE: json.dumps(entries)}


def check_formats(notes: Mapping[str, str], location: str) -> None:
    """
    Raise InputError, which names the plug-in, if a format named in the notes is unknown or its definition differs.
    """

    def known(name: str) -> str | None:
        return _definition(KINDS[name]) if name in KINDS else None

    check_named(notes, NOTE, "format", "the sparse format", known, location)


def _codes(words: NDArray[Any], descs: NDArray[Any]) -> list[int]:
    """Numbers of the plug-ins' formats that the blocks of a program have, ascending."""
    used = words["desc"][ENCODED[words["op"]] & (words["desc"] != NO_DESC)]
    known = np.unique(used[used < len(descs)])
    codes = np.unique(descs["size"][known, 3].astype(np.int64) >> CODE_SHIFT)
    return [code for code in codes.tolist() if code in CODES and any(kind.code == code for kind in KINDS.values())]


def _definition(kind: IndexKind) -> str:
    """A hash of a kind's attributes and of an index that it writes for a sample."""
    digest = hashlib.sha256(repr((kind.code, kind.bits, kind.by_input, kind.read_as)).encode())
    rows, columns = np.indices((7, 60))
    sample = (rows * columns * columns + rows) % 11 == 0
    for bits in kind.bits:
        if kind.problem(sample.shape[1], bits) is None:
            digest.update(kind.write(sample, bits).data.tobytes())
    return digest.hexdigest()[:16]
