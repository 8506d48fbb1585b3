"""An execution's log, replayed without the planner: who is where at each time, and how many bytes that is."""

from __future__ import annotations

from collections import defaultdict
from itertools import pairwise

from meshloom.analysis.offload.kinds import Kind
from meshloom.analysis.offload.model import Model
from meshloom.analysis.offload.plan import OffloadPlan
from meshloom.analysis.offload.problem import OffloadProblem
from meshloom.analysis.offload.simulate import AGAIN, IN, OP, OUT, PACK, UNPACK

Span = tuple[int, int]


def recount(problem: OffloadProblem, plan: OffloadPlan, model: Model) -> int:
    """The most bytes in memory at any time. Asserts that the execution is one that the machine allows."""
    graph = problem.graph
    rows: dict[int, dict[int, Span]] = defaultdict(dict)
    for what, number, start, end in plan.log.tolist():
        assert number not in rows[what], "nothing happens twice"
        rows[what][number] = (start, end)
    ops = rows[OP]
    assert list(ops) == list(range(graph.ops)), "operations run in the order of the graph"
    for op, (start, end) in ops.items():
        assert end - start == graph.duration[op]
    for engine in ((OP, AGAIN), (OUT,), (IN,), (PACK, UNPACK)):
        spans = sorted(span for row in engine for span in rows[row].values())
        assert all(first[1] <= second[0] for first, second in pairwise(spans)), engine
    vpu = sorted(
        [ops[op] for op in range(graph.ops) if problem.on_vpu[op]] + [*rows[PACK].values(), *rows[UNPACK].values()]
    )
    assert all(first[1] <= second[0] for first, second in pairwise(vpu)), "one thing at a time"
    assert max((end for _, end in ops.values()), default=0) == plan.time_ns

    events: list[tuple[int, int]] = []

    def hold(start: int, end: int, size: int) -> None:
        assert start <= end
        events.extend(((start, size), (end, -size)))

    copied: dict[tuple[int, bool], int] = {}
    for gap, (start, end) in rows[OUT].items():
        tensor, packed = int(problem.tensor[gap]), plan.kind[gap] == Kind.COMPRESS_SWAP
        size = int(problem.size[gap])
        assert end - start == model.copy_ns(model.packed(problem.size) if packed else problem.size)[gap]
        assert start >= ops[int(problem.producer[gap])][1], "copied before it was there"
        copied[tensor, packed] = end
    absent: dict[int, list[Span]] = defaultdict(list)
    left_after: dict[tuple[int, Span], int] = {}
    taken: dict[int, list[int]] = defaultdict(list)

    def away(gone: int, back: int) -> None:
        absent[tensor].append((gone, back))
        left_after[tensor, (gone, back)] = int(problem.before[gap])

    for gap in range(problem.gaps):
        tensor, size = int(problem.tensor[gap]), int(problem.size[gap])
        small = int(model.packed(problem.size)[gap])
        used = ops[int(problem.before[gap])][1]
        kind = Kind(int(plan.kind[gap]))
        pack, unpack = rows[PACK].get(gap), rows[UNPACK].get(gap)
        arrive, again = rows[IN].get(gap), rows[AGAIN].get(gap)
        if kind is Kind.SWAP and arrive:
            gone = max(used, copied[tensor, False])
            assert gone <= arrive[0], "fetched before it had left"
            away(gone, arrive[1])
            events.extend(((gone, -size), (arrive[0], size)))
        elif kind is Kind.COMPRESS and pack:
            assert unpack is not None
            assert used <= pack[0] < pack[1] <= unpack[0]
            hold(pack[0], unpack[1], small)
            away(pack[1], unpack[1])
            events.extend(((pack[1], -size), (unpack[0], size)))
        elif kind is Kind.COMPRESS_SWAP and (pack or arrive):
            assert unpack is not None
            assert arrive is not None
            gone = used
            if pack:
                gone = pack[1]
                hold(pack[0], copied[tensor, True], small)
            assert max(gone, copied[tensor, True]) <= arrive[0]
            assert arrive[1] <= unpack[0]
            hold(arrive[0], unpack[1], small)
            away(gone, unpack[1])
            events.extend(((gone, -size), (unpack[0], size)))
        elif kind >= Kind.RECOMPUTE and again:
            chain = plan.chains.row(gap)
            assert again[1] - again[0] == sum(int(graph.duration[op]) for op in chain)
            time = again[0]
            made: dict[int, int] = {}
            last_read: dict[int, int] = {}
            for op in chain:
                time += int(graph.duration[op])
                for value in graph.inputs.row(op):
                    if value in made:
                        last_read[value] = time
                    else:
                        taken[gap].append(value)
                for value in graph.outputs.row(op):
                    made[value] = time - int(graph.duration[op])
                    last_read[value] = time
            for value, start in made.items():
                if value != tensor and graph.counted[value]:
                    hold(start, last_read[value], int(graph.size[value]))
            away(used, again[1])
            events.extend(((used, -size), (made[tensor], size)))
    for op, (start, end) in ops.items():
        for tensor in {*graph.inputs.row(op)}:
            for gone, back in absent[tensor]:
                # Operations may take no time: the use that it leaves after may start when it leaves.
                used_before = op <= left_after[tensor, (gone, back)]
                assert end <= gone if used_before else start >= back, "used while away"
    last = dict[int, int]()
    for op in range(graph.ops):
        for tensor in (*graph.inputs.row(op), *graph.outputs.row(op)):
            last[tensor] = op
    for row in (OUT, PACK):
        for gap, (start, end) in rows[row].items():
            if row == OUT and plan.kind[gap] == Kind.COMPRESS_SWAP:
                continue  # what is copied is the compressed tensor
            tensor = int(problem.tensor[gap])
            assert not any(gone < end and start < back for gone, back in absent[tensor]), "copied while away"
            assert end <= ops[last[tensor]][1], "copied while its room is given away"
    for gap, (start, end) in rows[AGAIN].items():
        for tensor in taken[gap]:
            assert not any(gone < end and start < back for gone, back in absent[tensor]), "built from what is away"
            assert not graph.counted[tensor] or end <= ops[last[tensor]][1], "built from what is gone"
    for tensor, op in last.items():
        if graph.counted[tensor]:
            hold(ops[int(graph.producer[tensor])][0], ops[op][1], int(graph.size[tensor]))
    # What ends at a time makes room for what begins then.
    held = peak = 0
    for _, change in sorted(events):
        held += change
        peak = max(peak, held)
    assert held == 0
    return peak
