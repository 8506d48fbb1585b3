"""Tests of the cycles of sparse products against closed forms, with caches before and after the mapping unit."""

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
    """Fibers with the same number of elements each, at random positions."""
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
    """
    The cost of a product of inputs [m, k] and weights [n, k] with a direct index; memory is no limit.

    `found`: zeros of the inputs are skipped.
    """
    (m, k), n = inputs.shape, len(weights)
    hits = inputs.sum(axis=0)[None] if found else None
    used, pairs = count_pairs(weights[None], hits, (1, m, k, n))
    looked = IndexWork(direct=m * k if found else 0)
    product = Product(m, k, used, pairs, IndexWork(direct=n * k), looked, encoded)
    return sparse_matmul_cost(chip, code, product, (1, 1, 1))


@pytest.mark.parametrize("name", chip_names())
@pytest.mark.parametrize("code", [F32, I8])
@pytest.mark.parametrize("m", [1, 7, 300])
def test_a_product_without_zeros_costs_as_much_as_dense(name: str, code: int, m: int) -> None:
    """Without zeros, and with k and n multiples of the array, the cycles equal those of the dense product."""
    chip = replace(load_chip(name), map_direct_bits=1 << 40)
    k, n = 2 * chip.mpu_rows * (1 if code == F32 else 4), 3 * chip.mpu_cols
    everything = sparse(chip, np.ones((m, k), np.bool_), np.ones((n, k), np.bool_), code)
    assert everything.cycles == dense(chip, m, k, n, code)
    assert (everything.pairs, everything.skipped) == (m * k * n, 0)


@pytest.mark.parametrize("caches", ["before", "after"])
def test_a_layer_limited_by_its_weights(caches: str) -> None:
    """
    With one row, the cycles are those of loading the weights.

    Of 4096 inputs, 128 neurons have 410 weights each (density 0.1): 4 neurons per lane, 13 blocks of 32 weights each.
    Dense weights are 128 blocks of 95 cycles for each of 4 groups. The index takes 128 * 4096 / 32768 = 16 cycles.
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
    The share of computed pairs is the product of both densities.

    784 rows of 512 inputs, half of them zero, and 64 neurons of 51 weights (density 0.1) have a twentieth of the pairs.

    With caches before the mapping unit, and a fast enough index, each lane has two neurons: 4 blocks of 94 cycles and,
    at 32 per cycle, the pairs. Without the time to fill the array (2 * 16 * 94 dense, 4 * 94 sparse), that is 20 times
    less.
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


def test_caches_before_or_after_the_mapping_unit() -> None:
    """
    Zeros at different positions of rows are skipped only if each row is mapped, with caches before the mapping unit.

    With caches after it, every input is nonzero in some row: each neuron has 784 * 51 pairs, and the index is read
    once. With caches before it, half of the pairs are computed, but the index is read 784 times: at 1024 bits per
    cycle, that alone takes about as long as the dense product.
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


def test_one_row_skips_its_zeros_with_both_caches() -> None:
    """With one row, both arrangements of caches skip its zeros, and weights of zero inputs are not loaded."""
    rng = np.random.default_rng(3)
    weights, inputs = even_mask(rng, 32, 2048, 205), even_mask(rng, 1, 2048, 1024)
    both = weights & inputs
    for where in ("before", "after"):
        cost = sparse(replace(EDGE, map_caches=where), inputs, weights)
        blocks = max(ceil(fiber.sum() / 32) for fiber in both)
        assert cost.pairs == both.sum()
        assert cost.cycles == blocks * 95 - 1


def test_neurons_share_a_lane() -> None:
    """
    A lane computes several neurons with few weights.

    256 neurons have 5 weights among 48 inputs: 8 neurons per lane with 40 weights, which are 2 blocks; dense, there are
    8 times 2 blocks. Without zeros, 16 inputs make two neurons per block, while the dense product fills half of the
    array.
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
    """One neuron of 320 weights and 31 of 32 take as long as 32 of 320, also together with ones that even out lanes."""
    weights = np.zeros((32, 1024), np.bool_)
    weights[:, :32] = True
    weights[0, :320] = True
    row = np.ones((1, 1024), np.bool_)
    assert sparse(EDGE, row, weights, found=False).cycles == 10 * 95 - 1
    empty = np.zeros((32, 1024), np.bool_)
    empty[1:, :288] = True
    assert sparse(EDGE, row, np.concatenate([weights, empty]), found=False).cycles == 10 * 95 - 1


def test_joined_lanes_may_be_uneven() -> None:
    """
    Joined lanes need not have equal numbers of weights.

    The same 320 + 31 * 32 = 1312 weights are two loads of 32 x 32, and 1312 pairs take two cycles. With the added ones,
    1312 + 31 * 288 = 10240 weights are ten loads, as with even lanes.
    """
    weights = np.zeros((32, 1024), np.bool_)
    weights[:, :32] = True
    weights[0, :320] = True
    row = np.ones((1, 1024), np.bool_)
    assert sparse(JOINED, row, weights, found=False).cycles == 2 * 95 - 1
    empty = np.zeros((32, 1024), np.bool_)
    empty[1:, :288] = True
    assert sparse(JOINED, row, np.concatenate([weights, empty]), found=False).cycles == 10 * 95 - 1
    # Weights that are not encoded have separate columns: 4 columns of 1024 inputs, 32 loads.
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
