"""Semaphores are reused only after a barrier."""

from __future__ import annotations

from dataclasses import replace

import pytest
from meshloom.chips import load_chip
from meshloom.lowering.codegen.semaphores import SemaphorePool
from meshloom.support.errors import MeshloomError

CHIP = replace(load_chip("tiny"), semaphores=6)  # two for barriers, two pairs


def test_pairs_are_disjoint_and_exclude_the_barriers() -> None:
    pool = SemaphorePool(CHIP)
    assert [pool.take(), pool.take()] == [(2, 3), (4, 5)]
    assert {pool.barrier(), pool.barrier()} == {0, 1}


def test_a_released_pair_waits_for_a_barrier() -> None:
    pool = SemaphorePool(CHIP)
    first, second = pool.take(), pool.take()
    pool.release(first)
    assert pool.needs_barrier
    pool.barrier()
    assert not pool.needs_barrier
    assert pool.take() == first
    pool.release(second)
    assert pool.needs_barrier


def test_error_if_all_are_in_use() -> None:
    pool = SemaphorePool(CHIP)
    pool.take()
    pool.take()
    with pytest.raises(MeshloomError, match="raise 'semaphores'"):
        pool.take()
