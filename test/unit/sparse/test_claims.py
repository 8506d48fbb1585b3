"""
Tests of the claims of spec 5 that concern data, one for each, as programs that the interpreter runs.

Claims 1 to 4, 12 and 13 are about the device: its units, caches, bypass and modules.
"""

from __future__ import annotations

import numpy as np
import pytest
from meshloom.analysis.execution.interpret import Array, run_main
from meshloom.dialects.dataflow.types import tensor
from meshloom.dialects.sparse import IndexAttr
from meshloom.dialects.sparse.values import encode_array
from meshloom.formats.sparse.index_formats import Kind, Order
from meshloom.tools.opt import MeshloomOpt
from xdsl.dialects.builtin import i8
from xdsl.parser import Parser

# The connections 1 0 0 1 1 and 1 0 1 0 1 of the spec, with values.
NEURONS = np.array([[5, 0, 0, 6, 7]], np.float32)
WEIGHTS = np.array([[2, 0, 3, 0, 4]], np.float32)
BOTH = [[True, False, False, False, True]]
DIRECT, STRIDE = "#sparse.index<direct>", "#sparse.index<stride, bits = 4>"


def run(body: str, results: str, **inputs: Array) -> list[Array]:
    """The results of a program; `results` are its values with their types, separated by semicolons."""
    names, types = zip(*(one.split(" : ") for one in results.split("; ")), strict=True)
    kinds = {np.dtype(np.float32): "f32", np.dtype(np.bool_): "i1"}
    arguments = ", ".join(
        f"%{name}: tensor<1x5x{kinds[value.dtype]}{f', {DIRECT}' if value.dtype == np.bool_ else ''}> "
        f'{{dataflow.name = "{name}"}}'
        for name, value in inputs.items()
    )
    text = (
        f"func.func @main({arguments}) -> ({', '.join(types)}) {{\n{body}\n"
        f"func.return {', '.join(names)} : {', '.join(types)}\n}}"
    )
    module = Parser(MeshloomOpt(args=[]).ctx, text).parse_module()
    module.verify()
    return list(run_main(module, inputs).values())


def encode(value: str, index: str, name: str) -> str:
    """Encode %value to %name and take its connection data to %name_c."""
    kind, bits = f"tensor<1x5xf32, {index}>", f"tensor<1x5xi1, {index}>"
    return (
        f"%{name} = sparse.encode %{value} : tensor<1x5xf32> -> {kind}\n"
        f"%{name}_c = sparse.connections %{name} : {kind} -> {bits}\n"
    )


def combined(first: str, second: str, result: str) -> Array:
    bits = [f"tensor<1x5xi1, {index}>" for index in (first, second, result)]
    body = encode("x", first, "a") + encode("w", second, "b")
    body += f"%c = sparse.combine %a_c, %b_c : {bits[0]}, {bits[1]} -> {bits[2]}"
    return run(body, f"%c : {bits[2]}", x=NEURONS, w=WEIGHTS)[0]


def test_claims_5_and_18_both_inputs_are_compacted_by_the_combination() -> None:
    kind, bits = f"tensor<1x5xf32, {DIRECT}>", f"tensor<1x5xi1, {DIRECT}>"
    body = encode("x", DIRECT, "a") + encode("w", DIRECT, "b")
    body += f"""
    %c = sparse.combine %a_c, %b_c : {bits}, {bits} -> {bits}
    %x_out = sparse.compact %x by %c : tensor<1x5xf32>, {bits} -> {kind}
    %w_out = sparse.compact %w by %c : tensor<1x5xf32>, {bits} -> {kind}
    %y = sparse.matmul %x_out, %w_out transpose_b : ({kind}, {kind}) -> tensor<1x1xf32>"""
    x, w, y = run(body, f"%x_out : {kind}; %w_out : {kind}; %y : tensor<1x1xf32>", x=NEURONS, w=WEIGHTS)
    assert x.tolist() == [[5, 0, 0, 0, 7]]
    assert w.tolist() == [[2, 0, 0, 0, 4]]
    assert y.tolist() == [[5 * 2 + 7 * 4]]


@pytest.mark.parametrize("index", ["direct, threshold = 5.0", "stride, bits = 2, threshold = 5.0"])
def test_claims_6_and_22_thresholds(index: str) -> None:
    bits = f"tensor<1x5xi1, #sparse.index<{index}>>"
    (connected,) = run(encode("x", f"#sparse.index<{index}>", "a"), f"%a_c : {bits}", x=-NEURONS)
    assert connected.tolist() == [[False, False, False, True, True]]


def test_claims_7_and_19_two_stride_fibers() -> None:
    assert combined(STRIDE, STRIDE, STRIDE).tolist() == BOTH


def test_claims_8_and_19_two_direct_fibers() -> None:
    assert combined(DIRECT, DIRECT, DIRECT).tolist() == BOTH


@pytest.mark.parametrize(("first", "second"), [(DIRECT, STRIDE), (STRIDE, DIRECT)])
def test_claims_9_and_19_mixed_by_direct_fibers(first: str, second: str) -> None:
    assert combined(first, second, DIRECT).tolist() == BOTH


@pytest.mark.parametrize(("first", "second"), [(DIRECT, STRIDE), (STRIDE, DIRECT)])
def test_claims_10_and_20_mixed_by_stride_fibers(first: str, second: str) -> None:
    assert combined(first, second, STRIDE).tolist() == BOTH


def test_claims_11_and_16_groups_with_too_many_small_values_are_pruned() -> None:
    # Groups of 2 and 3 neurons; two of the second group are at most 6.
    prune = "%p = sparse.prune_groups %x groups 2 threshold 6.0 limit {} : tensor<1x5xf32>"
    assert run(prune.format(1), "%p : tensor<1x5xf32>", x=NEURONS)[0].tolist() == [[0, 0, 0, 0, 0]]
    assert run(prune.format(2), "%p : tensor<1x5xf32>", x=NEURONS)[0].tolist() == NEURONS.tolist()
    spread = NEURONS + np.array([[9, 0, 0, 0, 0]], np.float32)
    assert run(prune.format(1), "%p : tensor<1x5xf32>", x=spread)[0].tolist() == [[14, 0, 0, 0, 0]]


@pytest.mark.parametrize(("of", "by", "wanted"), [("x", "w", [[5, 0, 0, 0, 7]]), ("w", "x", [[2, 0, 0, 0, 4]])])
def test_claim_17_one_input_by_the_connections_of_the_other(of: str, by: str, wanted: list[list[int]]) -> None:
    bits, kind = f"tensor<1x5xi1, {STRIDE}>", f"tensor<1x5xf32, {STRIDE}>"
    body = encode(by, STRIDE, "a") + f"%c = sparse.compact %{of} by %a_c : tensor<1x5xf32>, {bits} -> {kind}"
    assert run(body, f"%c : {kind}", x=NEURONS, w=WEIGHTS)[0].tolist() == wanted


def test_claims_18_and_21_connection_data_comes_with_the_input() -> None:
    bits, kind = f"tensor<1x5xi1, {DIRECT}>", f"tensor<1x5xf32, {DIRECT}>"
    body = f"%c = sparse.compact %x by %given : tensor<1x5xf32>, {bits} -> {kind}"
    given = np.array([[False, True, False, True, False]])
    assert run(body, f"%c : {kind}", x=NEURONS, given=given)[0].tolist() == [[0, 0, 0, 6, 0]]


@pytest.mark.parametrize(("order", "fibers"), [("output", [1, 0, 0, 1, 1, 2]), ("input", [1, 1, 0, 1, 0, 2])])
def test_claims_6_and_22_orders_of_a_direct_index(order: str, fibers: list[int]) -> None:
    # Two output neurons with three inputs: a fiber for each output over its inputs, or for each input over its outputs.
    weights = np.array([[1, 0, 0], [1, 1, 2]], np.int8)
    index = IndexAttr(Kind.DIRECT, order=Order(order))
    encoded = encode_array(weights, tensor(i8, (2, 3)), index)
    assert np.unpackbits(encoded.index, count=6, bitorder="little").tolist() == [int(one > 0) for one in fibers]
    assert encoded.values.tolist() == [one for one in fibers if one]
