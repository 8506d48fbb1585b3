"""Cycles of sparse products compared with closed forms, with caches before and after the mapping unit."""

from __future__ import annotations

from dataclasses import replace
from math import ceil
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from meshloom.chips import chip_names, load_chip
from meshloom.chips.chip import Chip
from meshloom.emulator.machine.costs import matmul_cycles
from meshloom.emulator.machine.costs_sparse import IndexWork, MappedCost, Product, count_pairs, sparse_matmul_cost
from meshloom.emulator.machine.memory import F32, I8
from numpy.typing import NDArray

EDGE = replace(load_chip("edge"), map_lanes="own")  # 32 x 32 MACs
JOINED = replace(EDGE, map_lanes="joined")


def even_mask(rng: np.random.Generator, fibers: int, length: int, each: int) -> NDArray[np.bool_]:
    """Fibers that hold the same number of elements each, at random places."""
    mask = np.zeros((fibers, length), np.bool_)
    for fiber in mask:
        fiber[rng.choice(length, each, replace=False)] = True
    return mask


def dense(chip: Chip, m: int, k: int, n: int, code: int = F32) -> int:
    one = np.ones(1, np.int64)
    return int(matmul_cycles(chip, np.array([code]), one, one * m, one * k, one * n)[0])


def sparse(
    chip: Chip,
    inputs: NDArray[np.bool_],
    weights: NDArray[np.bool_],
    code: int = F32,
    found: bool = True,
    encoded: bool = True,
) -> MappedCost:
    """Direct weights [n, k]; inputs [m, k], whose zeros are found (or else multiplied). Memory is no limit."""
    (m, k), n = inputs.shape, len(weights)
    hits = inputs.sum(axis=0)[None] if found else None
    used, pairs = count_pairs(weights[None], hits, (1, m, k, n))
    looked = IndexWork(direct=m * k if found else 0)
    product = Product(m, k, used, pairs, IndexWork(direct=n * k), looked, encoded)
    return sparse_matmul_cost(chip, code, product, (1, 1, 1))


@pytest.mark.parametrize("name", chip_names())
@pytest.mark.parametrize("code", [F32, I8])
@pytest.mark.parametrize("m", [1, 7, 300])
def test_all_of_it_costs_as_much_as_dense(name: str, code: int, m: int) -> None:
    """With nothing left out, and k and n multiples of the array, lanes take what the dense product takes."""
    chip = replace(load_chip(name), map_direct_bits=1 << 40)
    k, n = 2 * chip.mpu_rows * (1 if code == F32 else 4), 3 * chip.mpu_cols
    everything = sparse(chip, np.ones((m, k), np.bool_), np.ones((n, k), np.bool_), code)
    assert everything.cycles == dense(chip, m, k, n, code)
    assert (everything.pairs, everything.skipped) == (m * k * n, 0)


@pytest.mark.parametrize("caches", ["before", "after"])
def test_a_layer_bound_by_its_weights(caches: str) -> None:
    """
    One row, 4096 inputs, 128 neurons, 410 weights each (a tenth): 4 neurons a lane, 13 blocks of 32 weights each.

    Dense: 128 blocks of 95 cycles for each of 4 groups. The index takes 128 * 4096 / 32768 = 16 cycles.
    """
    rng = np.random.default_rng(0)
    chip = replace(EDGE, map_caches=caches)
    weights = even_mask(rng, 128, 4096, 410)
    cost = sparse(chip, np.ones((1, 4096), np.bool_), weights, found=False)
    assert cost.cycles == 4 * (13 * 94 + 13) - 1
    assert cost.map_cycles == 16
    assert dense(chip, 1, 4096, 128) == 4 * 128 * 95 - 1
    assert dense(chip, 1, 4096, 128) / cost.cycles > 9.8


def test_both_densities_multiply() -> None:
    """
    784 rows of 512 inputs, half of them zero, 64 neurons of 51 weights (a tenth): a twentieth of the pairs is left.

    Caches before the mapping unit, an index quick enough: two neurons a lane, together 4 blocks of 94 cycles and, at 32
    a cycle, their pairs. Without the time to fill the array (2 * 16 * 94 dense, 4 * 94 sparse) that is 20 times less.
    """
    rng = np.random.default_rng(1)
    chip = replace(EDGE, map_caches="before", map_direct_bits=1 << 20)
    weights, inputs = even_mask(rng, 64, 512, 51), rng.random((784, 512)) < 0.5
    cost = sparse(chip, inputs, weights)
    pairs: NDArray[Any] = inputs.astype(np.int64) @ weights.T.astype(np.int64)
    lanes = [4 * 94 + ceil((pairs[:, lane].sum() + pairs[:, lane + 32].sum()) / 32) for lane in range(32)]
    assert cost.cycles == max(lanes) - 1
    assert cost.pairs == pairs.sum()
    whole = dense(chip, 784, 512, 64)
    assert whole == 2 * 16 * (784 + 94) - 1
    passing = (whole - 2 * 16 * 94) / (cost.cycles - 4 * 94)
    assert passing == pytest.approx(512 / 51 / 0.5, rel=0.05)
    assert whole / cost.cycles > 16


def test_where_the_caches_stand() -> None:
    """
    The same layer on both: rows with zeros in different places are skipped only where each row is mapped.

    After: every input matters in some row, so 784 * 51 pairs a neuron pass; the index is looked at once. Before: half
    of them, but the index is looked at 784 times: with 1024 bits a cycle that alone takes about as long as dense.
    """
    rng = np.random.default_rng(2)
    weights, inputs = even_mask(rng, 64, 512, 51), rng.random((784, 512)) < 0.5
    before, after = (sparse(replace(EDGE, map_caches=where), inputs, weights) for where in ("before", "after"))
    assert after.cycles == 4 * 94 + ceil(784 * 102 / 32) - 1
    assert before.pairs == pytest.approx(after.pairs / 2, rel=0.02)
    assert before.cycles < after.cycles
    assert (before.index_elements, after.index_elements) == (784 * 64 * 512 + 2 * 784 * 512, 64 * 512 + 784 * 512)
    narrow = [replace(EDGE, map_caches=where, map_direct_bits=1024) for where in ("before", "after")]
    slow, quick = (sparse(chip, inputs, weights) for chip in narrow)
    assert slow.cycles == ceil(784 * 64 * 512 / 1024)
    assert quick.cycles == after.cycles
    assert slow.cycles < dense(EDGE, 784, 512, 64) < 1.15 * slow.cycles


def test_one_row_skips_its_zeros_on_both() -> None:
    """With one row, what is mapped once is what matters: weights without an input are not even loaded."""
    rng = np.random.default_rng(3)
    weights, inputs = even_mask(rng, 32, 2048, 205), even_mask(rng, 1, 2048, 1024)
    both = weights & inputs
    for where in ("before", "after"):
        cost = sparse(replace(EDGE, map_caches=where), inputs, weights)
        blocks = max(ceil(fiber.sum() / 32) for fiber in both)
        assert cost.pairs == both.sum()
        assert cost.cycles == blocks * 95 - 1


def test_neurons_share_what_a_lane_holds() -> None:
    """
    256 neurons of 5 weights among 48 inputs: 8 a lane, 40 weights, so 2 blocks; dense, 8 times 2 blocks.

    Nothing left out of 16 inputs: two neurons a block, where the dense product leaves half of the array empty.
    """
    rng = np.random.default_rng(4)
    everything = np.ones((13, 48), np.bool_)
    few = sparse(EDGE, everything, even_mask(rng, 256, 48, 5), found=False)
    assert few.cycles == 2 * 94 + ceil(13 * 40 / 32) - 1
    assert dense(EDGE, 13, 48, 256) == 8 * 2 * (94 + 13) - 1
    narrow = sparse(EDGE, everything[:, :16], np.ones((64, 16), np.bool_), found=False)
    assert narrow.cycles == 94 + 13 - 1
    assert dense(EDGE, 13, 16, 64) == 2 * (94 + 13) - 1


def test_unequal_lanes_wait_for_the_longest() -> None:
    """One neuron of 320 weights and 31 of 32: as if all had 320; as two of a lane they even out with empty ones."""
    weights = np.zeros((32, 1024), np.bool_)
    weights[:, :32] = True
    weights[0, :320] = True
    row = np.ones((1, 1024), np.bool_)
    assert sparse(EDGE, row, weights, found=False).cycles == 10 * 95 - 1
    empty = np.zeros((32, 1024), np.bool_)
    empty[1:, :288] = True
    assert sparse(EDGE, row, np.concatenate([weights, empty]), found=False).cycles == 10 * 95 - 1


def test_joined_lanes_need_not_be_even() -> None:
    """
    The same, 320 + 31 * 32 = 1312 weights: two loads of 32 x 32, and 1312 pairs in two cycles. With the empty ones
    1312 + 31 * 288 = 10240, ten loads: what even lanes would take.
    """
    weights = np.zeros((32, 1024), np.bool_)
    weights[:, :32] = True
    weights[0, :320] = True
    row = np.ones((1, 1024), np.bool_)
    assert sparse(JOINED, row, weights, found=False).cycles == 2 * 95 - 1
    empty = np.zeros((32, 1024), np.bool_)
    empty[1:, :288] = True
    assert sparse(JOINED, row, np.concatenate([weights, empty]), found=False).cycles == 10 * 95 - 1
    # What is not encoded lies apart, in columns of its own: 4 of 1024 inputs each, 32 loads.
    some = np.ones((4, 1024), np.bool_)
    assert sparse(JOINED, row, some, encoded=False).cycles == 32 * 95 - 1
    assert sparse(JOINED, row, some).cycles == 4 * 95 - 1


@given(st.integers(1, 40), st.integers(1, 70), st.integers(1, 50), st.floats(0, 1), st.floats(0, 1), st.integers(0, 99))
@settings(deadline=None, max_examples=60)
def test_joined_lanes_take_no_longer(rows: int, k: int, n: int, density: float, stored: float, seed: int) -> None:
    rng = np.random.default_rng(seed)
    inputs, weights = rng.random((rows, k)) < density, rng.random((n, k)) < stored
    own, joined = (sparse(chip, inputs, weights) for chip in (EDGE, JOINED))
    assert joined.cycles <= own.cycles
    assert (joined.pairs, joined.index_elements) == (own.pairs, own.index_elements)
