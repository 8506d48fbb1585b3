"""Trace files of a run: arrays as `.npz` (the native format), and Chrome's JSON for Perfetto and chrome://tracing."""

from __future__ import annotations

import io
import json
from pathlib import Path

import numpy as np

from ...dialects.coreasm.isa import MNEMONICS, QUEUES, Unit
from ...support.errors import MeshloomError
from ..executable.executable import Executable, source_name
from ..timing.engine import TimingResult, Trace

HOST_TRACK = "host"


def trace_content(exe: Executable, timing: TimingResult, path: str | Path) -> bytes | str:
    """
    The contents of a trace file in the format of its name: arrays for `.npz`, otherwise Chrome's JSON.

    Raises MeshloomError if the run was not traced.
    """
    return to_npz(timing) if Path(path).suffix == ".npz" else to_chrome(exe, timing)


def _trace(timing: TimingResult) -> Trace:
    if timing.trace is None:
        raise MeshloomError("this run was not traced: time it with a trace")
    return timing.trace


def to_npz(timing: TimingResult) -> bytes:
    """core, unit, word, program, start and end of every instruction (cycles of the whole run), and the launches."""
    trace = _trace(timing)
    buffer = io.BytesIO()
    np.savez_compressed(
        buffer, core=trace.core, unit=trace.unit, word=trace.word, program=trace.program, start=trace.start,
        end=trace.end, launches=np.array(timing.launches, np.int64).reshape(-1, 3),
    )  # fmt: skip
    return buffer.getvalue()


def to_chrome(exe: Executable, timing: TimingResult) -> str:
    """
    Chrome trace-event JSON: a process for each core, a thread for each unit, one complete event for each instruction.

    Times are in microseconds of the chip's clock; an event's arguments are word, program, cycle and source operator.
    """
    trace = _trace(timing)
    scale = 1 / (exe.chip.clock_ghz * 1e3)
    events: list[dict[str, object]] = []
    for core in np.unique(trace.core).tolist():
        name = f"core {core} ({core % exe.chip.cols}, {core // exe.chip.cols})"
        events.append({"ph": "M", "pid": core, "name": "process_name", "args": {"name": name}})
        for unit in range(QUEUES):
            label = {"name": Unit(unit).name}
            events.append({"ph": "M", "pid": core, "tid": unit, "name": "thread_name", "args": label})
    columns = (trace.core, trace.unit, trace.word, trace.program, trace.start, trace.end)
    rows: list[list[int]] = np.stack([column.astype(np.int64) for column in columns], axis=1).tolist()
    for core, unit, word, index, start, end in rows:
        program = exe.programs[index]
        source = source_name(exe, program, word)
        arguments = {"word": word, "program": program.name, "cycle": start, "source": source}
        name = MNEMONICS[int(program.words["op"][word])]
        events.append(
            {
                "ph": "X", "pid": core, "tid": unit, "name": name, "cat": source or name, "ts": start * scale,
                "dur": (end - start) * scale, "args": arguments,
            }
        )  # fmt: skip
    host = exe.chip.cores
    events.append({"ph": "M", "pid": host, "name": "process_name", "args": {"name": HOST_TRACK}})
    for copy in timing.copies:
        name = "to device" if copy.to_device else "from device"
        events.append(
            {
                "ph": "X", "pid": host, "tid": 0 if copy.to_device else 1, "name": name, "ts": copy.start * scale,
                "dur": (copy.end - copy.start) * scale, "args": {"bytes": copy.nbytes},
            }
        )  # fmt: skip
    for number, start, end in timing.launches:
        events.append(
            {
                "ph": "X", "pid": host, "tid": 2, "name": f"launch {number}", "ts": start * scale,
                "dur": (end - start) * scale, "args": {},
            }
        )  # fmt: skip
    return json.dumps({"traceEvents": events, "displayTimeUnit": "ns"}, separators=(",", ":"))
