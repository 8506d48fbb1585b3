"""Costs of panels of several widths: full loads of joined lanes, and ports of DRAM."""

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

JOINED = load_chip("edge")  # 32 x 32 places
OWN = replace(JOINED, map_lanes="own")
LAYER = Layer(rows=1, inputs=128, outputs=512, item_bytes=4, objective="loads")


def test_panels_fill_joined_lanes() -> None:
    """
    512 output neurons of 13 weights each, 6656: of 1024 places, 7 loads. 74 neurons a panel fill 962 of them once.

    Lanes of their own hold 2 neurons (26 of 32 places) at a time: 8 loads at least. Memory is no limit.
    """
    weights = np.zeros((512, 128), np.float32)
    for neuron, own in enumerate(weights):
        own[(neuron + 7 * np.arange(13)) % 128] = 1
    _, choice = all_choices(weights, Fibers(weights.shape), (DIRECT,))
    assert 74 in panel_widths(JOINED, LAYER, choice)
    assert panel_widths(OWN, LAYER, choice) == [32, 64, 86, 128, 256]
    quick = {"dram_bytes_per_cycle": 1 << 20, "link_bytes_per_cycle": 1 << 20}
    joined, own = (best_panels(replace(chip, **quick), LAYER, weights != 0, choice) for chip in (JOINED, OWN))
    assert joined.mean_compute == 7 * 94 / 16
    assert own.mean_compute == 8 * 94 / 16


def test_panels_in_groups_reach_over_no_end() -> None:
    layer = replace(LAYER, inputs=32, groups=4)
    weights = np.ones((512, 32), np.float32)
    _, choice = all_choices(weights, Fibers(weights.shape), (DIRECT,))
    assert all(128 % width == 0 for width in panel_widths(JOINED, layer, choice))


@pytest.mark.parametrize(("count", "memory"), [(1, 500), (3, 167), (4, 125), (5, 200), (8, 125), (9, 167)])
def test_each_port_of_dram_delivers_its_panels(count: int, memory: float) -> None:
    """16000 bytes in so many panels, over four ports of 32 bytes a cycle: five panels take as long as two on one."""
    panels = Panels(DIRECT, 16 * count, 16, 64, 64)
    one = EncodedWork(1, 1, 16, 64, 1, 16 * 64, True, 0, 0, 64, 64)
    _, found, _ = encoded_cycles(JOINED, replace(LAYER, outputs=16 * count), panels, [one] * count, 16000)
    assert found == pytest.approx(memory, abs=0.5)


def test_a_panel_is_costed_once_for_each_number_of_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    """A single row can be cut over the cores in as many ways as there are panels; each panel takes the same in all."""
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
