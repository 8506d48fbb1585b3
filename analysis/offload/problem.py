"""The gaps of a cost graph: the times between two uses of a tensor in memory."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ..cost_graphs.graph import CostGraph, Flat, Ints, Lists, starts_of
from .recompute import Net
from .slack import graph_slack

VPU = "VPU"
"""Unit that compresses and decompresses."""


@dataclass(frozen=True)
class OffloadProblem:
    """
    n operations in the order of the file, one at a time; c gaps.

    A gap belongs to a tensor and two of its uses (or its production and first use), one after the other with other
    operations between them. Durations in ns, sizes in bytes, positions are numbers of operations.
    """

    graph: CostGraph
    duration: Ints
    """[n] ns"""
    on_vpu: NDArray[np.bool_]
    """[n] whether the operation keeps the vector unit busy."""
    allocated: Ints
    """[n] bytes that the operation allocates at its start for its results."""
    freed: Ints
    """[n] bytes of tensors without a later use."""
    live: Ints
    """[n] bytes in memory while the operation runs, without saving."""
    working_set: Ints
    """[n] bytes that the operation reads and writes."""
    tensor: Ints
    """[c]"""
    size: Ints
    """[c] bytes"""
    before: Ints
    """[c] the use before the gap."""
    after: Ints
    """[c] the use after the gap."""
    producer: Ints
    """[c] operation that computes the tensor."""
    last_use: Ints
    """[tensors] last operation that uses a tensor."""

    def budget_bytes(self, amount: float) -> int:
        """
        Bytes of a budget: values up to 1 are a share of the peak, exactly as the decimal digits state; larger ones are
        bytes.
        """
        return int(Fraction(str(amount)) * self.peak) if amount <= 1 else int(amount)

    @cached_property
    def net(self) -> Net:
        """The arrays that recomputation needs."""
        graph = self.graph
        inputs, outputs = _counted(graph.inputs, graph), _counted(graph.outputs, graph)
        return Net(
            duration=self.duration,
            input_start=inputs.starts,
            inputs=inputs.values,
            output_start=outputs.starts,
            outputs=outputs.values,
            producer=graph.producer,
            last_use=self.last_use,
            bytes=graph.size,
            tensor=self.tensor,
            before=self.before,
            after=self.after,
            gaps_of=starts_of(self.tensor, graph.tensors),
            gaps=np.argsort(self.tensor, kind="stable"),
        )

    @cached_property
    def waiting(self) -> Ints:
        """[c] ns for which each gap's tensor waits for the use after the gap (TTS)."""
        graph = self.graph
        keys = graph.inputs.rows * graph.tensors + graph.inputs.values
        order = np.argsort(keys, kind="stable")
        edges = order[np.searchsorted(keys, self.after * graph.tensors + self.tensor, sorter=order)]
        return graph_slack(graph).waiting[edges]

    @property
    def ops(self) -> int:
        """Number of operations."""
        return len(self.duration)

    @property
    def gaps(self) -> int:
        """Number of gaps."""
        return len(self.size)

    @property
    def peak(self) -> int:
        """Largest number of bytes in memory at one time, without saving."""
        return int(self.live.max(initial=0))

    @property
    def smallest_budget(self) -> int:
        """The largest working set: no plan needs less."""
        return int(self.working_set.max(initial=0))

    @property
    def compute_ns(self) -> int:
        """Duration of all operations."""
        return int(self.duration.sum())


def offload_problem(graph: CostGraph) -> OffloadProblem:
    """The gaps of a graph in its own order. Weights and inputs are not counted, and are not offloaded."""
    counted = graph.counted
    last = np.maximum(graph.producer, -1)
    readers = graph.readers
    np.maximum.at(last, readers.rows, readers.values)
    size = np.where(counted, graph.size, 0)
    allocated = _sums(graph.outputs, size)
    freed = np.bincount(last[counted], weights=size[counted].astype(np.float64), minlength=graph.ops)
    freed_bytes = np.round(freed).astype(np.int64)
    grown = np.cumsum(allocated)
    live = grown - np.concatenate([[0], np.cumsum(freed_bytes)[:-1]]) if graph.ops else grown
    tensors = np.flatnonzero(counted & (graph.size > 0))
    uses = _uses(graph, tensors)
    gaps = uses[:-1, 0] == uses[1:, 0] if len(uses) else np.zeros(0, np.bool_)
    first, second = uses[:-1][gaps], uses[1:][gaps]
    wide = second[:, 1] > first[:, 1] + 1
    first, second = first[wide], second[wide]
    # Kernels are compiled for one layout: a view of a column has a different layout than a selection from it.
    tensor, before, after = map(np.ascontiguousarray, (first[:, 0], first[:, 1], second[:, 1]))
    return OffloadProblem(
        graph=graph,
        duration=graph.duration,
        on_vpu=graph.unit == graph.unit_names.index(VPU) if VPU in graph.unit_names else np.zeros(graph.ops, np.bool_),
        allocated=allocated,
        freed=freed_bytes,
        live=live,
        working_set=allocated + _sums(graph.inputs, size),
        tensor=tensor,
        size=graph.size[tensor],
        before=before,
        after=after,
        producer=graph.producer[tensor],
        last_use=last,
    )


def _counted(lists: Lists, graph: CostGraph) -> Lists:
    """The lists restricted to tensors that count as memory."""
    keep = graph.counted[lists.values]
    return Lists(starts_of(lists.rows[keep], len(lists)), lists.values[keep])


def _sums(lists: Lists, size: Ints) -> Ints:
    """[rows] sums of the sizes of each row's tensors."""
    totals = np.concatenate([[0], np.cumsum(size[lists.values])])
    return totals[lists.starts[1:]] - totals[lists.starts[:-1]]


def _uses(graph: CostGraph, tensors: Ints) -> Ints:
    """(tensor, operation) of every production and use of these tensors, sorted, without duplicates."""
    wanted = np.zeros(graph.tensors, np.bool_)
    wanted[tensors] = True
    values, rows = graph.inputs.values, graph.inputs.rows
    keep = wanted[values]
    tensor: Flat = np.concatenate([tensors, values[keep]])
    op: Flat = np.concatenate([graph.producer[tensors], rows[keep]])
    return np.unique(np.stack([tensor, op], axis=1), axis=0)
