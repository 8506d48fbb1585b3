"""Property tests of outlining and inlining: results are the same bits for all cuts."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from meshloom.analysis.cost_graphs.function_graph import block_graph
from meshloom.analysis.execution.interpret import run_main
from meshloom.analysis.subgraphs.op_graph import Segments, live_bytes, serial_order
from meshloom.analysis.tasks.operator_parts import data_bytes
from meshloom.dialects.dataflow import ConcatOp, ReshapeOp, SliceOp
from meshloom.dialects.dataflow.entry_function import find_main
from meshloom.dialects.dataflow.tiling import TilingInterface
from meshloom.dialects.dataflow.types import tensor_bytes, tensor_of
from meshloom.dialects.manycore import SubgraphOp
from meshloom.transforms.dataflow_split_to_fit import split_to_fit
from meshloom.transforms.manycore_inline_subgraphs import ManycoreInlineSubgraphsPass
from meshloom.transforms.shared.outline import outline
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.transforms.canonicalize import CanonicalizePass

from meshloom.testing import RandomNetwork


def context() -> Context:
    from meshloom.dialects.dataflow import Dataflow
    from meshloom.dialects.manycore import Manycore

    made = Context()
    made.load_dialect(Dataflow)
    made.load_dialect(Manycore)
    return made


def check(module: ModuleOp, x: np.ndarray, expected: dict[str, np.ndarray]) -> None:
    module.verify()
    for name, value in run_main(module, {"x": x}).items():
        np.testing.assert_array_equal(value, expected[name])


@given(seed=st.integers(0, 1 << 30), data=st.data())
@settings(max_examples=25, deadline=None)
def test_any_cuts_keep_the_results(seed: int, data: st.DataObject) -> None:
    network = RandomNetwork(seed, operations=8)
    module, x = network.module, network.input()
    expected = run_main(module, {"x": x})
    block = find_main(module).body.block
    nodes = block_graph(block)
    count = len(nodes.ops)
    cuts = data.draw(st.sets(st.integers(1, count - 1), max_size=4)) if count > 1 else set[int]()
    segments = Segments.cut(serial_order(nodes.graph), sorted(cuts))
    made = outline(block, nodes, segments)
    assert len(made) == len(cuts) + 1
    check(module, x, expected)
    before = {op.sym_name.data: len(op.outputs) for op in made}
    CanonicalizePass().apply(context(), module)
    check(module, x, expected)
    after = {op.sym_name.data: len(op.outputs) for op in module.walk() if isinstance(op, SubgraphOp)}
    assert all(after[name] <= before[name] for name in after)
    ManycoreInlineSubgraphsPass().apply(context(), module)
    assert not [op for op in module.walk() if isinstance(op, SubgraphOp)]
    check(module, x, expected)


@pytest.mark.parametrize("seed", range(6))
def test_live_bytes_equal_those_between_subgraphs(seed: int) -> None:
    network = RandomNetwork(seed, operations=9)
    block = find_main(network.module).body.block
    nodes = block_graph(block)
    count = len(nodes.ops)
    segments = Segments.cut(serial_order(nodes.graph), range(1, count))
    live = live_bytes(nodes.graph, segments.order)
    made = outline(block, nodes, segments)
    for position in range(1, count):
        later = {value for op in made[position:] for value in op.inputs}
        crossing = {value for op in made[:position] for value in op.outputs} & later
        assert sum(tensor_bytes(tensor_of(value)) for value in crossing) == live[position]


def test_operators_inside_subgraphs_are_split() -> None:
    network = RandomNetwork(3, operations=8)
    module, x = network.module, network.input()
    expected = run_main(module, {"x": x})
    block = find_main(module).body.block
    nodes = block_graph(block)
    largest = max(
        data_bytes(op, [dim.size for dim in op.iteration_space()])
        for op in nodes.ops
        if isinstance(op, TilingInterface) and not isinstance(op, ReshapeOp | SliceOp | ConcatOp)
    )
    outline(block, nodes, Segments.cut(serial_order(nodes.graph), [len(nodes.ops) // 2]))
    assert split_to_fit(module, largest - 1).parts
    module.verify()
    for name, value in run_main(module, {"x": x}).items():
        np.testing.assert_allclose(value, expected[name], rtol=1e-5, atol=1e-5)
