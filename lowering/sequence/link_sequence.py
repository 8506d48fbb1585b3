"""Link a sequence of compiled subgraphs to one program: addresses in DRAM and on the host, data, controller."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from xdsl.dialects.func import FuncOp

from ..launch.dram_segments import padded
from ..launch.result_values import Values
from ..linker.constants import constant_bytes
from ..linker.controller import boundary_actions
from ..linker.device_program import ConstantBlock, DeviceProgram, PlacedLaunch
from .dram_residency import LaunchOperands, Network, Residency
from .host_layout import HostLayout
from .launch_sequence import LaunchSequence


def network_of(sequence: LaunchSequence, scratch: Sequence[int]) -> Network:
    """The launches of a sequence, with the bytes of DRAM for the internal values of each."""
    launches = tuple(
        LaunchOperands(part.constants, part.arguments, part.results, own)
        for part, own in zip(sequence.parts, scratch, strict=True)
    )
    constants = tuple(constant_bytes(op).size for op in sequence.constants)
    outputs = frozenset(
        segment.number for one in sequence.outputs for segment in one.segments if segment.kind == "constant"
    )
    return Network(launches, sequence.values, constants, outputs)


def link_network(
    sequence: LaunchSequence,
    functions: Sequence[FuncOp],
    labels: Sequence[tuple[str, int]],
    names: Sequence[tuple[str, ...]],
    values: Sequence[tuple[Values, ...]],
    notes: Mapping[str, str],
    residency: Residency,
) -> DeviceProgram:
    """
    The program of a sequence of subgraphs. `functions`: the launch of each (see `PlacedLaunch`); `labels`: its name and
    number of operators; `names`: of its tasks; `values`: of the network, that the results of its tasks are.
    """
    host = HostLayout(sequence, residency)
    launches = tuple(
        PlacedLaunch(name, function, tasks, _segments(number, sequence, residency), operators, values=results)
        for number, (function, (name, operators), tasks, results) in enumerate(
            zip(functions, labels, names, values, strict=True)
        )
    )
    resident = [
        ConstantBlock("dram", address, (sequence.constants[one.number],))
        for one, address in zip(residency.allocations, residency.addresses, strict=True)
        if one.kind == "constant"
    ]
    streamed = [
        ConstantBlock("host", host.block_address(launch), tuple(sequence.constants[number] for number in block))
        for launch, block in residency.blocks.items()
    ]
    return DeviceProgram(
        launches,
        tuple(boundary_actions(host.boundaries())),
        (*resident, *streamed),
        tuple(host.tensors()),
        tuple(host.kept()),
        notes,
    )


def _segments(launch: int, sequence: LaunchSequence, residency: Residency) -> tuple[int, ...]:
    """DRAM address of each segment of a launch, in the order of `SubgraphCode.segments`."""
    part = sequence.parts[launch]
    block = residency.blocks.get(launch, ())
    in_block: dict[int, int] = {}
    at = residency.address("block", launch, launch) if block else 0
    for number in block:
        in_block[number] = at
        at += padded(constant_bytes(sequence.constants[number]).size)
    constants = [
        in_block[number] if number in in_block else residency.address("constant", number, launch)
        for number in part.constants
    ]
    values = [residency.address("value", number, launch) for number in (*part.arguments, *part.results)]
    try:
        scratch = residency.address("scratch", launch, launch)
    except KeyError:  # it needs none
        scratch = 0
    return (*constants, *values, scratch)
