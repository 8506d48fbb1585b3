"""Tests of the timing engine's queues: events in the order of (cycle, lane), times in first-in, first-out order."""

from __future__ import annotations

import heapq
import random
from collections import deque

import numpy as np
import pytest
from meshloom.emulator.timing.event_wheel import LANE, NOW, SLOTS, free_event, new_event, new_wheel, next_cycle, push
from meshloom.emulator.timing.time_queues import IN_USE, append, take


@pytest.mark.parametrize(
    ("seed", "reach"), [(0, 3), (1, SLOTS - 1), (2, SLOTS), (3, SLOTS + 1), (4, 50 * SLOTS), (5, 40)]
)
def test_events_are_served_as_from_a_heap(seed: int, reach: int) -> None:
    """
    Events leave the wheel in the order of Python's `heapq`.

    Each event adds up to two more within `reach` cycles, sometimes much later.
    """
    rng = random.Random(seed)
    events, slots, used, keys, values, order, counters = new_wheel(4096)
    queue = (events, slots, used, keys, values, counters)
    expected: list[tuple[int, int]] = []

    def offer(time: int, lane: int) -> None:
        event = new_event(events, counters)
        events[8 * event + LANE] = lane
        push(*queue, event, time)
        heapq.heappush(expected, (time, lane))

    for lane in rng.sample(range(1000), 200):
        offer(rng.randrange(1, 4 * reach), lane)
    served = 0
    while count := next_cycle(*queue, order):
        now = int(counters[NOW])
        found = order[:count].tolist()
        assert [(now, int(events[8 * event + LANE])) for event in found] == [
            heapq.heappop(expected) for _ in range(count)
        ]
        for event in found:
            free_event(events, counters, event)
        served += count
        if served < 3000:
            for lane in rng.sample(range(1000), min(2 * count, 3)):
                offer(now + rng.choice([rng.randrange(1, reach + 1), rng.randrange(1, 4), 20 * reach]), lane)
    assert not expected
    assert served >= 200


def test_queues_keep_their_order_and_share_a_pool() -> None:
    rng = random.Random(0)
    heads, tails = np.zeros(7, np.uint32), np.zeros(7, np.uint32)
    times, nexts = np.zeros(64, np.int64), np.zeros(64, np.uint32)
    counters = np.array([0, 1, 0], np.int64)
    expected: list[deque[int]] = [deque() for _ in range(7)]
    for time in range(2000):
        queue = rng.randrange(7)
        if counters[IN_USE] < 60 and rng.random() < 0.5:
            append(heads, tails, times, nexts, counters, queue, time)
            expected[queue].append(time)
        elif expected[queue]:
            assert take(heads, times, nexts, counters, queue) == expected[queue].popleft()
        assert counters[IN_USE] == sum(map(len, expected))
        assert [bool(head) for head in heads] == [bool(queue) for queue in expected]
