"""Totals of the work that depends on values: savings by the mapping unit in a run, and its costs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...dialects.coreasm.isa import QUEUES
from ..executable.executable import Executable
from ..machine.costs import RATE
from ..machine.mapped_work import COLUMNS, MappedWork


def pairs_by_rate(exe: Executable, launches: Sequence[int], mapped: MappedWork) -> float:
    """
    Pairs that sparse products multiplied, in f32-equivalents; `launches` are the numbers of the launches, in order.

    Encoding and decoding have no pairs.
    """
    pairs = mapped.costs[:, COLUMNS.index("pairs")]
    total = 0.0
    for run, number in enumerate(launches):
        mine = np.flatnonzero(mapped.run == run)
        program = exe.launches[number].program_of_core[mapped.lane[mine] // QUEUES]
        for index in np.unique(program):
            at = mine[program == index]
            types = exe.programs[int(index)].words["dtype"][mapped.word[at]] & 15
            total += float(np.sum(pairs[at] / RATE[types]))
    return total


def sparse_figures(mapped: MappedWork | None) -> dict[str, Any]:
    """
    The figures of sparse work for `stats.collect`; None: without a functional run, cycles are as declared.

    `map_cycles`: cycles in which the mapping unit reads indices, for encoding, decoding, sending and the matrix unit.
    `bytes_sent`: bytes of the puts without zeros; `bytes_sent_dense`: bytes of the same puts with zeros.
    """
    if mapped is None:
        return {"cycles": "declared"}
    totals = {name: mapped.total(name) for name in ("pairs", "skipped", "index_elements", "map_cycles")}
    sent = mapped.costs[:, COLUMNS.index("traffic")]
    dense = int(mapped.costs[sent > 0, COLUMNS.index("nbytes")].sum())
    return {
        "cycles": "counted", "executed": len(mapped.run), **totals, "bytes_sent": int(sent.sum()),
        "bytes_sent_dense": dense,
    }  # fmt: skip
