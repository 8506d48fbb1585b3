"""
The example pass `coreasm-peephole` removes instructions without effect that were inserted into compiled networks.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from meshloom.dialects.coreasm.encoding import NO_DESC, Unit
from meshloom.dialects.coreasm.instruction import Space, TypeOf
from meshloom.dialects.coreasm.ops import INSTRUCTION_OPS, InstructionOp, LoopOp
from meshloom.dialects.coreasm.text import Fields
from meshloom.lowering.executable_to_coreasm import executable_to_coreasm
from meshloom.tools.oracle import Oracle, compare
from meshloom.tools.pass_plugins import load_passes
from meshloom.transforms.coreasm_pack import CoreasmPackPass
from meshloom.transforms.coreasm_unpack import CoreasmUnpackPass
from onnx import NodeProto, TensorProto, helper, numpy_helper
from xdsl.context import Context
from xdsl.dialects.builtin import IntegerAttr, ModuleOp, i8
from xdsl.ir import Operation

import meshloom

EXAMPLE = Path(__file__).parents[3] / "examples" / "coreasm_peephole.py"
RANDOM = np.random.default_rng(0)


def weight(name: str, *shape: int) -> TensorProto:
    return numpy_helper.from_array(RANDOM.standard_normal(shape).astype(np.float32), name)


def model(nodes: list[NodeProto], weights: list[TensorProto], x: list[int], y: list[int]) -> bytes:
    """A network from tensor x to tensor y."""
    tensors = [
        helper.make_tensor_value_info(*each) for each in (("x", TensorProto.FLOAT, x), ("y", TensorProto.FLOAT, y))
    ]
    graph = helper.make_graph(nodes, "small", tensors[:1], tensors[1:], weights)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8).SerializeToString()


def convolution() -> bytes:
    """A convolution, a division by the root of the sum of squares, a dense layer."""
    nodes = [
        helper.make_node("Conv", ["x", "filters"], ["edges"], pads=[1, 1, 1, 1]),
        helper.make_node("Relu", ["edges"], ["bright"]),
        helper.make_node("ReduceL2", ["bright"], ["length"], axes=[1]),
        helper.make_node("Add", ["length", "one"], ["divisor"]),
        helper.make_node("Div", ["bright", "divisor"], ["even"]),
        helper.make_node("Flatten", ["even"], ["row"]),
        helper.make_node("MatMul", ["row", "dense"], ["y"]),
    ]
    weights = [
        weight("filters", 8, 3, 3, 3),
        weight("dense", 8 * 12 * 12, 10),
        numpy_helper.from_array(np.ones(1, np.float32), "one"),
    ]
    return model(nodes, weights, [1, 3, 12, 12], [1, 10])


def product() -> bytes:
    """A matrix product that takes many steps, in loops."""
    nodes = [helper.make_node("MatMul", ["x", "w"], ["p"]), helper.make_node("Relu", ["p"], ["y"])]
    return model(nodes, [weight("w", 128, 256)], [256, 128], [256, 256])


def copy_onto_itself(op: InstructionOp, wait: int, signal: int) -> InstructionOp:
    """An instruction on the same unit that copies the result of `op` onto itself."""
    fields = op.fields
    register = fields.regs & 0xF
    kind = "mov" if op.instruction.unit == Unit.VPU else "copy"
    return INSTRUCTION_OPS[kind](
        Fields(
            (fields.dtype >> 4) * 0x11,
            wait,
            signal,
            register | register << 4,
            0,
            [fields.addr[0], fields.addr[0], 0, 0],
            [fields.desc[0], fields.desc[0], NO_DESC, NO_DESC],
        )
    )


def can_be_doubled(op: Operation) -> bool:
    if not isinstance(op, InstructionOp) or op.params is not None:
        return False
    place = op.instruction.destination
    vector_unit = op.instruction.unit in (Unit.VPU, Unit.DAU)
    return vector_unit and place is not None and place.space == Space.SRAM and place.type == TypeOf.DESTINATION


def with_useless_instructions(module: ModuleOp) -> int:
    """
    Insert no-op copies before and after random instructions, and duplicate each wait; return the number inserted.

    A copy before an instruction takes over its wait bits, one after it its signal bits.
    """
    count = 0
    for op in list(module.walk()):
        if isinstance(op, InstructionOp) and op.instruction.mnemonic in ("ctl.wait", "ctl.join"):
            parent = op.parent_block()
            assert parent is not None
            parent.insert_ops_after([op.clone()], op)
            count += 1
        if not isinstance(op, InstructionOp) or not can_be_doubled(op):
            continue
        fields, parent = op.fields, op.parent_block()
        assert parent is not None
        before, after = RANDOM.integers(0, 2, 2)
        if before:
            parent.insert_ops_before([copy_onto_itself(op, fields.wait, 0)], op)
            op.wait = IntegerAttr(0, i8)
        if after:
            parent.insert_ops_after([copy_onto_itself(op, 0, fields.signal)], op)
            op.signal = IntegerAttr(0, i8)
        count += int(before) + int(after)
    return count


@pytest.mark.parametrize(
    ("network", "shape", "chip"),
    [
        (convolution, (1, 3, 12, 12), "tiny"),
        (convolution, (1, 3, 12, 12), "edge"),
        (product, (256, 128), "tiny"),
    ],
)
def test_inserted_instructions_are_removed_and_all_others_kept(
    network: Callable[[], bytes], shape: tuple[int, ...], chip: str
) -> None:
    data, context = network(), Context()
    inputs = {"x": RANDOM.standard_normal(shape).astype(np.float32)}
    expected = Oracle(data).run(inputs)["y"]
    compiled = meshloom.compile(data, chip)
    packed = executable_to_coreasm(compiled.executable)
    packed.verify()

    longer = packed.clone()
    CoreasmUnpackPass().apply(context, longer)
    assert network is convolution or any(isinstance(op, LoopOp) for op in longer.walk())
    assert with_useless_instructions(longer) >= 8
    shorter = longer.clone()
    load_passes([EXAMPLE], {})["coreasm-peephole"]()().apply(context, shorter)
    for module in (longer, shorter):
        CoreasmPackPass().apply(context, module)
        module.verify()
    assert str(longer) != str(packed)
    assert str(shorter) == str(packed)

    slow, quick = (meshloom.compile(module, chip) for module in (longer, shorter))
    assert compare("y", slow.run(inputs).outputs["y"], expected).equal
    assert compare("y", quick.run(inputs, check=True).outputs["y"], expected).equal
    assert quick.timing.cycles == compiled.timing.cycles < slow.timing.cycles
