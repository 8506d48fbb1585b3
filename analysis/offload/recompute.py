"""Recomputation: the operations that run again for a tensor, their duration, and the memory of intermediate results."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ...support.jit import jit
from ..cost_graphs.graph import Flat
from .kinds import Kind

KEEP, SWAP, COMPRESS, COMPRESS_SWAP, RECOMPUTE, RECOMPUTE_EACH, RECOMPUTE_AHEAD = (int(kind) for kind in Kind)
LONGEST = 12
"""The largest number of operations that run again for one tensor; longer chains rarely pay."""


class Net(NamedTuple):
    """The arrays of the graph that recomputation needs. n operations, m tensors, c gaps."""

    duration: Flat
    """[n] ns"""
    input_start: Flat
    """[n + 1]"""
    inputs: Flat
    """Tensors that count as memory and that operations read."""
    output_start: Flat
    """[n + 1]"""
    outputs: Flat
    """Tensors that count as memory and that operations compute."""
    producer: Flat
    """[m]"""
    last_use: Flat
    """[m]"""
    bytes: Flat
    """[m]"""
    tensor: Flat
    """[c]"""
    before: Flat
    """[c]"""
    after: Flat
    """[c]"""
    gaps_of: Flat
    """[m + 1]"""
    gaps: Flat
    """[c] gaps by tensor."""


@jit
def chain_of(net: Any, plan: Any, due: Any, gap: int, ops: Any, stack: Any) -> int:
    """
    Write the operations that recompute a gap's tensor when it is due to `ops` [LONGEST], ascending. Returns their
    number; -1 if there are too many. If tensors that are due later are needed for this, they become due now, and the
    result is -2 - (number of the first such gap). `stack` [4 LONGEST] is working memory.
    """
    at, wanted, count = due[gap], net.tensor[gap], 0
    stack[0], height = net.producer[wanted], 1
    while height:
        height -= 1
        op = stack[height]
        position = count
        while position > 0 and ops[position - 1] > op:
            position -= 1
        if position > 0 and ops[position - 1] == op:
            continue
        if count == LONGEST:
            return -1
        for k in range(count, position, -1):
            ops[k] = ops[k - 1]
        ops[position] = op
        count += 1
        for k in range(net.input_start[op], net.input_start[op + 1]):
            value = net.inputs[k]
            there = net.last_use[value] >= at
            for q in range(net.gaps_of[value], net.gaps_of[value + 1]):
                g = net.gaps[q]
                if plan[g] != KEEP and net.before[g] < at < due[g]:
                    if plan[g] == RECOMPUTE_EACH:
                        there = False
                    else:
                        return -2 - g
            if not there:
                if height == len(stack):
                    return -1
                stack[height] = net.producer[value]
                height += 1
    return count


@jit
def recomputations(net: Any, plan: Any):
    """
    (due, ns, room), each [c]: the operation at which each gap's tensor must be restored, the duration of its
    recomputation (-1: too many operations), and the bytes of intermediate results without the tensor itself.
    """
    m = len(net.after)
    due = net.after.copy()
    ns, room = np.zeros(m, np.int64), np.zeros(m, np.int64)
    count = 0
    ones = np.empty(m, np.int64)
    for gap in range(m):
        if plan[gap] >= RECOMPUTE:
            due[gap] -= plan[gap] == RECOMPUTE_AHEAD and net.after[gap] > net.before[gap] + 2
            ones[count] = gap
            count += 1
    if count == 0:
        return due, ns, room
    ones = ones[:count]
    ones = ones[np.argsort(due[ones], kind="mergesort")]
    # In the order in which they are due; those that become due earlier follow directly, so that each is visited once.
    ops, stack = np.empty(LONGEST, np.int64), np.empty(4 * LONGEST, np.int64)
    done = np.zeros(m, np.bool_)
    sooner, more = np.empty(m, np.int64), 0
    head = 0
    while more or head < count:
        if more:
            more -= 1
            gap = sooner[more]
        else:
            gap = ones[head]
            head += 1
            if done[gap]:
                continue
        done[gap] = True
        length = chain_of(net, plan, due, gap, ops, stack)
        while length <= -2:
            other = -2 - length
            due[other] = due[gap]
            if plan[other] >= RECOMPUTE:
                sooner[more] = other
                more += 1
            length = chain_of(net, plan, due, gap, ops, stack)
        if length == -1:
            ns[gap] = -1
        else:
            ns[gap], room[gap] = _chain_costs(net, ops, length, net.tensor[gap])
    return due, ns, room


@jit
def _chain_costs(net: Any, ops: Any, count: int, tensor: int) -> tuple[int, int]:
    """(ns, largest number of bytes of intermediate results while the chain runs, without the tensor itself)."""
    ns = net.duration[ops[0]]
    if count == 1:
        held = 0
        for q in range(net.output_start[ops[0]], net.output_start[ops[0] + 1]):
            if net.outputs[q] != tensor:
                held += net.bytes[net.outputs[q]]
        return ns, held
    # Results that no later operation of the chain reads are freed.
    freed = np.zeros(count, np.int64)
    for k in range(count):
        for q in range(net.output_start[ops[k]], net.output_start[ops[k] + 1]):
            value = net.outputs[q]
            if value != tensor:
                freed[_last_reader(net, ops, count, value, k)] += net.bytes[value]
    ns = held = most = 0
    for k in range(count):
        op = ops[k]
        ns += net.duration[op]
        for q in range(net.output_start[op], net.output_start[op + 1]):
            if net.outputs[q] != tensor:
                held += net.bytes[net.outputs[q]]
        # The tensor itself is allocated with the last operation: until then others may use its memory.
        most = max(most, held if k == count - 1 else held - net.bytes[tensor])
        held -= freed[k]
    return ns, most


@jit
def _last_reader(net: Any, ops: Any, count: int, value: int, maker: int) -> int:
    """Position in the chain of the last operation that reads a value (that of its producer if there is none)."""
    for k in range(count - 1, maker, -1):
        for q in range(net.input_start[ops[k]], net.input_start[ops[k] + 1]):
            if net.inputs[q] == value:
                return k
    return maker
