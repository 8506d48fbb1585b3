"""
Sparse formats that plug-ins add: kinds of indices, by which mapping units read and write blocks.

An executable that holds blocks of such a kind names it in its notes, so that a reader without the plug-in can say what
is missing.
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
"""The note of an executable that names the sparse formats of plug-ins that it holds."""

_NAME = re.compile(r"[a-z][a-z0-9_]*")
_MOST_BITS = 32
_PLUGIN_OF: dict[str, str] = {}
"""For each kind the plug-in that adds it."""


def add(kind: IndexKind, plugin: str) -> None:
    """Make a kind of index known. Raises InputError for a name or a number that is taken or none of a plug-in."""
    if _NAME.fullmatch(kind.name) is None:
        raise InputError(f"sparse format '{kind.name}': a name consists of lower-case letters, digits and underscores")
    if kind.name in KINDS:
        raise InputError(f"there is a sparse format '{kind.name}' already: give it another name")
    if kind.code not in CODES:
        raise InputError(
            f"sparse format '{kind.name}': number {kind.code} is not of plug-ins: choose {CODES.start} to {CODES[-1]}"
        )
    for other in KINDS.values():
        if other.code == kind.code:
            raise InputError(f"sparse format '{kind.name}': number {kind.code} is that of '{other.name}'")
    low, high = kind.bits
    if not 1 <= low <= high <= _MOST_BITS:
        raise InputError(f"sparse format '{kind.name}': codes have {low} to {high} bits: expected 1 to {_MOST_BITS}")
    KINDS[kind.name] = kind
    _PLUGIN_OF[kind.name] = plugin


def noted_formats(notes: Mapping[str, str], programs: Iterable[tuple[NDArray[Any], NDArray[Any]]]) -> dict[str, str]:
    """The notes of an executable with `programs` (words, descriptors), naming the plug-ins' formats among them."""
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
    """Raise InputError, naming the plug-in, where a format that an executable names is not known or differs."""

    def known(name: str) -> str | None:
        return _definition(KINDS[name]) if name in KINDS else None

    check_named(notes, NOTE, "format", "the sparse format", known, location)


def _codes(words: NDArray[Any], descs: NDArray[Any]) -> list[int]:
    """Numbers of the plug-ins' formats of the blocks of a program."""
    used = words["desc"][ENCODED[words["op"]] & (words["desc"] != NO_DESC)]
    known = np.unique(used[used < len(descs)])
    codes = np.unique(descs["size"][known, 3].astype(np.int64) >> CODE_SHIFT)
    return [code for code in codes.tolist() if code in CODES and any(kind.code == code for kind in KINDS.values())]


def _definition(kind: IndexKind) -> str:
    """A hash of what a kind says of itself, and of an index that it writes."""
    digest = hashlib.sha256(repr((kind.code, kind.bits, kind.by_input, kind.read_as)).encode())
    rows, columns = np.indices((7, 60))
    sample = (rows * columns * columns + rows) % 11 == 0
    for bits in kind.bits:
        if kind.problem(sample.shape[1], bits) is None:
            digest.update(kind.write(sample, bits).data.tobytes())
    return digest.hexdigest()[:16]
