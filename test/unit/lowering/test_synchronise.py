"""Token bits: every conflict is ordered, no token is redundant, no deadlock, a result independent of interleaving."""

import random
import time
from collections import deque

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from meshloom.dialects.coreasm.isa import OPCODE
from meshloom.lowering.codegen.stream import CoreStream
from meshloom.lowering.linker.synchronise import synchronise_loops, synchronise_units

Effect = tuple[int, int, int, bool]
Instruction = tuple[int, list[Effect]]
MPU, VPU, DAU, LOAD, STORE, SEND = range(6)


def bits(program: list[Instruction]) -> tuple[list[int], list[int]]:
    """Wait and signal bits of a program given as (unit, effects)."""
    starts = np.cumsum([0, *[len(effects) for _, effects in program]])
    flat = np.array([effect for _, effects in program for effect in effects], dtype=np.int64).reshape(-1, 4)
    wait, signal = synchronise_units(np.array([u for u, _ in program], dtype=np.uint8), starts, flat)
    return wait.tolist(), signal.tolist()


def conflict(first: list[Effect], second: list[Effect]) -> bool:
    return any(a[0] == b[0] and a[1] < b[2] and b[1] < a[2] and (a[3] or b[3]) for a in first for b in second)


def ordering_tokens(program: list[Instruction], wait: list[int], signal: list[int]) -> dict[int, list[int]]:
    """Producers of the tokens that each instruction takes, matched first in, first out."""
    queues: dict[tuple[int, int], deque[int]] = {}
    producers: dict[int, list[int]] = {}
    for index, (unit, _) in enumerate(program):
        # popleft shows that every token is put earlier in program order than it is taken.
        producers[index] = [queues[v, unit].popleft() for v in range(8) if wait[index] >> v & 1]
        for v in range(8):
            if signal[index] >> v & 1:
                queues.setdefault((unit, v), deque()).append(index)
    assert not any(queues.values()), "tokens that nobody takes"
    return producers


def effect(space: int, low: int, size: int, write: bool) -> Effect:
    return space, low, low + size, write


effects = st.builds(effect, st.integers(0, 2), st.integers(0, 20), st.integers(1, 8), st.booleans())
programs = st.lists(st.tuples(st.integers(0, 7), st.lists(effects, max_size=4)), max_size=40)


@settings(max_examples=300, deadline=None)
@given(programs)
def test_every_conflict_is_ordered(program: list[Instruction]):
    wait, signal = bits(program)
    producers = ordering_tokens(program, wait, signal)
    before: list[set[int]] = []
    newest: dict[int, int] = {}
    for index, (unit, _) in enumerate(program):
        direct = producers[index] + ([newest[unit]] if unit in newest else [])
        before.append(set(direct).union(*[before[other] for other in direct]))
        newest[unit] = index
    for second in range(len(program)):
        for first in range(second):
            if conflict(program[first][1], program[second][1]):
                assert first in before[second], (first, second)


@settings(max_examples=300, deadline=None)
@given(programs)
def test_no_token_is_superfluous(program: list[Instruction]):
    """Without any one token, some conflicting pair of instructions would be unordered."""
    wait, signal = bits(program)
    producers = ordering_tokens(program, wait, signal)
    edges = {(first, second) for second, firsts in producers.items() for first in firsts}
    for removed in edges:
        before: list[set[int]] = []
        newest: dict[int, int] = {}
        for index, (unit, _) in enumerate(program):
            direct = [p for p in producers[index] if (p, index) != removed]
            direct += [newest[unit]] if unit in newest else []
            before.append(set(direct).union(*[before[other] for other in direct]))
            newest[unit] = index
        assert any(
            conflict(program[first][1], program[second][1]) and first not in before[second]
            for second in range(len(program))
            for first in range(second)
        )


@settings(max_examples=200, deadline=None)
@given(programs, st.integers(1, 3), st.integers(0, 2**32))
def test_any_interleaving_gives_the_sequential_result(program: list[Instruction], depth: int, seed: int):
    """Instructions start and complete in any order that queues and tokens allow, in queues of finite depth.

    An instruction reads its ranges when it starts and writes a digest of what it read when it completes.
    """
    wait, signal = bits(program)

    def read(memory: dict[tuple[int, int], int], index: int) -> int:
        ranges = [e for e in program[index][1] if not e[3]]
        return hash((index, *[memory.get((e[0], a), 0) for e in ranges for a in range(e[1], e[2])]))

    def write(memory: dict[tuple[int, int], int], index: int, value: int) -> None:
        for space, low, high, writes in program[index][1]:
            if writes:
                memory.update({(space, address): value for address in range(low, high)})

    expected: dict[tuple[int, int], int] = {}
    for index in range(len(program)):
        write(expected, index, read(expected, index))

    chance = random.Random(seed)
    memory: dict[tuple[int, int], int] = {}
    queues: list[deque[int]] = [deque() for _ in range(8)]
    running: dict[int, int] = {}
    tokens = {(u, v): 0 for u in range(8) for v in range(8)}
    dispatched = 0
    while dispatched < len(program) or any(queues):
        choices: list[tuple[str, int]] = []
        if dispatched < len(program) and len(queues[program[dispatched][0]]) < depth:
            choices.append(("dispatch", program[dispatched][0]))
        for unit, queue in enumerate(queues):
            if unit in running:
                choices.append(("complete", unit))
            elif queue and all(tokens[v, unit] for v in range(8) if wait[queue[0]] >> v & 1):
                choices.append(("start", unit))
        assert choices, "deadlock"
        what, unit = chance.choice(choices)
        if what == "dispatch":
            queues[unit].append(dispatched)
            dispatched += 1
        elif what == "start":
            index = queues[unit][0]
            for v in range(8):
                tokens[v, unit] -= wait[index] >> v & 1
            running[unit] = read(memory, index)
        else:
            index = queues[unit].popleft()
            write(memory, index, running.pop(unit))
            for v in range(8):
                tokens[unit, v] += signal[index] >> v & 1
    assert memory == expected
    assert not any(tokens.values())


def test_a_tile_pipeline_by_hand():
    """load a; load b; multiply c = a b; store c; load a again: two waits, and the third load waits for the product."""
    a, b, c = (0, 0, 16), (0, 16, 32), (0, 32, 48)
    wait, signal = bits(
        [
            (LOAD, [(*a, True)]),
            (LOAD, [(*b, True)]),  # the last LOAD that the product needs; it implies the load of a
            (MPU, [(*a, False), (*b, False), (*c, True)]),
            (STORE, [(*c, False)]),
            (LOAD, [(*a, True)]),
            (MPU, [(*a, False), (*c, True)]),  # after STORE has read c and LOAD has written a
        ]
    )
    assert wait == [0, 0, 1 << LOAD, 1 << MPU, 1 << MPU, 1 << LOAD | 1 << STORE]
    assert signal == [0, 1 << MPU, 1 << STORE | 1 << LOAD, 1 << MPU, 1 << MPU, 0]


def test_dependences_through_a_third_unit_need_no_token():
    """LOAD writes x, VPU turns x into y, MPU reads x and y: waiting for VPU is enough."""
    wait, _ = bits(
        [
            (LOAD, [(0, 0, 8, True)]),
            (VPU, [(0, 0, 8, False), (0, 8, 16, True)]),
            (MPU, [(0, 0, 16, False)]),
        ]
    )
    assert wait == [0, 1 << LOAD, 1 << VPU]


def test_units_of_stream_instructions():
    stream = CoreStream()
    stream.emit(OPCODE["load"], effects=[(0, 0, 4, True)])
    stream.emit(OPCODE["add"], effects=[(0, 2, 3, False)])
    stream.emit(OPCODE["add"], effects=[(1, 2, 3, False)])
    wait, signal = synchronise_loops(stream.finish())[:2]
    assert (wait.tolist(), signal.tolist()) == ([0, 1 << LOAD, 0], [1 << VPU, 0, 0])


@pytest.mark.parametrize("tiles", [1, 50])
def test_long_streams_are_quick(tiles: int):
    """200,000 instructions of a double-buffered pipeline take below 2 s, usually about 0.1 s."""
    count = 200_000
    unit = np.tile(np.array([LOAD, MPU, VPU, STORE], dtype=np.uint8), count // 4)
    index = np.arange(count)
    slot = (index // 4) % (2 * tiles) * 64
    rows = np.zeros((count, 2, 4), dtype=np.int64)
    rows[:, 0, 1], rows[:, 0, 2] = slot + 10_000 * (index % 4), slot + 10_000 * (index % 4) + 64
    rows[:, 1, 1], rows[:, 1, 2] = rows[:, 0, 1] + 10_000, rows[:, 0, 2] + 10_000
    rows[:, 1, 3] = 1
    synchronise_units(unit[:4], np.arange(5) * 2, rows[:4].reshape(-1, 4))  # compile
    started = time.process_time()
    wait, signal = synchronise_units(unit, np.arange(count + 1) * 2, rows.reshape(-1, 4))
    assert time.process_time() - started < 2
    assert sum(int(w).bit_count() for w in wait) == sum(int(s).bit_count() for s in signal)
