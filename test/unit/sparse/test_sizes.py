"""Sizes against the formulas, the choice of the smallest, the model of cycles, lanes of equal work."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from meshloom.analysis.sparse.balance import balance, efficiency
from meshloom.analysis.sparse.choose import all_choices, smallest
from meshloom.analysis.sparse.cost import Layer, Machine, break_even, fastest, layer_costs
from meshloom.analysis.sparse.encode import encode
from meshloom.analysis.sparse.formats import DIRECT, Format, Kind, candidates, csr, run_length, stride
from meshloom.analysis.sparse.sizes import expected_bits
from meshloom.analysis.sparse.strings import Strings

SHAPE = (128, 2048)


def random_weights(density: float, group: int = 1, seed: int = 0) -> np.ndarray:
    generator = np.random.default_rng(seed)
    mask = np.repeat(generator.random((SHAPE[0], SHAPE[1] // group)) < density, group, axis=1)
    return generator.integers(1, 127, SHAPE).astype(np.int8) * mask


@pytest.mark.parametrize("density", [0.01, 0.1, 0.5, 1.0])
def test_measured_sizes_are_the_expected_ones(density: float) -> None:
    weights = random_weights(density)
    # Three standard deviations of the number of non-zeros, and the gaps that end a string and need no filler.
    tolerance = 3 / math.sqrt(max(1, density * weights.size)) + 0.01
    for format in (DIRECT, stride(3), stride(5), stride(8), run_length(4), csr(16)):
        measured = encode(weights, format).nbytes * 8 / weights.size
        # Fillers of short codes at low density follow from the ends of strings too: these have none.
        ends = 0.02 if density < 0.05 and format.kind in (Kind.STRIDE, Kind.RUN_LENGTH) else 0.0
        expected = expected_bits(format, density, 8, SHAPE[1])
        assert measured == pytest.approx(expected, rel=tolerance + ends), format


def test_published_break_even_densities_and_ratios() -> None:
    # direct = dense at 0.875, stride4 at 0.667, csr16 at 0.333 of 8-bit values.
    assert expected_bits(DIRECT, 0.875, 8) == 8
    assert expected_bits(stride(4), 2 / 3, 8) == pytest.approx(8, rel=1e-6)
    assert 1 / 3 * (8 + 16) == pytest.approx(8)
    # Where the next of stride8, 6, 5, 4 and direct becomes smaller, by the formula of runs of 2**s.
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


def test_the_smallest_at_a_tenth() -> None:
    weights = random_weights(0.1)
    choice = smallest(weights, Strings(SHAPE))
    assert choice.format == stride(5)
    assert choice.ratio == pytest.approx(5.9, abs=0.08)
    assert choice.nbytes == encode(weights, stride(5)).nbytes
    grouped = smallest(random_weights(0.1, 16), Strings(SHAPE), candidates((1, 16)))
    assert grouped.format is not None
    assert grouped.format.group == 16
    assert grouped.ratio >= 9


@settings(max_examples=60, deadline=None)
@given(rows=st.integers(1, 6), length=st.integers(1, 80), density=st.floats(0, 1), seed=st.integers(0, 1 << 32))
def test_never_larger_than_dense_and_never_than_another(rows: int, length: int, density: float, seed: int) -> None:
    generator = np.random.default_rng(seed)
    tensor = (generator.integers(1, 9, (rows, length)) * (generator.random((rows, length)) < density)).astype(np.int8)
    formats = [one for one in candidates((1, 4)) if one.group <= length]
    choice = smallest(tensor, Strings(tensor.shape), formats)
    sizes = [encode(tensor, format).nbytes for format in formats]
    assert choice.nbytes == min([tensor.nbytes, *sizes])
    assert [one.nbytes for one in all_choices(tensor, Strings(tensor.shape), formats)[1:]] == sizes
    assert (choice.format is None) == (tensor.nbytes <= min(sizes))


def test_groups_longer_than_a_string_are_left_out() -> None:
    assert smallest(np.eye(4, dtype=np.int8), Strings((4, 4)), candidates((1 << 40, 1))).format == DIRECT


MACHINE = Machine(macs=64, memory_bytes=16, direct_bits=256, stride_codes=64)


def test_cost_of_a_layer_by_hand() -> None:
    weights = np.zeros((8, 64), np.int8)
    weights[:, ::8] = 1
    layer = Layer(rows=4, inputs=64, outputs=8, neuron_bytes=288)
    dense, direct, strided = layer_costs(layer, weights, Strings((8, 64)), MACHINE, (DIRECT, stride(4)))
    # 4 * 512 pairs dense, an eighth of them with an index; neurons are 4 rows of 64 + 8 bytes.
    assert (dense.multiply, dense.map, dense.memory) == (32, 0, (512 + 288) / 16)
    assert (direct.multiply, direct.map, direct.memory) == (4, 4 * 512 / 256, (64 + 64 + 288) / 16)
    # 64 entries of 4 bits, 8 counts of 7 bits.
    assert (strided.multiply, strided.map, strided.memory) == (4, 4, (7 + 32 + 64 + 288) / 16)
    assert fastest([dense, direct, strided]) is strided
    half = layer_costs(Layer(4, 64, 8, 288, neuron_density=0.5), weights, Strings((8, 64)), MACHINE, (DIRECT,))[1]
    assert half.multiply == 2


def test_the_model_falls_back_to_dense() -> None:
    layer = Layer(rows=256, inputs=2048, outputs=128, neuron_bytes=256 * 2176)
    formats = (DIRECT, stride(4), stride(8))
    for density in (0.01, 0.1, 0.3, 0.6, 0.9, 1.0):
        costs = layer_costs(layer, random_weights(density), Strings(SHAPE), MACHINE, formats)
        best = fastest(costs)
        assert best.cycles <= costs[0].cycles
        assert (best.choice.format is None) == (density == 1.0)
    curve = break_even(layer, MACHINE, stride(4), (0.1, 1.0))
    assert curve[0][1] > 5 > 1.01 > curve[1][1]


def test_balanced_lanes() -> None:
    # Lanes in step, two at a time: 9 + 8 cycles for 20 entries; sorted 9 + 2.
    work = np.array([9, 1, 2, 8])
    assert efficiency(work, 2) == 20 / (17 * 2)
    order = balance(work, 2)
    assert order.tolist() == [0, 3, 2, 1]
    assert efficiency(work[order], 2) == 20 / (11 * 2)
    # Lanes that wait at the end: 9 + 1 and 8 + 2.
    paired = balance(work, 2, "pair")
    assert efficiency(work[paired], 2, "pair") == 1.0


@settings(max_examples=60, deadline=None)
@given(work=st.lists(st.integers(0, 50), min_size=1, max_size=70), lanes=st.integers(1, 9))
def test_balancing_permutes_and_never_hurts(work: list[int], lanes: int) -> None:
    array = np.array(work)
    for method in ("sort", "pair"):
        order = balance(array, lanes, method)
        assert sorted(order.tolist()) == list(range(len(work)))
    assert efficiency(array[balance(array, lanes)], lanes) >= efficiency(array, lanes) - 1e-12


def test_lanes_of_random_weights_lose_half_and_get_it_back() -> None:
    # 64 lanes, density 0.1, strings of 64: about 51% of the cycles are useful.
    generator = np.random.default_rng(1)
    work = (generator.random((1024, 64)) < 0.1).sum(axis=1)
    assert efficiency(work, 64) == pytest.approx(0.51, abs=0.05)
    assert efficiency(work[balance(work, 64)], 64) > 0.85
