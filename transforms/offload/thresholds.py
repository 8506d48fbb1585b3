"""The script for fixed thresholds (spec 1, figures 5 to 9)."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from ...analysis.cost_graphs.graph import CostGraph, Ints
from ...analysis.offload.kinds import Kind
from ...analysis.offload.model import Model
from ...analysis.offload.recompute import LONGEST
from ...analysis.offload.slack import Slack, graph_slack
from .script import Absence, Act, Item, Script


@dataclass(frozen=True)
class Thresholds:
    """The thresholds that the user sets (spec 1, [0127])."""

    slack: int = 0
    """th_tts: node inputs with more slack than this, in ns, are candidates."""
    size: int = 0
    """th_size: tensors with more bytes than this are candidates."""
    most: int | None = None
    """N: the largest number of candidates, of which the largest tensors are taken; None: no limit."""


@dataclass
class _Restoration:
    """A restoration of a tensor, for consumers that closely follow each other."""

    tensor: int
    consumers: list[int]
    prefetch: int | None = None
    position: int = 0
    """The operation after which it is inserted."""
    kind: Kind = Kind.SWAP
    chain: tuple[int, ...] = ()
    """Operations that are recomputed for it."""


def candidates(
    graph: CostGraph,
    slack: Slack,
    thresholds: Thresholds,
    stays: Collection[int] = (),
    restored: Collection[int] = (),
) -> list[tuple[int, int]]:
    """
    (operation, tensor) of the inputs to restore: those with slack and size above the thresholds; if there are more than
    N, the largest, and of equal ones the first. Tensors of `stays` and values from outside the function are excluded;
    so are the first readers of tensors of `restored`, which nothing has used yet. This exclusion makes repeated
    application terminate.
    """
    waiting, tensors, ops = slack.waiting, graph.inputs.values, graph.inputs.rows
    good = (waiting > thresholds.slack) & (graph.size[tensors] > thresholds.size) & graph.counted[tensors]
    good &= ~np.isin(tensors, list(stays))
    good &= ~(np.isin(tensors, list(restored)) & (ops == _first_readers(graph)[tensors]))
    found = np.flatnonzero(good)
    if thresholds.most is not None and len(found) > thresholds.most:
        found = found[np.argsort(-graph.size[tensors[found]], kind="stable")][: thresholds.most]
    return sorted((int(ops[position]), int(tensors[position])) for position in found)


def _first_readers(graph: CostGraph) -> Ints:
    """The first operation that reads each tensor; the number of operations if there is none."""
    first = np.full(graph.tensors, graph.ops)
    np.minimum.at(first, graph.inputs.values, graph.inputs.rows)
    return first


def threshold_script(
    graph: CostGraph,
    model: Model,
    kind: Kind,
    thresholds: Thresholds,
    stays: Collection[int] = (),
    again: Collection[int] = (),
    restored: Collection[int] = (),
) -> tuple[Script, list[tuple[int, int]]]:
    """
    (the script, its control edges as numbers of items): reductions as early as possible, with serialize and prefetch
    edges.

    `stays`: tensors that cannot be offloaded by this kind. `again`: operations that may be recomputed, if that takes
    less time than the other kind. `restored`: tensors that were brought back before.
    """
    slack = graph_slack(graph)
    found = _restorations(graph, slack, candidates(graph, slack, thresholds, stays, restored), thresholds.slack)
    for one in found:
        one.kind = kind
        one.chain = _chain(graph, found, one, again) or ()
        if one.chain and kind is not Kind.RECOMPUTE:
            alone = sum(int(graph.duration[op]) for op in one.chain)
            one.kind = Kind.RECOMPUTE if alone < _cycles(graph, model, one) else kind
        one.prefetch = _prefetch(graph, slack, model, one)
    found = [one for one in found if one.chain or one.kind is not Kind.RECOMPUTE]
    found.sort(key=lambda one: (one.consumers[0], one.tensor))
    waits: list[list[int]] = [[] for _ in found]
    for number, one in enumerate(found):
        after = [one.prefetch] if one.prefetch is not None else []
        if number and (last := found[number - 1].consumers[-1]) < one.consumers[0]:
            after.append(last)
        waits[number] = after
        one.position = max([*after, _early(graph, found, one), int(graph.producer[one.tensor])])
    # Queues are in order: a restoration does not overtake the one before it.
    for earlier, later in pairwise(found):
        later.position = max(later.position, earlier.position)
    return _assembled(graph, found, waits)


def _chain(
    graph: CostGraph, found: list[_Restoration], one: _Restoration, again: Collection[int]
) -> tuple[int, ...] | None:
    """
    Operations that recompute a tensor for its consumer: its own, and those of operands that are not in memory by then.
    None if one of them may not be recomputed, or there are too many.
    """
    at = one.consumers[0]
    away = {other.tensor for other in found}
    chain: set[int] = set()
    todo = [int(graph.producer[one.tensor])]
    while todo:
        op = todo.pop()
        if op in chain:
            continue
        chain.add(op)
        if op not in again or len(chain) > LONGEST:
            return None
        for tensor in graph.inputs.row(op):
            later = any(reader >= at for reader in graph.readers.row(tensor))
            if graph.producer[tensor] >= 0 and (tensor in away or not later):
                todo.append(int(graph.producer[tensor]))
    return tuple(sorted(chain))


def _restorations(graph: CostGraph, slack: Slack, inputs: list[tuple[int, int]], most: int) -> list[_Restoration]:
    """
    The restorations for (operation, tensor); a consumer shares the restoration of the previous consumer of its tensor
    if it is required at most `most` ns later.
    """
    found: list[_Restoration] = []
    last: dict[int, _Restoration] = {}
    for op, tensor in inputs:
        one = last.get(tensor)
        if one is not None and slack.required[op] - slack.required[one.consumers[-1]] <= most:
            one.consumers.append(op)
        else:
            last[tensor] = _Restoration(tensor, [op])
            found.append(last[tensor])
    return found


def _early(graph: CostGraph, found: list[_Restoration], one: _Restoration) -> int:
    """
    The early reader of a restored tensor: of the readers before the restoration's consumers, the first for which there
    is no restoration; the tensor's producer if there is none.
    """
    late = {op for other in found if other.tensor == one.tensor for op in other.consumers}
    readers = (op for op in graph.readers.row(one.tensor) if op < one.consumers[0] and op not in late)
    return next(readers, int(graph.producer[one.tensor]))


def _cycles(graph: CostGraph, model: Model, one: _Restoration) -> int:
    """Duration of a restoration."""
    size = graph.size[[one.tensor]]
    need = 0
    if one.kind is Kind.RECOMPUTE:
        need = sum(int(graph.duration[op]) for op in one.chain)
    if one.kind in (Kind.SWAP, Kind.COMPRESS_SWAP):
        need += int(model.copy_ns(size if one.kind is Kind.SWAP else model.packed(size))[0])
    if one.kind in (Kind.COMPRESS, Kind.COMPRESS_SWAP):
        need += int(model.pack_ns(size)[0])
    return need


def _prefetch(graph: CostGraph, slack: Slack, model: Model, one: _Restoration) -> int | None:
    """
    The operation upstream of the first consumer after which the restoration ends as nearly as possible when the other
    inputs arrive ([0111]), of those after the tensor's previous use. None if there is no operation between.
    """
    consumer = one.consumers[0]
    need = _cycles(graph, model, one)
    producer = int(graph.producer[one.tensor])
    early = max((op for op in graph.readers.row(one.tensor) if op < consumer), default=producer)
    above = _upstream(graph, consumer)
    upstream = [op for op in above if op > early] or [op for op in above if op > producer]
    if not upstream:
        return None
    ready = int(slack.required[consumer])
    return min(upstream, key=lambda op: (abs(int(slack.arrival[op]) + need - ready), op))


def _upstream(graph: CostGraph, op: int) -> list[int]:
    """All operations that an operation depends on, directly or not."""
    seen: set[int] = set()
    todo = graph.predecessors.row(op)
    while todo:
        one = todo.pop()
        if one not in seen:
            seen.add(one)
            todo += graph.predecessors.row(one)
    return sorted(seen)


_LEAVE = {
    Kind.SWAP: [Act.OUT],
    Kind.COMPRESS: [Act.COMPRESS],
    Kind.COMPRESS_SWAP: [Act.COMPRESS, Act.OUT],
    Kind.RECOMPUTE: list[Act](),
}
_COME = {
    Kind.SWAP: [Act.IN],
    Kind.COMPRESS: [Act.DECOMPRESS],
    Kind.COMPRESS_SWAP: [Act.IN, Act.DECOMPRESS],
    Kind.RECOMPUTE: [Act.AGAIN],
}


def _assembled(
    graph: CostGraph, found: list[_Restoration], waits: list[list[int]]
) -> tuple[Script, list[tuple[int, int]]]:
    absences = tuple(Absence(one.tensor, one.kind, one.chain if _again(one) else ()) for one in found)
    items: list[Item] = []
    run: dict[int, int] = {}
    gone: dict[int, int] = {}
    back: list[int] = [0] * len(found)
    for op in range(graph.ops):
        run[op] = len(items)
        items.append(Item(Act.RUN, op))
        for number, one in enumerate(found):
            if graph.producer[one.tensor] == op and one.tensor not in gone and not _again(one):
                items += [Item(act, number) for act in _LEAVE[one.kind]]
                gone[one.tensor] = len(items) - 1
        for number, one in enumerate(found):
            if one.position == op:
                back[number] = len(items)
                items += [Item(act, number) for act in _COME[one.kind]]
    edges: list[tuple[int, int]] = []
    for number, one in enumerate(found):
        edges += [(run[op], back[number]) for op in waits[number]]
    for tensor, item in gone.items():
        first = next(one for one in found if one.tensor == tensor and not _again(one))
        if (held := _held_back(graph, first)) is not None:
            edges.append((item, run[held]))
    return Script(tuple(items), absences), sorted(set(edges))


def _again(one: _Restoration) -> bool:
    return one.kind is Kind.RECOMPUTE


def _held_back(graph: CostGraph, one: _Restoration) -> int | None:
    """
    The operation that waits until the tensor is offloaded: the first one, from its early reader on, whose results need
    more memory than those of the restoration's prefetch node ([0176]); the early reader itself if none does.
    """
    producer, consumer = int(graph.producer[one.tensor]), one.consumers[0]
    early = next((op for op in graph.readers.row(one.tensor) if op < consumer), producer + 1)
    last = consumer if one.prefetch is None else one.prefetch
    room = [int(graph.size[graph.outputs[op]].sum()) for op in range(early, last)]
    limit = 0 if one.prefetch is None else int(graph.size[graph.outputs[one.prefetch]].sum())
    chosen = next((early + position for position, size in enumerate(room) if size > limit), early)
    return chosen if chosen < consumer and len(graph.inputs[chosen]) else None
