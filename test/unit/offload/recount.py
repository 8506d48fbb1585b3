"""Replay of a plan's log without the planner, as an oracle: checks each event, and counts the bytes in memory."""

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
    """The peak of the bytes in memory, after assertions that the machine can execute the plan's log."""
    replay = _Replay(problem, plan, model)
    replay.check_order()
    replay.check_units()
    replay.count_copies_out()
    for gap in range(problem.gaps):
        replay.count_gap(gap)
    replay.check_uses()
    replay.check_reads_of_copies()
    replay.check_recomputations()
    replay.count_tensors()
    return replay.peak()


class _Replay:
    """The events of a plan's log, and the changes of the bytes in memory that they cause."""

    def __init__(self, problem: OffloadProblem, plan: OffloadPlan, model: Model) -> None:
        self.problem, self.plan, self.model, self.graph = problem, plan, model, problem.graph
        self.rows: dict[int, dict[int, Span]] = defaultdict(dict)
        """Kind of event -> number of its operation or gap -> its start and end."""
        for what, number, start, end in plan.log.tolist():
            assert number not in self.rows[what], "nothing happens twice"
            self.rows[what][number] = (start, end)
        self.ops = self.rows[OP]
        self.events: list[tuple[int, int]] = []
        """(time, change of the bytes in memory)"""
        self.copied: dict[tuple[int, bool], int] = {}
        """(tensor, whether compressed) -> end of its copy to the host."""
        self.absent: dict[int, list[Span]] = defaultdict(list)
        """Tensor -> the spans of time in which it is not in memory."""
        self.left_after: dict[tuple[int, Span], int] = {}
        """(tensor, absence) -> the last operation that uses the tensor before the absence."""
        self.taken: dict[int, list[int]] = defaultdict(list)
        """Gap -> tensors that its recomputation reads."""
        self.last = dict[int, int]()
        """Tensor -> the last operation that uses it."""
        for op in range(self.graph.ops):
            for tensor in (*self.graph.inputs.row(op), *self.graph.outputs.row(op)):
                self.last[tensor] = op

    def check_order(self) -> None:
        assert list(self.ops) == list(range(self.graph.ops)), "operations run in the order of the graph"
        for op, (start, end) in self.ops.items():
            assert end - start == self.graph.duration[op]
        assert max((end for _, end in self.ops.values()), default=0) == self.plan.time_ns

    def check_units(self) -> None:
        """Each unit executes one event at a time."""
        rows = self.rows
        for engine in ((OP, AGAIN), (OUT,), (IN,), (PACK, UNPACK)):
            spans = sorted(span for row in engine for span in rows[row].values())
            assert all(first[1] <= second[0] for first, second in pairwise(spans)), engine
        vector = [self.ops[op] for op in range(self.graph.ops) if self.problem.on_vpu[op]]
        vpu = sorted([*vector, *rows[PACK].values(), *rows[UNPACK].values()])
        assert all(first[1] <= second[0] for first, second in pairwise(vpu)), "one thing at a time"

    def count_copies_out(self) -> None:
        problem, model = self.problem, self.model
        for gap, (start, end) in self.rows[OUT].items():
            packed = self.plan.kind[gap] == Kind.COMPRESS_SWAP
            assert end - start == model.copy_ns(model.packed(problem.size) if packed else problem.size)[gap]
            assert start >= self.ops[int(problem.producer[gap])][1], "copied before it was computed"
            self.copied[int(problem.tensor[gap]), packed] = end

    def count_gap(self, gap: int) -> None:
        """Check the events of a gap, and count the bytes that they free and allocate."""
        kind = Kind(int(self.plan.kind[gap]))
        pack, unpack, arrive = self.rows[PACK].get(gap), self.rows[UNPACK].get(gap), self.rows[IN].get(gap)
        if kind is Kind.SWAP and arrive:
            self._count_swap(gap, arrive)
        elif kind is Kind.COMPRESS and pack:
            assert unpack is not None
            self._count_compression(gap, pack, unpack)
        elif kind is Kind.COMPRESS_SWAP and (pack or arrive):
            assert unpack is not None
            assert arrive is not None
            self._count_compressed_swap(gap, pack, arrive, unpack)
        elif kind >= Kind.RECOMPUTE and (again := self.rows[AGAIN].get(gap)):
            self._count_recomputation(gap, again)

    def _count_swap(self, gap: int, arrive: Span) -> None:
        gone = max(self._used(gap), self.copied[int(self.problem.tensor[gap]), False])
        assert gone <= arrive[0], "fetched before it had left"
        self._leave(gap, gone, arrive[0], arrive[1])

    def _count_compression(self, gap: int, pack: Span, unpack: Span) -> None:
        assert self._used(gap) <= pack[0] < pack[1] <= unpack[0]
        self._hold(pack[0], unpack[1], self._packed_bytes(gap))
        self._leave(gap, pack[1], unpack[0], unpack[1])

    def _count_compressed_swap(self, gap: int, pack: Span | None, arrive: Span, unpack: Span) -> None:
        gone, copied = self._used(gap), self.copied[int(self.problem.tensor[gap]), True]
        if pack:
            gone = pack[1]
            self._hold(pack[0], copied, self._packed_bytes(gap))
        assert max(gone, copied) <= arrive[0]
        assert arrive[1] <= unpack[0]
        self._hold(arrive[0], unpack[1], self._packed_bytes(gap))
        self._leave(gap, gone, unpack[0], unpack[1])

    def _count_recomputation(self, gap: int, again: Span) -> None:
        graph, tensor = self.graph, int(self.problem.tensor[gap])
        chain = self.plan.chains.row(gap)
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
                    self.taken[gap].append(value)
            for value in graph.outputs.row(op):
                made[value] = time - int(graph.duration[op])
                last_read[value] = time
        for value, start in made.items():
            if value != tensor and graph.counted[value]:
                self._hold(start, last_read[value], int(graph.size[value]))
        self._leave(gap, self._used(gap), made[tensor], again[1])

    def check_uses(self) -> None:
        """No operation reads a tensor while it is not in memory."""
        for op, (start, end) in self.ops.items():
            for tensor in {*self.graph.inputs.row(op)}:
                for gone, back in self.absent[tensor]:
                    # An operation may take no time: the use before an absence may start when it does.
                    used_before = op <= self.left_after[tensor, (gone, back)]
                    assert end <= gone if used_before else start >= back, "used while absent"

    def check_reads_of_copies(self) -> None:
        """Copies and compressions read tensors that are in memory."""
        for row in (OUT, PACK):
            for gap, span in self.rows[row].items():
                if row == OUT and self.plan.kind[gap] == Kind.COMPRESS_SWAP:
                    continue  # the compressed tensor is copied
                tensor = int(self.problem.tensor[gap])
                assert not self._is_absent(tensor, span), "copied while absent"
                assert span[1] <= self.ops[self.last[tensor]][1], "copied after its memory was freed"

    def check_recomputations(self) -> None:
        """Recomputations read tensors that are in memory."""
        for gap, span in self.rows[AGAIN].items():
            for tensor in self.taken[gap]:
                assert not self._is_absent(tensor, span), "recomputed from an absent tensor"
                freed = self.ops[self.last[tensor]][1]
                assert not self.graph.counted[tensor] or span[1] <= freed, "recomputed from a freed tensor"

    def count_tensors(self) -> None:
        """Count each tensor from its producer to its last use; its absences are subtracted elsewhere."""
        graph = self.graph
        for tensor, op in self.last.items():
            if graph.counted[tensor]:
                self._hold(self.ops[int(graph.producer[tensor])][0], self.ops[op][1], int(graph.size[tensor]))

    def peak(self) -> int:
        """The peak of the bytes in memory; at equal times, memory is freed before it is allocated."""
        held = peak = 0
        for _, change in sorted(self.events):
            held += change
            peak = max(peak, held)
        assert held == 0
        return peak

    def _hold(self, start: int, end: int, size: int) -> None:
        assert start <= end
        self.events.extend(((start, size), (end, -size)))

    def _leave(self, gap: int, gone: int, taken: int, back: int) -> None:
        """Record that a gap's tensor is freed at `gone`, allocated again at `taken`, and readable from `back` on."""
        tensor, size = int(self.problem.tensor[gap]), int(self.problem.size[gap])
        self.absent[tensor].append((gone, back))
        self.left_after[tensor, (gone, back)] = int(self.problem.before[gap])
        self.events.extend(((gone, -size), (taken, size)))

    def _is_absent(self, tensor: int, span: Span) -> bool:
        return any(gone < span[1] and span[0] < back for gone, back in self.absent[tensor])

    def _used(self, gap: int) -> int:
        """The end of the use before a gap."""
        return self.ops[int(self.problem.before[gap])][1]

    def _packed_bytes(self, gap: int) -> int:
        return int(self.model.packed(self.problem.size)[gap])
