"""
Search for the first difference from ONNX Runtime: first in each operator by itself, then in the network on the chip.

Each operator is run on ONNX Runtime's own operands, and its results are compared with ONNX Runtime's: all operators at
once, in a network in which every tensor is also an input. The interpreter computes this in seconds. If all operators
are correct, the network is run on the chip with a few tensors at a time as outputs.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import ModelProto, NodeProto, helper, numpy_helper

from ..frontend.onnx_import import ValuesNeededError, import_onnx
from .interpreted import run_module
from .oracle import RELATIVE, Comparison, Oracle, compare

if TYPE_CHECKING:
    from ..chips import Chip

Array = NDArray[Any]

PROBES = 16
"""Tensors of the network that are compared at a time on the chip."""
STEP_BYTES = 2
"""Quantised values have integer types of up to so many bytes; wider ones are sums, which are exact."""
_COMPUTED = "/computed"
_QUANTISING = ("QuantizeLinear", "DynamicQuantizeLinear", "QGemm", "DynamicQuantizeMatMul", "DynamicQuantizeLSTM")
"""Operators that quantise, besides QLinear...; the last two quantise intermediate values, and return floats."""
STEPS_OF_STATES = 255
"""Steps to which DynamicQuantizeLSTM rounds its states in each time step: its results may differ by one step."""


def is_quantising(node: NodeProto) -> bool:
    """Whether a node quantises: rounds real numbers to the steps of an integer type."""
    return node.op_type in _QUANTISING or node.op_type.startswith("QLinear")


def is_half(value: Array) -> bool:
    """Whether these are floats of 16 bits: sums in another order may be rounded differently."""
    return value.dtype == np.float16


def gives_steps(node: NodeProto, value: Array) -> bool:
    """
    Whether this result of a node may differ by one step: 1 for integers, a share of the range for states, a unit in the
    last place of the largest value for floats of 16 bits.
    """
    if node.op_type == "DynamicQuantizeLSTM" or is_half(value):
        return True
    return is_quantising(node) and value.dtype.kind in "iu" and value.dtype.itemsize <= STEP_BYTES


def within_a_step(node: NodeProto, found: Comparison, value: Array) -> bool:
    """Whether a result is correct: equal, or within one step if the operator quantises or rounds to 16 bits."""
    if found.equal or not gives_steps(node, value):
        return found.equal
    if is_half(value):
        return found.difference <= float(np.spacing(np.abs(value).max(initial=0)))
    step = float(np.ptp(value)) / STEPS_OF_STATES if value.dtype.kind == "f" else 1
    return found.difference <= step


class NetworkSearch:
    """The search for one model and one set of inputs."""

    def __init__(self, model: ModelProto, inputs: Mapping[str, Array], values: Mapping[str, Array]) -> None:
        """`inputs` of the executable and `values` of the inputs that are constants. Raises InputError."""
        self.inputs, self.values = dict(inputs), dict(values)
        self.tensors = list(_tensors(model))
        self.expected = _all_values(model, self.tensors, {**inputs, **values})
        """ONNX Runtime's value of every tensor that is an array."""
        self.model = model
        self.outputs = [info.name for info in model.graph.output]

    def first_wrong_operator(self) -> tuple[NodeProto, str, float] | None:
        """The first operator whose result on ONNX Runtime's operands is wrong; None: all are correct."""
        cut = {name for _, name in self.tensors if name in self.expected and _is_data(self.expected[name])}
        while True:
            model, inputs = self._cut(cut)
            try:
                module = import_onnx(model, values={name: self.values[name] for name in self.values})
                break
            except ValuesNeededError as error:
                # Shapes that are computed with floats: known at import unless their computation is cut.
                if not cut & set(error.inputs):
                    raise
                cut -= set(error.inputs)
        results = run_module(module, inputs)
        for node, name in self.tensors:
            if name in cut:
                found = compare(name, results[name + _COMPUTED], self.expected[name])
                if not within_a_step(node, found, self.expected[name]):
                    return node, name, found.difference
        return None

    def _cut(self, cut: set[str]) -> tuple[ModelProto, dict[str, Array]]:
        """The model with these tensors as inputs; the values computed for them are outputs, under another name."""
        model = _copy_without_outputs(self.model)
        for info in model.graph.input:
            if info.name in self.inputs:
                _set_type(info, self.inputs[info.name])
        for node in model.graph.node:
            for position, name in enumerate(node.output):
                if name in cut:
                    node.output[position] = name + _COMPUTED
        for name in sorted(cut):
            model.graph.input.append(_info(name, self.expected[name]))
            model.graph.output.append(_info(name + _COMPUTED, self.expected[name]))
        return model, {**self.inputs, **{name: self.expected[name] for name in cut}}

    def steps_on_chip(self, chip: Chip) -> dict[str, Array]:
        """The results of quantising operators, and the outputs, as the chip computes them from the inputs."""
        names = [
            name for node, name in self.tensors if name in self.expected and gives_steps(node, self.expected[name])
        ]
        return self._on_chip([*dict.fromkeys([*names, *self.outputs])], chip)

    def steps_of(self, tensors: Mapping[str, Array]) -> dict[str, Array]:
        """The results of quantising operators among these tensors, and their dequantised values."""
        return {name: tensors[name] for node, name in self.tensors if name in tensors and self._is_cut(node, name)}

    def first_wrong_from_steps(self, steps: Mapping[str, Array]) -> tuple[NodeProto, str, float] | None:
        """
        The first of these values (see `steps_on_chip`) that does not follow from the earlier ones; None: all do.

        The result of a quantising operator, or its dequantised values, follow if they are within one step of what the
        interpreter computes from the other values; an output follows if it is equal to that.
        """
        cut = {name for node, name in self.tensors if name in steps and self._is_cut(node, name)}
        model, inputs = self._cut(cut)
        model.graph.output.extend(_info(name, self.expected[name]) for name in self.outputs if name not in cut)
        inputs |= {name: steps[name] for name in cut}
        results = run_module(import_onnx(model, values=self.values), inputs)
        for node, name in self.tensors:
            if name in steps:
                found = compare(name, steps[name], results[name + _COMPUTED if name in cut else name])
                if not within_a_step(node, found, steps[name]) and found.difference > self._dequantised_step(node):
                    return node, name, found.difference
        return None

    def _is_cut(self, node: NodeProto, name: str) -> bool:
        return name in self.expected and (node.op_type == "DequantizeLinear" or gives_steps(node, self.expected[name]))

    def _dequantised_step(self, node: NodeProto) -> float:
        """The largest change of the result of DequantizeLinear for one step of its operand; 0 for other operators."""
        if node.op_type != "DequantizeLinear":
            return 0.0
        scales = [numpy_helper.to_array(one) for one in self.model.graph.initializer if one.name == node.input[1]]
        scale = scales[0] if scales else self.expected[node.input[1]]
        return float(np.abs(scale).max(initial=0)) * (1 + RELATIVE)

    def interpreted(self) -> dict[str, Array]:
        """Every tensor as the interpreter computes it from the network's inputs."""
        names = [name for _, name in self.tensors if name in self.expected]
        shapes = {name: value.shape for name, value in self.inputs.items()}
        return run_module(import_onnx(self._with_outputs(names), shapes, self.values), self.inputs)

    def first_wrong_on_chip(self, chip: Chip, right: Mapping[str, Array]) -> tuple[NodeProto, str, float] | None:
        """The first tensor, in the order of comparison, that the chip computes wrongly; None: all are correct."""
        positions = [(node, name) for node, name in self.tensors if name in right]
        low, high = 0, len(positions)
        worst: tuple[NodeProto, str, float] | None = None
        while low < high:
            step = max(1, -(-(high - low) // PROBES))
            picks = sorted({*range(low + step - 1, high, step), high - 1})
            got = self._on_chip([positions[pick][1] for pick in picks], chip)
            for pick in picks:
                node, name = positions[pick]
                if not (found := compare(name, got[name], right[name])).equal:
                    worst = node, name, found.difference
                    high = pick
                    break
                low = pick + 1
            else:
                return worst
        return worst

    def _on_chip(self, names: Sequence[str], chip: Chip) -> dict[str, Array]:
        from .api import compile as compile_model

        shapes = {name: value.shape for name, value in self.inputs.items()}
        model = self._with_outputs(names)
        return compile_model(model, chip, shapes, values=self.values).run(self.inputs).outputs

    def _with_outputs(self, names: Sequence[str]) -> ModelProto:
        model = _copy_without_outputs(self.model)
        model.graph.output.extend(_info(name, self.expected[name]) for name in names)
        return model

    def quantised(self) -> set[str]:
        """The tensors that are results of quantising operators, or floats of 16 bits, or depend on one."""
        found = {name for name, value in self.expected.items() if is_half(value)}
        for node in self.model.graph.node:
            if is_quantising(node) or not found.isdisjoint(_reads(node)):
                found.update(node.output)
        return found

    @property
    def step(self) -> str:
        """The name of a step in this network."""
        halves = any(map(is_half, self.expected.values()))
        return (
            "rounding to f16" if halves and not any(map(is_quantising, self.model.graph.node)) else "quantisation step"
        )


def _tensors(model: ModelProto) -> Iterator[tuple[NodeProto, str]]:
    for node in model.graph.node:
        for name in node.output:
            if name:
                yield node, name


def _reads(node: NodeProto) -> Iterator[str]:
    yield from node.input
    for attribute in node.attribute:
        for graph in (attribute.g, *attribute.graphs):
            for inner in graph.node:
                yield from _reads(inner)


def _is_data(value: Array) -> bool:
    """The tensors without those from which shapes are computed."""
    return value.dtype.kind == "f" or (value.dtype.kind in "iu" and value.dtype.itemsize <= 4)


def _all_values(
    model: ModelProto, tensors: Sequence[tuple[NodeProto, str]], inputs: Mapping[str, Array]
) -> dict[str, Array]:
    bare = onnx.ModelProto()
    bare.CopyFrom(model)
    have = {info.name for info in bare.graph.output}
    names = [name for _, name in tensors if name not in have]
    bare.graph.output.extend(helper.make_empty_tensor_value_info(name) for name in names)
    values = Oracle(bare.SerializeToString()).run(inputs)
    arrays = {name: np.asarray(value) for name, value in values.items()}
    # Sequences and strings are not compared.
    return {name: value for name, value in arrays.items() if value.dtype.kind in "fiub"}


def _copy_without_outputs(model: ModelProto) -> ModelProto:
    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    del copy.graph.output[:]
    del copy.graph.value_info[:]
    return copy


def _info(name: str, value: Array) -> onnx.ValueInfoProto:
    return helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(value.dtype), value.shape)


def _set_type(info: onnx.ValueInfoProto, value: Array) -> None:
    info.CopyFrom(_info(info.name, value))
