"""Program deduplication: one program for all cores whose instructions differ only in addresses, peers or descriptors.

Cores whose words agree in everything that cannot be patched share a program; fields in which any two of them differ
become parameters with one value per core. Descriptor numbers are narrowed to the program's own 16-bit table.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...dialects.coreasm.check import PATCHABLE
from ...dialects.coreasm.encoding import DESC, NO_DESC, WORD
from ...emulator.executable.executable import Program
from ...support.errors import ResourceError
from ..codegen.stream import CORE_SET_FLAG, UNUSED, DescriptorTable

_MAX_DESCRIPTORS = NO_DESC
"""Indices 0 to 0xFFFE; 0xFFFF means none."""


@dataclass(frozen=True)
class DeduplicatedProgram:
    """A program, the cores that run it (ascending) and the values [cores, params] of its parameters."""

    program: Program
    cores: tuple[int, ...]
    values: NDArray[np.uint32]


def deduplicate_programs(
    words_of_core: Mapping[int, NDArray[np.void]], descriptors: DescriptorTable, name: str
) -> list[DeduplicatedProgram]:
    """Group the cores' words (WIDE, complete) into programs called `name`.0 and so on, by their lowest core.

    Raises ResourceError if a single core needs more descriptors than a program's table holds.
    """
    groups: dict[bytes, list[int]] = {}
    for core in sorted(words_of_core):
        groups.setdefault(_fixed_part(words_of_core[core]), []).append(core)
    sizes, strides = descriptors.arrays()
    result: list[DeduplicatedProgram] = []
    for whole in groups.values():
        for cores, used in _split_by_descriptors(whole, words_of_core, len(descriptors)):
            table = np.zeros(len(used), dtype=DESC)
            table["size"], table["stride"] = sizes[used], strides[used]
            narrow = np.zeros(len(descriptors), dtype=np.uint16)
            narrow[used] = np.arange(len(used))
            result.append(_shared(f"{name}.{len(result)}", cores, words_of_core, table, narrow))
    return result


def _fixed_part(words: NDArray[np.void]) -> bytes:
    """The key of cores that can share a program, as bytes."""
    fixed = words.copy()
    fixed["source"] = 0
    patchable = PATCHABLE[words["op"]]
    fixed["addr"][patchable[:, :4]] = 0
    # Only the kind of a descriptor operand must agree: an access, an immediate value, a core set or none.
    fixed["desc"][patchable[:, 4:8] & (words["desc"] < CORE_SET_FLAG)] = 0
    fixed["desc"][patchable[:, 4:8] & (words["desc"] >= CORE_SET_FLAG) & (words["desc"] < UNUSED)] = CORE_SET_FLAG
    fixed["imm"][patchable[:, 8]] = 0
    fixed["regs"][patchable[:, 9]] = 0
    return fixed.tobytes()


def _split_by_descriptors(
    cores: Sequence[int], words_of_core: Mapping[int, NDArray[np.void]], descriptors: int
) -> list[tuple[list[int], NDArray[np.int64]]]:
    """`cores` in as few groups (halves, quarters, ...) as have tables in range, each with the descriptors it uses."""
    seen = np.zeros(descriptors + 1, dtype=np.bool_)
    for core in cores:
        seen[np.minimum(words_of_core[core]["desc"], descriptors)] = True
    used = np.flatnonzero(seen[:descriptors])
    if len(used) <= _MAX_DESCRIPTORS:
        return [(list(cores), used)]
    if len(cores) == 1:
        raise ResourceError(
            f"core {cores[0]} needs {len(used)} different access descriptors, a program has at most {_MAX_DESCRIPTORS}:"
            " split the network into several launches or use larger tiles",
            "access descriptors of a program", len(used), _MAX_DESCRIPTORS,
        )  # fmt: skip
    middle = len(cores) // 2
    return _split_by_descriptors(cores[:middle], words_of_core, descriptors) + _split_by_descriptors(
        cores[middle:], words_of_core, descriptors
    )


def _shared(
    name: str,
    cores: list[int],
    words_of_core: Mapping[int, NDArray[np.void]],
    table: NDArray[np.void],
    narrow: NDArray[np.uint16],
) -> DeduplicatedProgram:
    first = words_of_core[cores[0]]
    fields = _fields(first, narrow)
    differs = np.zeros(fields.shape, dtype=np.bool_)
    for core in cores[1:]:
        differs |= _fields(words_of_core[core], narrow) != fields
    at, code = np.nonzero(differs)
    values = np.array([_fields(words_of_core[core], narrow)[at, code] for core in cores])
    final = np.zeros(len(first), dtype=WORD)
    for column in ("op", "dtype", "wait", "signal", "regs", "imm", "addr"):
        final[column] = first[column]
    final["desc"] = _narrow(first["desc"], narrow)
    params = np.stack([at, code], axis=1).astype(np.uint32)
    return DeduplicatedProgram(Program(name, final, table, params, first["source"].copy()), tuple(cores), values)


def _fields(words: NDArray[np.void], narrow: NDArray[np.uint16]) -> NDArray[np.uint32]:
    """[words, field code] the fields of a program's words that parameters can set."""
    columns = words["addr"], _narrow(words["desc"], narrow), words["imm"][:, None], words["regs"][:, None]
    return np.concatenate(columns, axis=1, dtype=np.uint32)


def _narrow(desc: NDArray[np.uint32], narrow: NDArray[np.uint16]) -> NDArray[np.uint16]:
    """16-bit descriptor fields of 32-bit descriptor operands."""
    result = np.full(desc.shape, NO_DESC, dtype=np.uint16)
    access = desc < CORE_SET_FLAG
    result[access] = narrow[desc[access]]
    core_set = ~access & (desc < UNUSED)
    result[core_set] = (desc[core_set] - CORE_SET_FLAG).astype(np.uint16)
    return result
