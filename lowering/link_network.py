"""Link the machine code of all parts to one executable: places in DRAM and on the host, weights, controller."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..chips import Chip
from ..emulator.executable import Executable, Launch, Program
from ..support.errors import ResourceError
from .constants import constant_bytes
from .controller import controller_program
from .dram_layout import padded
from .host_layout import HostLayout
from .link import Programs
from .piece_code import PieceCode
from .relocate import Relocation, common_sets, relocated
from .residency import Needs, Network, Residency, plan_residency
from .serial import Serial
from .task_notes import joined_notes
from .wide_words import isa_facts

_MOST_SETS = 0xFFFF


def network_of(serial: Serial, scratch: Sequence[int]) -> Network:
    """The launches of a serial list, with the bytes of DRAM that each needs for itself."""
    launches = tuple(
        Needs(part.constants, part.arguments, part.results, own)
        for part, own in zip(serial.parts, scratch, strict=True)
    )
    constants = tuple(constant_bytes(op).size for op in serial.constants)
    outputs = frozenset(piece.number for one in serial.outputs for piece in one.pieces if piece.kind == "constant")
    return Network(launches, serial.values, constants, outputs)


def link_network(
    chip: Chip,
    serial: Serial,
    codes: Sequence[PieceCode],
    names: Sequence[Sequence[str]],
    notes: Mapping[str, str],
    residency: Residency | None = None,
) -> Executable:
    """
    The executable of a serial list of compiled parts; `names`: of each part's tasks.

    Raises DramShortage naming the launch whose values do not fit in DRAM (unless `residency` is known already), and
    ResourceError for more sets of receivers than can be named.
    """
    if residency is None:
        residency = plan_residency(network_of(serial, [code.segments[-1] for code in codes]), chip.dram_bytes)
    segments = [_segments(number, serial, residency) for number in range(len(codes))]
    linked = link_codes(chip, codes, segments, names)
    host = HostLayout(serial, residency)
    return Executable(
        chip=chip,
        tensors=host.tensors(),
        programs=linked.programs,
        launches=linked.launches,
        core_sets=linked.core_sets,
        controller=controller_program(host.boundaries()),
        weights=_resident_weights(serial, residency),
        weights_address=0,
        dram_bytes_used=residency.used,
        source_names=linked.source_names,
        notes={**notes, "tasks": joined_notes([code.notes for code in codes], names)},
        host_weights=host.weights(),
        host_weights_address=host.weights_address if residency.blocks else 0,
        host_bytes_used=host.end if residency.spilled else 0,
    )


@dataclass(frozen=True)
class LinkedCode:
    """The machine code of all launches at their places."""

    programs: list[Program]
    launches: list[Launch]
    core_sets: NDArray[np.bool_]
    source_names: list[str]


def link_codes(
    chip: Chip, codes: Sequence[PieceCode], segments: Sequence[NDArray[np.int64]], names: Sequence[Sequence[str]]
) -> LinkedCode:
    """
    Launches whose segments lie at the given DRAM addresses; `names`: of each one's tasks.

    Raises ResourceError for more sets of receivers than can be named.
    """
    facts = isa_facts()
    sets, numbers = common_sets([code.code.core_sets for code in codes], chip.cores)
    if len(sets) > _MOST_SETS:
        raise ResourceError(
            f"the launches have {len(sets)} different sets of receivers, an executable holds {_MOST_SETS}: use larger "
            "or more regular tiles",
            "sets of receivers", len(sets), _MOST_SETS,
        )  # fmt: skip
    programs = Programs()
    launches: list[Launch] = []
    source_names: list[str] = []
    for number, code in enumerate(codes):
        own, launch = relocated(code.code, Relocation(segments[number], numbers[number], len(source_names)), facts)
        for index, program in enumerate(own):
            program.name = f"launch{number}.{index - 1}" if index else program.name
        launches.append(programs.add(own, launch))
        source_names += names[number]
    return LinkedCode(programs.all, launches, sets, source_names)


def _segments(launch: int, serial: Serial, residency: Residency) -> NDArray[np.int64]:
    """DRAM address of each segment of a launch, in the order of `PieceCode.segments`."""
    part = serial.parts[launch]
    block = residency.blocks.get(launch, ())
    in_block: dict[int, int] = {}
    at = residency.address("block", launch, launch) if block else 0
    for number in block:
        in_block[number] = at
        at += padded(constant_bytes(serial.constants[number]).size)
    constants = [
        in_block[number] if number in in_block else residency.address("constant", number, launch)
        for number in part.constants
    ]
    values = [residency.address("value", number, launch) for number in (*part.arguments, *part.results)]
    try:
        scratch = residency.address("scratch", launch, launch)
    except KeyError:  # it needs none
        scratch = 0
    return np.array([*constants, *values, scratch], np.int64)


def _resident_weights(serial: Serial, residency: Residency) -> NDArray[np.uint8]:
    """The bytes of DRAM from address 0 to the end of the constants that stay."""
    stays = [
        (stay, address)
        for stay, address in zip(residency.stays, residency.addresses, strict=True)
        if stay.kind == "constant"
    ]
    data = np.zeros(max((address + padded(stay.nbytes) for stay, address in stays), default=0), np.uint8)
    for stay, address in stays:
        content = constant_bytes(serial.constants[stay.number])
        data[address : address + content.size] = content
    return data
