"""Tests of the link traffic of an exchange, against numbers computed by hand and against simulated routes."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from meshloom.analysis.planning.traffic import BoxArrays, Traffic, exchange_traffic, most_missing, overlaps
from meshloom.chips import Chip, load_chip
from meshloom.dialects.dataflow.tiling import Box, split_evenly

TINY = load_chip("tiny")


def rows(size: int, parts: int) -> dict[int, Box]:
    return {core: Box((low,), (extent,)) for core, (low, extent) in enumerate(split_evenly(size, parts))}


def traffic_of(held: dict[int, Box], needed: dict[int, Box], item_bytes: int, chip: Chip) -> Traffic:
    return exchange_traffic(BoxArrays.of(held), BoxArrays.of(needed), item_bytes, chip)


def test_no_traffic_if_every_core_holds_its_operands() -> None:
    assert traffic_of(rows(8, 4), rows(8, 4), 4, TINY) == Traffic(0, 0, 0, 0)


def test_all_cores_read_all_elements() -> None:
    # Each core multicasts its 2 elements of 4 bytes to the three others: along its row, then along both columns. A link
    # to the north or south carries the messages of both cores of the row at its start.
    traffic = traffic_of(rows(8, 4), {core: Box((0,), (8,)) for core in range(4)}, 4, TINY)
    assert (traffic.sent, traffic.received, traffic.messages) == (8, 24, 1)
    assert traffic.crossing == 2 * 8


def test_a_halo_comes_from_the_neighbours() -> None:
    # Core 1 holds 2..4 and reads 1..5: one element from core 0 (west of it) and one from core 2 (through core 3).
    traffic = traffic_of(rows(8, 4), {1: Box((1,), (4,))}, 4, TINY)
    assert (traffic.sent, traffic.received, traffic.messages, traffic.crossing) == (4, 8, 1, 4)


EDGE = load_chip("edge")


@given(st.lists(st.tuples(st.integers(1, 16), st.integers(1, 16)), min_size=1, max_size=16))
def test_the_busiest_link_equals_that_of_simulated_routes(needs: list[tuple[int, int]]) -> None:
    """
    The traffic of the busiest link equals that of multicast trees built link by link.

    Core i holds element i and reads a range of elements.
    """
    needed = {core: Box((min(ends) - 1,), (abs(ends[0] - ends[1]) + 1,)) for core, ends in enumerate(needs)}
    carried: dict[tuple[int, int], int] = {}
    for holder in range(16):
        tree: set[tuple[int, int]] = set()
        for core, box in needed.items():
            if box.offsets[0] <= holder < box.ends[0]:
                here = holder
                while here != core:
                    across = core % EDGE.cols - here % EDGE.cols
                    step = (1 if across > 0 else -1) if across else (EDGE.cols if core > here else -EDGE.cols)
                    tree.add((here, here + step))
                    here += step
        for link in tree:
            carried[link] = carried.get(link, 0) + 4
    assert traffic_of(rows(16, 16), needed, 4, EDGE).crossing == max(carried.values(), default=0)


@given(st.integers(1, 30), st.integers(1, 4), st.integers(1, 4))
def test_overlaps_cover_every_needed_position_once(size: int, holders: int, readers: int) -> None:
    needed = rows(size, readers)
    covered = {core: [0] * size for core in needed}
    held = rows(size, holders)
    pairs = overlaps(BoxArrays.of(held), BoxArrays.of(needed))
    for holder, reader, (low,), (high,) in zip(pairs.holders, pairs.readers, pairs.low, pairs.high, strict=True):
        assert held[holder].offsets[0] <= low < high <= held[holder].ends[0]
        for position in range(low, high):
            covered[reader][position] += 1
    for core, box in needed.items():
        assert covered[core] == [1 if box.offsets[0] <= i < box.ends[0] else 0 for i in range(size)]


@pytest.mark.parametrize(
    ("core", "needed", "missing", "absent"),
    [
        (1, Box((1, 1), (2, 2)), 0, False),
        (1, Box((0, 1), (2, 2)), 2, False),
        (1, Box((3, 1), (2, 2)), 2, False),
        (1, Box((9, 9), (0, 1)), 0, False),
        (0, Box((1, 1), (2, 2)), 4, True),
        (7, Box((1, 1), (2, 2)), 4, True),
    ],
)
def test_elements_that_a_core_lacks(core: int, needed: Box, missing: int, absent: bool) -> None:
    """Core 1 holds rows and columns 1 to 3, core 2 others; the most elements that a core lacks are counted."""
    held = BoxArrays.of({1: Box((1, 1), (3, 3)), 2: Box((4, 4), (3, 3))})
    assert most_missing(held, BoxArrays.of({core: needed, 2: Box((4, 4), (1, 1))})) == (missing, absent)
