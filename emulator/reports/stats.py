"""The figures of a run as a JSON-serialisable dictionary, as written by `--stats`."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from ...chips.chip import Chip
from ...dialects.coreasm.isa import DEPENDS_ON_DATA, DESC, QUEUES, UNIT_OF_OPCODE, WORD, Unit
from ..executable.executable import Executable
from ..machine.costs import RATE
from ..machine.expand import Decisions
from ..machine.mapped_work import MappedWork
from ..timing.engine import TimingResult, has_sparse_work
from ..timing.tables import Tables, build_tables
from .achievable import achievable_of
from .busiest import busiest
from .device_memory import device_memory
from .energy import EnergyEvents, energy_picojoules
from .recurrent_layers import RecurrentLayer
from .recurrent_time import noted_layers, reference_time
from .roofline import Roofline, Work, ideal_work, roofline
from .stats_mapped import pairs_by_rate, sparse_figures
from .stats_memory import peak_sram


@dataclass(frozen=True)
class Totals:
    """Totals of a run's instructions over all cores and launches; exact integers except the f32-equivalents."""

    macs: int
    """Multiply-accumulates of the matrix unit and of the vector unit's dot products."""
    mpu_macs: int
    mpu_macs_f32: float
    """Multiply-accumulates of the matrix unit, divided by the rate of their type."""
    vpu_ops: int
    """Element operations; slow functions count with their factor."""
    vpu_ops_f32: float
    sram_bytes: int


def count_work(exe: Executable, launches: Sequence[int], mapped: MappedWork | None = None) -> Totals:
    """
    Totals over `launches` (numbers, in order; a launch that runs several times is repeated).

    For sparse products, the pairs that `mapped` counted, or without it those of as many entries as blocks can hold.
    """
    total = np.zeros(2, np.float64)
    exact = [0, 0, 0, 0]
    decisions: Mapping[int, Decisions] = {} if mapped is None else mapped.decisions
    alike = Counter((number, run if run in decisions else -1) for run, number in enumerate(launches))
    for (number, run), runs in sorted(alike.items()):
        tables = build_tables(exe, exe.launches[number])
        values, floats = _work(tables, mapped is not None, decisions.get(run))
        exact = [e + v * runs for e, v in zip(exact, values, strict=True)]
        total += np.array(floats) * runs
    if mapped is not None:
        exact = [e + mapped.total(name) for e, name in zip(exact, ("pairs", "pairs", "", "nbytes"), strict=True)]
        total[0] += pairs_by_rate(exe, launches, mapped)
    return Totals(exact[0], exact[1], float(total[0]), exact[2], float(total[1]), exact[3])


def _work(tables: Tables, without_mapped: bool, decisions: Decisions | None) -> tuple[list[int], list[float]]:
    """MACs, those of the MPU, element operations and SRAM bytes of a launch; the middle two in f32-equivalents too."""
    words, costs, times = tables.words[tables.first], tables.costs, tables.executed(decisions)
    ops = words["op"]
    if without_mapped:
        times = np.where(DEPENDS_ON_DATA[ops], 0, times)
    rate = RATE[(words["dtype"] & 15).astype(np.int64)]
    mpu = UNIT_OF_OPCODE[ops] == Unit.MPU
    values = [int(np.dot(column, times)) for column in (costs.macs, costs.macs * mpu, costs.vpu_ops, costs.sram_bytes)]
    floats = [float(np.sum(column * times / rate)) for column in (costs.macs * mpu, costs.vpu_ops)]
    return values, floats


def collect(exe: Executable, timing: TimingResult, mapped: MappedWork | None = None) -> dict[str, Any]:
    """
    All figures of a run of `exe` with this `timing`; `mapped` is the sparse work of its functional run.

    `cycles` count from the first launch to the last completion; utilisation is busy cycles over these. Bytes on links
    count once for each link, in whole packets. Raises EmulationError for a malformed note `ideal`.
    """
    chip = exe.chip
    launches = [number for number, _, _ in timing.launches]
    work = count_work(exe, launches, mapped)
    sparse = sparse_figures(mapped) if has_sparse_work(exe) else None
    cycles = max(timing.cycles, 1)
    dram = int(timing.port_read.sum() + timing.port_written.sum())
    host = timing.host_in_bytes + timing.host_out_bytes
    noc = sum(_link_bytes(timing).values())
    own = roofline(chip, Work(work.mpu_macs_f32, work.vpu_ops_f32, dram, noc, host))
    ideal = ideal_work(exe)
    bound = network_roofline(exe, work) or own
    layers = noted_layers(exe)
    names = [Unit(unit).name for unit in range(QUEUES)]
    indices = 0 if mapped is None else mapped.total("index_elements")
    events = EnergyEvents(work.mpu_macs_f32, work.vpu_ops_f32, work.sram_bytes, noc, dram, host, indices)
    return {
        "chip": chip.name,
        "cycles": timing.cycles,
        "time_us": timing.cycles / (chip.clock_ghz * 1e3),
        "total_cycles": timing.total_cycles,
        "load_cycles": timing.load_cycles,
        "host_in_cycles": timing.host_in_cycles,
        "host_out_cycles": timing.host_out_cycles,
        "launches": _launches(exe, timing),
        "units": _units(names, timing, cycles, len(chip.usable_cores)),
        "busy_cycles_of_core": {name: timing.busy[:, u].tolist() for u, name in enumerate(names)},
        "macs": work.macs,
        "vpu_ops": work.vpu_ops,
        "mpu_efficiency": work.mpu_macs_f32 / (cycles * len(chip.usable_cores) * chip.mpu_rows * chip.mpu_cols),
        "instructions": {"executed": int(timing.instructions.sum()), **_code(exe)},
        "roofline": _roofline(bound, cycles, "executable" if ideal is None else "network"),
        "roofline_of_executable": _roofline(own, cycles, "executable"),
        "busiest": [asdict(one) for one in busiest(exe, timing)],
        **_achievable(exe, cycles),
        **({} if ideal is None or not layers else _reference(chip, _at_rate(ideal, work), layers, timing.cycles)),
        "bytes": _bytes(exe, timing, work),
        "peak_sram": _peaks(peak_sram(exe, launches)),
        "peak_dram": exe.dram_bytes_used,
        "peak_host": exe.host_bytes,
        **_device_memory(exe, timing),
        "energy_pj": energy_picojoules(chip, events),
        **({} if sparse is None else {"sparse": sparse}),
    }


def _bytes(exe: Executable, timing: TimingResult, work: Totals) -> dict[str, Any]:
    """Bytes on links, read from and written to memories, and of weights."""
    return {
        "links": _link_bytes(timing),
        "dram_read": int(timing.port_read.sum()),
        "dram_written": int(timing.port_written.sum()),
        "dram_of_port": (timing.port_read + timing.port_written).tolist(),
        "host_in": timing.host_in_bytes,
        "host_out": timing.host_out_bytes,
        "sram": work.sram_bytes,
        "weights": exe.weight_bytes,
        "host_weights": exe.host_weight_bytes,
    }


def _link_bytes(timing: TimingResult) -> dict[str, int]:
    """Bytes by kind of link."""
    return {
        "horizontal": int(timing.link_bytes[:, :2].sum()),
        "vertical": int(timing.link_bytes[:, 2:4].sum()),
        "into_cores": int(timing.link_bytes[:, 4].sum()),
    }


def _code(exe: Executable) -> dict[str, int]:
    """Number of instruction words, and bytes of code including descriptors and parameters."""
    words = sum(len(program.words) for program in exe.programs)
    descriptors = sum(len(program.descs) for program in exe.programs)
    parameters = sum(len(values) for launch in exe.launches for values in launch.params_of_core)
    return {"static": words, "code_bytes": words * WORD.itemsize + descriptors * DESC.itemsize + 4 * parameters}


def _device_memory(exe: Executable, timing: TimingResult) -> dict[str, Any]:
    """DRAM in use over time, for executables that list their buffers in DRAM."""
    memory = device_memory(exe, timing)
    if memory is None:
        return {}
    figures = {
        "capacity": memory.planned.capacity,
        "unsaved": memory.planned.unsaved,
        "planned_peak": memory.planned.peak,
        "planned_cycles": memory.planned.cycles,
        "peak": memory.peak,
        "stray_accesses": memory.stray,
        "profile": [memory.times.tolist(), memory.held.tolist()],
    }
    return {"device_memory": figures}


def _launches(exe: Executable, timing: TimingResult) -> list[dict[str, Any]]:
    """Start and end of each launch, with the compiler's name and estimate if they are in the note `subgraphs`."""
    try:
        note: object = json.loads(exe.notes.get("subgraphs", "[]"))
    except ValueError:
        note = []
    known = cast("list[object]", note) if isinstance(note, list) else []
    found: list[dict[str, Any]] = []
    for number, start, end in timing.launches:
        entry: dict[str, Any] = {"number": number, "start": start, "end": end}
        match known[number] if number < len(known) else None:
            case [str(label), int(operators), int(cycles)]:
                entry |= {"subgraph": label, "operators": operators, "estimated_cycles": cycles}
            case _:
                pass
        found.append(entry)
    return found


def network_roofline(exe: Executable, work: Totals) -> Roofline | None:
    """
    The roofline of the network's own work; None for an executable without a note of it. `work`: the executable's own,
    from which the types of operations are taken. Raises EmulationError for a malformed note `ideal`.
    """
    ideal = ideal_work(exe)
    return None if ideal is None else roofline(exe.chip, _at_rate(ideal, work))


def _at_rate(ideal: Work, work: Totals) -> Work:
    """Converts `ideal`, which counts operations of all types, to f32-equivalents by the executable's mean rates."""
    mpu = work.mpu_macs_f32 / work.mpu_macs if work.mpu_macs else 1.0
    vpu = work.vpu_ops_f32 / work.vpu_ops if work.vpu_ops else 1.0
    return replace(ideal, macs=ideal.macs * mpu, vpu_ops=ideal.vpu_ops * vpu)


def _units(names: list[str], timing: TimingResult, cycles: int, cores: int) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for unit, name in enumerate(names):
        busy = int(timing.busy[:, unit].sum())
        found[name] = {
            "busy_cycles": busy,
            "utilisation": busy / (cycles * max(cores, 1)),
            "utilisation_max": float(timing.busy[:, unit].max(initial=0)) / cycles,
            "instructions": int(timing.instructions[:, unit].sum()),
        }
    return found


def _roofline(bound: Roofline, cycles: int, of: str) -> dict[str, Any]:
    ratio = cycles / bound.bound if bound.bound > 0 else None
    return {"of": of, "cycles": bound.bound, "unit": bound.binding, "ratio": ratio, "by_unit": bound.cycles}


def _achievable(exe: Executable, cycles: int) -> dict[str, Any]:
    """The achievable time of the network, and its parts."""
    found = achievable_of(exe)
    if found is None:
        return {}
    parts = {"peak": found.peak, "filling": found.filling, "loads": found.loads, "results": found.results}
    ratio = cycles / found.cycles if found.cycles > 0 else None
    layers = [layer.figures() for layer in found.layers]
    return {"achievable": {"cycles": found.cycles, "ratio": ratio, "by_part": parts, "layers": layers}}


def _reference(chip: Chip, work: Work, layers: Sequence[RecurrentLayer], cycles: int) -> dict[str, Any]:
    """For a network with loops: the reference time, the binding resource, and the number of cores of the steps."""
    found = reference_time(chip, work, layers)
    by_part = {"steps": found.steps, "DRAM": found.dram, "units": found.units}
    ratio = cycles / found.cycles if found.cycles else None
    entry = {"cycles": found.cycles, "set_by": found.binding, "ratio": ratio, "cores": found.cores, "by_part": by_part}
    return {"reference": entry}


def _peaks(peak: NDArray[np.int64]) -> dict[str, Any]:
    return {"max": int(peak.max(initial=0)), "of_core": peak.tolist()}
