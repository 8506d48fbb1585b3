"""Tests of sizes against formulas, the choice of the smallest encoding, the cost model, and balanced lanes."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from meshloom.analysis.sparse.balance_lanes import balance, balance_panels, even_panels, panel_work
from meshloom.analysis.sparse.layer_cost import Layer, break_even, fastest, layer_costs
from meshloom.analysis.sparse.smallest_encoding import all_choices, smallest
from meshloom.chips import load_chip
from meshloom.formats.sparse.encode import encode
from meshloom.formats.sparse.fibers import Fibers
from meshloom.formats.sparse.index_formats import DIRECT, Format, Kind, candidates, csr, run_length, stride
from meshloom.formats.sparse.sizes import expected_bits
from numpy.typing import NDArray

SHAPE = (128, 2048)


def random_weights(density: float, group: int = 1, seed: int = 0) -> np.ndarray:
    generator = np.random.default_rng(seed)
    mask = np.repeat(generator.random((SHAPE[0], SHAPE[1] // group)) < density, group, axis=1)
    return generator.integers(1, 127, SHAPE).astype(np.int8) * mask


@pytest.mark.parametrize("density", [0.01, 0.1, 0.5, 1.0])
def test_measured_sizes_equal_the_expected_ones(density: float) -> None:
    weights = random_weights(density)
    # Three standard deviations of the number of nonzeros; gaps at the end of a fiber need no filler.
    tolerance = 3 / math.sqrt(max(1, density * weights.size)) + 0.01
    for format in (DIRECT, stride(3), stride(5), stride(8), run_length(4), csr(16)):
        measured = encode(weights, format).nbytes * 8 / weights.size
        # The formula includes fillers for gaps at the ends of fibers, which matter for short codes at low density.
        ends = 0.02 if density < 0.05 and format.kind in (Kind.STRIDE, Kind.RUN_LENGTH) else 0.0
        expected = expected_bits(format, density, 8, SHAPE[1])
        assert measured == pytest.approx(expected, rel=tolerance + ends), format


def test_published_break_even_densities_and_ratios() -> None:
    # With 8-bit values, direct breaks even at density 0.875, stride4 at 0.667, csr16 at 0.333.
    assert expected_bits(DIRECT, 0.875, 8) == 8
    assert expected_bits(stride(4), 2 / 3, 8) == pytest.approx(8, rel=1e-6)
    assert expected_bits(csr(16), 1 / 3, 8, 1 << 20) == pytest.approx(8, rel=1e-3)
    # Densities at which the next of stride8, 6, 5, 4 and direct becomes smaller, by the formula of runs of 2**s.
    ways = (run_length(8), run_length(6), run_length(5), run_length(4), DIRECT)
    for (sparser, denser), density in zip(pairwise(ways), (0.032, 0.077, 0.144, 0.241), strict=True):
        below, above = (
            expected_bits(sparser, near, 8) - expected_bits(denser, near, 8)
            for near in (density - 0.002, density + 0.002)
        )
        assert below < 0 < above
    # At density 0.1.
    assert 8 / expected_bits(stride(5), 0.1, 8) == pytest.approx(5.9, abs=0.05)
    assert 8 / expected_bits(DIRECT, 0.1, 8) == pytest.approx(4.4, abs=0.05)
    assert 8 / expected_bits(csr(16), 0.1, 8, 1 << 20) == pytest.approx(3.3, abs=0.05)
    assert 8 / expected_bits(Format(Kind.DIRECT, group=16), 0.1, 8) == pytest.approx(9.3, abs=0.05)


def test_the_smallest_encoding_at_density_0_1() -> None:
    weights = random_weights(0.1)
    choice = smallest(weights, Fibers(SHAPE))
    assert choice.format == stride(5)
    assert choice.ratio == pytest.approx(5.9, abs=0.08)
    assert choice.nbytes == encode(weights, stride(5)).nbytes
    grouped = smallest(random_weights(0.1, 16), Fibers(SHAPE), candidates((1, 16)))
    assert grouped.format is not None
    assert grouped.format.group == 16
    assert grouped.ratio >= 9


@settings(max_examples=60, deadline=None)
@given(rows=st.integers(1, 6), length=st.integers(1, 80), density=st.floats(0, 1), seed=st.integers(0, 1 << 32))
def test_the_choice_is_never_larger_than_dense_or_another_encoding(
    rows: int, length: int, density: float, seed: int
) -> None:
    generator = np.random.default_rng(seed)
    tensor = (generator.integers(1, 9, (rows, length)) * (generator.random((rows, length)) < density)).astype(np.int8)
    formats = [one for one in candidates((1, 4)) if one.group <= length]
    choice = smallest(tensor, Fibers(tensor.shape), formats)
    sizes = [encode(tensor, format).nbytes for format in formats]
    assert choice.nbytes == min([tensor.nbytes, *sizes])
    assert [one.nbytes for one in all_choices(tensor, Fibers(tensor.shape), formats)[1:]] == sizes
    assert (choice.format is None) == (tensor.nbytes <= min(sizes))


def test_groups_longer_than_a_fiber_are_skipped() -> None:
    assert smallest(np.eye(4, dtype=np.int8), Fibers((4, 4)), candidates((1 << 40, 1))).format == DIRECT


EDGE = load_chip("edge")


def test_cost_of_a_layer_by_hand() -> None:
    # One core, so that nothing is cut; its 8 x 8 array takes 8 + 14 cycles to load, fill and drain.
    tiny = load_chip("tiny")
    chip = replace(tiny, rows=1, cols=1)
    weights = np.zeros((8, 64), np.float32)
    weights[:, ::8] = 1
    layer = Layer(rows=2, inputs=64, outputs=8, item_bytes=4)
    dense, direct = layer_costs(chip, layer, weights, Fibers((8, 64)), (DIRECT,))
    # The vector unit, with 1024 pairs on 8 lanes, is faster than the matrix unit with 8 blocks of 8 inputs.
    assert (dense.compute, dense.memory) == (1024 / 8, 8 * 64 * 4 / chip.dram_bytes_per_cycle)
    assert dense.compute < 8 * (2 + 22)
    # Every lane holds its 8 weights at once; a lane has 64 bits of index and 8 values.
    assert direct.panels is not None
    assert (direct.panels.width, direct.panels.depth) == (8, 64)
    assert direct.memory == (64 + 8 * 8 * 4) / chip.dram_bytes_per_cycle
    assert direct.compute == 22 + 2 - 1
    assert fastest([dense, direct]) is direct
    # With more rows, the limit is reading all neurons from SRAM: 64 of 4 bytes per row.
    (_, more) = layer_costs(chip, replace(layer, rows=40), weights, Fibers((8, 64)), (DIRECT,))
    assert more.compute == max(40 * 64 * 4 / chip.map_bytes_per_cycle, 22 + 40 - 1)


def test_few_rows_are_not_cut_over_cores_to_save_loads() -> None:
    """
    With the objective `loads`, few rows are not cut over cores.

    With one of sixteen rows on each of sixteen cores, 30 cycles are saved, but all cores load the same weights.
    """
    layer, weights = Layer(rows=16, inputs=64, outputs=32, item_bytes=4), np.ones((32, 64), np.float32)
    _, cycles = layer_costs(EDGE, layer, weights, Fibers((32, 64)), (DIRECT,))
    # In each core, two loads of 94 cycles, and a row of 64 weights at 32 per cycle.
    assert cycles.compute == cycles.mean_compute == 2 * 94 + 2 - 1
    _, loads = layer_costs(EDGE, replace(layer, objective="loads"), weights, Fibers((32, 64)), (DIRECT,))
    assert loads.compute == 2 * 94 + 32 - 1
    assert loads.mean_compute == loads.compute / 16
    # With more rows than a quarter of the cycles of a load, loads no longer dominate.
    many = replace(layer, rows=24)
    _, cycles = layer_costs(EDGE, many, weights, Fibers((32, 64)), (DIRECT,))
    _, loads = layer_costs(EDGE, replace(many, objective="loads"), weights, Fibers((32, 64)), (DIRECT,))
    assert cycles == loads


def test_the_model_falls_back_to_dense() -> None:
    layer = Layer(rows=256, inputs=2048, outputs=128, item_bytes=4)
    formats = (DIRECT, stride(4), stride(8))
    for density in (0.01, 0.1, 0.3, 0.6, 1.0):
        weights = random_weights(density).astype(np.float32)
        costs = layer_costs(EDGE, layer, weights, Fibers(weights.shape), formats)
        best = fastest(costs)
        assert best.cycles <= costs[0].cycles
        if density in (0.01, 0.1):
            assert best.choice.format is not None
        if density == 1.0:
            assert best.choice.format is None
    curve = break_even(EDGE, layer, stride(4), (0.1, 1.0))
    # At density 0.1, reading neurons from SRAM limits the gain.
    assert curve[0][1] > 3.5 > 1.01 > curve[1][1]


def efficiency(work: NDArray[np.int64], lanes: int, method: str = "sort") -> float:
    """
    The share of useful cycles of lanes, for channels in the given order.

    With `sort`, lanes wait for each other after each channel; with `pair`, only at the end.
    """
    steps = -(-len(work) // lanes)
    table = np.zeros((steps, lanes), np.int64)
    table.reshape(-1)[: len(work)] = work
    cycles = int(table.max(axis=1).sum()) if method == "sort" else int(table.sum(axis=0).max(initial=0))
    return float(work.sum() / (cycles * lanes)) if cycles else 1.0


def test_balanced_lanes() -> None:
    # Two lanes in lockstep take 9 + 8 cycles for 20 entries; sorted 9 + 2.
    work = np.array([9, 1, 2, 8])
    assert efficiency(work, 2) == 20 / (17 * 2)
    order = balance(work, 2)
    assert order.tolist() == [0, 3, 2, 1]
    assert efficiency(work[order], 2) == 20 / (11 * 2)
    # Lanes that wait only at the end take 9 + 1 and 8 + 2.
    paired = balance(work, 2, "pair")
    assert efficiency(work[paired], 2, "pair") == 1.0


@settings(max_examples=60, deadline=None)
@given(work=st.lists(st.integers(0, 50), min_size=1, max_size=70), lanes=st.integers(1, 9))
def test_balancing_permutes_and_is_never_worse(work: list[int], lanes: int) -> None:
    array = np.array(work)
    for method in ("sort", "pair"):
        order = balance(array, lanes, method)
        assert sorted(order.tolist()) == list(range(len(work)))
    assert efficiency(array[balance(array, lanes)], lanes) >= efficiency(array, lanes) - 1e-12


def test_balancing_restores_the_efficiency_of_random_weights() -> None:
    # With 64 lanes, density 0.1 and fibers of 64, about 51% of the cycles are useful.
    generator = np.random.default_rng(1)
    work = (generator.random((1024, 64)) < 0.1).sum(axis=1)
    assert efficiency(work, 64) == pytest.approx(0.51, abs=0.05)
    assert efficiency(work[balance(work, 64)], 64) > 0.85


@settings(max_examples=60, deadline=None)
@given(work=st.lists(st.integers(0, 50), min_size=1, max_size=70), lanes=st.integers(1, 9), rounds=st.integers(1, 4))
def test_balancing_panels(work: list[int], lanes: int, rounds: int) -> None:
    array = np.array(work)
    order = balance_panels(array, rounds * lanes, lanes)
    assert sorted(order.tolist()) == list(range(len(work)))
    # The fullest lane has at least the average work, and at least that of the fullest channel.
    panels = -(-len(work) // (rounds * lanes))
    after = panel_work(array[order], rounds * lanes, lanes)
    assert after >= max(array.sum() / lanes, array.max())
    if rounds == 1:
        assert after <= panel_work(array, lanes, lanes)
    # By greedy placement, a lane exceeds the one with the least work by at most a channel.
    assert panels > 1 or after <= array.sum() / min(lanes, len(work)) + array.max()


@settings(max_examples=60, deadline=None)
@given(work=st.lists(st.integers(0, 50), min_size=1, max_size=70), lanes=st.integers(1, 9), width=st.integers(1, 20))
def test_panels_of_similar_size(work: list[int], lanes: int, width: int) -> None:
    array = np.array(work)
    order = even_panels(array, width, lanes)
    assert sorted(order.tolist()) == list(range(len(work)))
    sizes = [int(array[order][start : start + width].sum()) for start in range(0, len(work), width)]
    if len(work) % width == 0:
        # By greedy placement, panels with equally many channels differ by at most the fullest channel.
        assert max(sizes) - min(sizes) <= max(work)


def test_full_channels_are_in_separate_panels() -> None:
    work = np.array([9, 8, 1, 2, 3, 3])
    # Fullest first, panels of three have 9 + 3 + 1 and 8 + 3 + 2; on two lanes, the fullest channels are alone.
    order = even_panels(work, 3, 2)
    assert [sorted(work[order][part].tolist()) for part in (slice(3), slice(3, 6))] == [[1, 3, 9], [2, 3, 8]]
    assert panel_work(work[order], 3, 2) == 9 + 8
    # Balanced lanes alone put 9 and 8 in one panel: it is full, the others nearly empty.
    assert panel_work(work[balance_panels(work, 2, 2)], 2, 2) == 9 + 3 + 2
    assert panel_work(work[even_panels(work, 2, 2)], 2, 2) == 9 + 8 + 3


def test_lanes_of_panels_are_balanced() -> None:
    # Two lanes with two channels each have 9 + 1 and 8 + 2.
    work = np.array([9, 1, 8, 2])
    order = balance_panels(work, 4, 2)
    assert panel_work(work, 4, 2) == 17
    assert panel_work(work[order], 4, 2) == 10
    # Of three channels, the fullest has a lane alone.
    order = balance_panels(np.array([1, 2, 9]), 3, 2)
    assert panel_work(np.array([1, 2, 9])[order], 3, 2) == 9
