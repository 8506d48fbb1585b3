"""
Meshloom as an ONNX backend: `prepare`, `run_model`, `run_node`, as ONNX's own test suite drives them.

Programs are static, so a model is compiled when its inputs are known: `run` compiles for their shapes (once each) and,
where an operator needs the value of an input (the axes of a reduction given as an input), for these values too. So
inputs and outputs may be sequences (lists of arrays) and optionals (None where there is nothing): the program is one
for as many tensors as are given. Strings (arrays of `str`) have the width of the longest one given.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx.backend.base import Backend, BackendRep
from onnx.backend.test.runner import BackendIsNotSupposedToImplementIt

from meshloom.frontend.onnx_import import ValuesNeededError, import_for
from meshloom.frontend.signatures import Signature, assemble, conform, leaves, signature_of
from meshloom.frontend.strings import bytes_of, decode, is_text
from meshloom.frontend.tensors import BFLOAT16, HELD_IN, is_string
from meshloom.support.arguments import check_argument
from meshloom.support.errors import InputError, MeshloomError

Array = NDArray[Any]


def _of_chip(array: Array, dtype: np.dtype[Any]) -> Array:
    """An output in its type: the emulator gives bfloat16, and types that no chip has, as what holds them."""
    if is_string(dtype):
        return decode(array)
    return array.astype(dtype) if dtype == BFLOAT16 or dtype in HELD_IN else array


def _for_chip(array: Array) -> Array:
    """An input as the chip holds it."""
    if is_string(array.dtype):
        return bytes_of(array)
    return array.astype(HELD_IN.get(array.dtype, array.dtype), copy=False)


class CompiledModel(BackendRep):
    """A model, compiled for each combination of input shapes that it is run with."""

    def __init__(self, model: onnx.ModelProto, chip: str = "tiny", **options: Any):
        check_argument("model", model, (onnx.ModelProto,), "an onnx.ModelProto")
        self.model = model
        self.chip = chip
        self.options = options
        self.cycles = 0
        """Cycles of the last run."""
        initialised = {tensor.name for tensor in model.graph.initializer}
        self._inputs = {info.name: info.type for info in model.graph.input if info.name not in initialised}
        self._programs: dict[Any, _Program] = {}
        self._fixed: set[str] = set()
        """Names of the tensors that programs are compiled for the values of."""

    def run(self, inputs: Any, **kwargs: Any) -> tuple[Any, ...]:
        """
        The outputs for these inputs: a sequence in the model's order, or a mapping by name.

        Raises InputError for inputs that the model does not have, BackendIsNotSupposedToImplementIt for models with
        operators or types that are not supported.
        """
        given: Mapping[str, Any] = (
            cast(Mapping[str, Any], inputs) if isinstance(inputs, Mapping) else self._by_name(inputs)
        )
        if unknown := [name for name in given if name not in self._inputs]:
            raise InputError(f"the model has no input {unknown[0]!r}; its inputs are: {', '.join(self._inputs)}")
        trees = {name: conform(name, self._inputs[name], value) for name, value in given.items()}
        program = self._program(trees)
        tensors = {name: _for_chip(value) for name, value in _tensors(trees).items() if name not in self._fixed}
        result = program.network.run(tensors)
        self.cycles = result.cycles
        return tuple(
            assemble(info.name, program.outputs[info.name], result.outputs, _of_chip)
            for info in self.model.graph.output
        )

    def _by_name(self, inputs: Any) -> dict[str, Any]:
        kinds = (np.ndarray, list, tuple)
        check_argument("inputs", cast("object", inputs), kinds, "an array, a list of them, or a mapping by name")
        given: list[Any] = [inputs] if isinstance(inputs, np.ndarray) else list(inputs)
        if len(given) != len(self._inputs):
            raise InputError(f"{len(given)} inputs are given, the model has {len(self._inputs)}")
        return dict(zip(self._inputs, given, strict=True))

    def _program(self, given: Mapping[str, Any]) -> _Program:
        """The program for inputs of these signatures, and of these values where they are needed."""
        signatures = {name: signature_of(tree) for name, tree in given.items()}
        tensors = _tensors(given)
        while True:
            values = {name: tensors[name] for name in sorted(self._fixed & tensors.keys())}
            key = (
                tuple(sorted(signatures.items())),
                tuple((name, value.dtype.str, value.shape, value.tobytes()) for name, value in values.items()),
            )
            if key in self._programs:
                return self._programs[key]
            try:
                self._programs[key] = self._compile(signatures, values)
            except ValuesNeededError as error:
                self._fixed.update(error.inputs)
            except InputError as error:
                raise BackendIsNotSupposedToImplementIt(str(error)) from error

    def _compile(self, signatures: Mapping[str, Signature], values: Mapping[str, Array]) -> _Program:
        from meshloom.tools.api import compile as compile_model

        options: dict[str, Any] = self.options
        module, outputs = import_for(self.model, signatures, values)
        return _Program(cast("Any", compile_model)(module, chip=self.chip, **options), outputs)


@dataclass(frozen=True)
class _Program:
    network: Any
    outputs: Mapping[str, Signature]


def _tensors(given: Mapping[str, Any]) -> dict[str, Array]:
    """All arrays of the inputs by their names in a program."""
    return {name: value for input, tree in given.items() for name, value in leaves(input, tree)}


def _type_of(value: Any) -> onnx.TypeProto:
    """The type of an array, or of a list of arrays as a sequence."""
    items = cast("list[Any]", value) if isinstance(value, list) else []
    if items and all(isinstance(item, np.ndarray) for item in items):
        item = _type_of(items[0])
        item.tensor_type.ClearField("shape")
        return onnx.helper.make_sequence_type_proto(item)
    array: Array = np.asarray(cast(Any, value))
    strings = is_text(array.dtype)
    element = onnx.TensorProto.STRING if strings else onnx.helper.np_dtype_to_tensor_dtype(array.dtype)
    return onnx.helper.make_tensor_type_proto(element, array.shape)


class MeshloomBackend(Backend):
    """The class that ONNX's backend test suite takes."""

    @classmethod
    def supports_device(cls, device: str) -> bool:
        """Whether a device of ONNX's naming is there: the emulated chip counts as CPU."""
        return device.partition(":")[0] == "CPU"

    @classmethod
    def prepare(cls, model: onnx.ModelProto, device: str = "CPU", **kwargs: Any) -> CompiledModel:
        """A model ready to run on the emulated chip `chip` (default tiny)."""
        if not cls.supports_device(device):
            raise MeshloomError(f"device {device!r} is not supported; use CPU")
        return CompiledModel(model, **kwargs)

    @classmethod
    def run_model(cls, model: onnx.ModelProto, inputs: Any, device: str = "CPU", **kwargs: Any) -> tuple[Array, ...]:
        """Compile a model and run it once."""
        return cls.prepare(model, device, **kwargs).run(inputs)

    @classmethod
    def run_node(
        cls, node: onnx.NodeProto, inputs: Any, device: str = "CPU", outputs_info: Any = None, **kwargs: Any
    ) -> tuple[Array, ...]:
        """Run a single node; the types of its outputs are inferred."""
        given = list(inputs)
        names = [name for name in node.input if name]
        infos = [onnx.helper.make_value_info(name, _type_of(value)) for name, value in zip(names, given, strict=True)]
        outputs = [onnx.helper.make_empty_tensor_value_info(name) for name in node.output if name]
        graph = onnx.helper.make_graph([node], "node", infos, outputs)
        opset = int(kwargs.pop("opset_version", onnx.defs.onnx_opset_version()))
        model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid(node.domain, opset)])
        return cls.run_model(model, given, device, **kwargs)


prepare = MeshloomBackend.prepare
run_model = MeshloomBackend.run_model
run_node = MeshloomBackend.run_node
supports_device = MeshloomBackend.supports_device
