"""Tests of costs of panels of several widths: full loads of joined lanes, and ports of DRAM."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from meshloom.analysis.sparse import layer_cost
from meshloom.analysis.sparse.layer_cost import Layer, best_panels, encoded_cycles, panel_widths
from meshloom.analysis.sparse.product_cycles import product_cycles
from meshloom.analysis.sparse.smallest_encoding import all_choices
from meshloom.chips import Chip, load_chip
from meshloom.dialects.dataflow.tiling import EncodedWork
from meshloom.formats.sparse.fibers import Fibers
from meshloom.formats.sparse.index_formats import DIRECT
from meshloom.formats.sparse.panels import Panels

JOINED = load_chip("edge")  # a unit of 32 x 32 weights
SEPARATE = replace(JOINED, map_lanes="own")
LAYER = Layer(rows=1, inputs=128, outputs=512, item_bytes=4, objective="loads")


def test_panels_fill_joined_lanes() -> None:
    """
    Joined lanes take fewer loads than separate ones, in panels whose width fills a load.

    512 output neurons of 13 weights each have 6656 weights, which are 7 loads of 1024; a panel of 74 neurons fills one
    load with 962. A separate lane holds 2 neurons (26 of 32 weights) at a time: at least 8 loads. Memory is no limit.
    """
    weights = np.zeros((512, 128), np.float32)
    for neuron, own in enumerate(weights):
        own[(neuron + 7 * np.arange(13)) % 128] = 1
    _, choice = all_choices(weights, Fibers(weights.shape), (DIRECT,))
    assert 74 in panel_widths(JOINED, LAYER, choice)
    assert panel_widths(SEPARATE, LAYER, choice) == [32, 64, 86, 128, 256]
    quick = {"dram_bytes_per_cycle": 1 << 20, "link_bytes_per_cycle": 1 << 20}
    joined, own = (best_panels(replace(chip, **quick), LAYER, weights != 0, choice) for chip in (JOINED, SEPARATE))
    assert joined.mean_compute == 7 * 94 / 16
    assert own.mean_compute == 8 * 94 / 16


def test_panels_in_groups_divide_the_groups() -> None:
    layer = replace(LAYER, inputs=32, groups=4)
    weights = np.ones((512, 32), np.float32)
    _, choice = all_choices(weights, Fibers(weights.shape), (DIRECT,))
    assert all(128 % width == 0 for width in panel_widths(JOINED, layer, choice))


@pytest.mark.parametrize(("count", "memory"), [(1, 500), (3, 167), (4, 125), (5, 200), (8, 125), (9, 167)])
def test_each_port_of_dram_delivers_its_panels(count: int, memory: float) -> None:
    """16000 bytes in `count` panels over four ports of 32 bytes per cycle: of five panels, one port delivers two."""
    panels = Panels(DIRECT, 16 * count, 16, 64, 64)
    one = EncodedWork(1, 1, 16, 64, 1, 16 * 64, True, 0, 0, 64, 64)
    _, found, _ = encoded_cycles(JOINED, replace(LAYER, outputs=16 * count), panels, [one] * count, 16000)
    assert found == pytest.approx(memory, abs=0.5)


def test_a_panel_is_costed_once_for_each_number_of_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    """A panel has the same cost in all grids for a single row, so that it is computed once."""
    costed: list[EncodedWork] = []

    def noted(chip: Chip, work: EncodedWork, rate: int) -> float:
        costed.append(work)
        return product_cycles(chip, work, rate)

    monkeypatch.setattr(layer_cost, "product_cycles", noted)
    panels = Panels(DIRECT, 256, 16, 64, 64)
    work = [EncodedWork(1, 1, 16, 64, 1, 16 * 64, True, 0, 0, 64, 64)] * 16
    assert len(list(layer_cost.grids(len(JOINED.usable_cores), 1, 16))) > 1
    encoded_cycles(JOINED, replace(LAYER, outputs=256), panels, work, 16000)
    assert len(costed) == len(work)
