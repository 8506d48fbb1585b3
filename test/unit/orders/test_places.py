"""Tests of fixed offsets in memory for the values of operations that run on several units in parallel."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from meshloom.analysis.cost_graphs.read import read_cost_graph
from meshloom.analysis.offload.residency import Residency
from meshloom.analysis.orders.plan import plan_order
from meshloom.analysis.orders.problem import NO_CAP, problem_of
from meshloom.analysis.orders.simulate import lifetimes

GRAPHS = Path(__file__).parents[3] / "bench" / "data" / "graphs"


@pytest.mark.parametrize("name", ["bert12", "densenet121", "lstm64", "resnet50", "unet", "vgg16"])
def test_offsets_of_training_steps_reach_the_peak_of_live_bytes(name: str) -> None:
    graph = read_cost_graph(GRAPHS / f"{name}.json")
    problem, timeline = problem_of(graph), plan_order(graph).timeline
    start, death = lifetimes(problem, timeline.start)
    # Lifetimes by definition: from the start of the producer to the end of the last reader.
    values = np.flatnonzero(graph.counted).tolist()
    assert start.tolist() == [timeline.start[graph.producer[value]] for value in values]
    assert death.tolist() == [max(timeline.end[graph.readers[value]], default=NO_CAP) for value in values]
    end = np.minimum(death, timeline.makespan)
    places = Residency(np.arange(len(start)), problem.size, start, end).offsets()
    together = (start[:, None] < end) & (start < end[:, None])
    low, high = places.offsets, places.offsets + problem.size
    above = low[:, None] >= high
    np.fill_diagonal(together, False)
    assert not (together & ~above & ~above.T).any()
    # Sizes are rounded up to multiples of 256 bytes; memory is fullest at the start of some operation.
    padded = -(-problem.size // 256) * 256
    assert places.peak == (low + padded).max()
    assert places.peak == max(int(padded[(start <= moment) & (moment < end)].sum()) for moment in np.unique(start))
