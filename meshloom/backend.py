"""
Meshloom as an ONNX backend: `prepare`, `run_model`, `run_node`, as ONNX's own test suite drives them.

Programs are static, so a model is compiled when its inputs are known: `run` compiles for their shapes (once each) and,
where an operator needs the value of an input (the axes of a reduction given as an input), for these values too.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx.backend.base import Backend, BackendRep
from onnx.backend.test.runner import BackendIsNotSupposedToImplementIt

from meshloom.frontend.onnx_import import ValuesNeededError, import_onnx
from meshloom.frontend.tensors import BFLOAT16, HELD_IN
from meshloom.support.errors import InputError, MeshloomError

Array = NDArray[Any]


def _as_declared(array: Array, info: onnx.ValueInfoProto) -> Array:
    """The array in the declared type: the emulator gives bfloat16, and types that no chip has, as what holds them."""
    dtype = np.dtype(onnx.helper.tensor_dtype_to_np_dtype(info.type.tensor_type.elem_type))
    return array.astype(dtype) if dtype == BFLOAT16 or dtype in HELD_IN else array


def _as_held(array: Array) -> Array:
    """An input as the chip holds it."""
    return array.astype(HELD_IN.get(array.dtype, array.dtype), copy=False)


class CompiledModel(BackendRep):
    """A model, compiled anew for each combination of input shapes that it is run with."""

    def __init__(self, model: onnx.ModelProto, chip: str = "tiny", **options: Any):
        self.model = model
        self.chip = chip
        self.options = options
        self.cycles = 0
        """Cycles of the last run."""
        initialised = {tensor.name for tensor in model.graph.initializer}
        inputs = [info for info in model.graph.input if info.name not in initialised]
        for info in inputs:
            if (kind := info.type.WhichOneof("value")) != "tensor_type":
                raise BackendIsNotSupposedToImplementIt(f"input {info.name!r} is not a tensor ({kind})")
        self._inputs = [info.name for info in inputs]
        self._programs: dict[Any, Any] = {}
        self._fixed: set[str] = set()

    def run(self, inputs: Any, **kwargs: Any) -> tuple[Array, ...]:
        """
        The outputs for these inputs: a sequence in the model's order, or a mapping by name.

        Raises BackendIsNotSupposedToImplementIt for models with operators or types that are not supported.
        """
        given: dict[str, Array] = (
            {name: np.asarray(value) for name, value in cast(Mapping[str, Any], inputs).items()}
            if isinstance(inputs, Mapping)
            else dict(zip(self._inputs, map(np.asarray, self._as_sequence(inputs)), strict=True))
        )
        program = self._program(given)
        result = program.run({name: _as_held(value) for name, value in given.items() if name not in self._fixed})
        self.cycles = result.cycles
        return tuple(_as_declared(result.outputs[info.name], info) for info in self.model.graph.output)

    @staticmethod
    def _as_sequence(inputs: Any) -> Sequence[Any]:
        return [inputs] if isinstance(inputs, np.ndarray) else list(inputs)

    def _program(self, given: Mapping[str, Array]) -> Any:
        """The program for inputs of these shapes, and of these values where they are needed."""
        while True:
            shapes = {name: value.shape for name, value in given.items() if name not in self._fixed}
            values = {name: given[name] for name in sorted(self._fixed)}
            key = (
                tuple(sorted(shapes.items())),
                tuple((name, value.dtype.str, value.shape, value.tobytes()) for name, value in values.items()),
            )
            if key in self._programs:
                return self._programs[key]
            try:
                self._programs[key] = self._compile(shapes, values)
            except ValuesNeededError as error:
                self._fixed.update(error.inputs)
            except InputError as error:
                raise BackendIsNotSupposedToImplementIt(str(error)) from error

    def _compile(self, shapes: Mapping[str, tuple[int, ...]], values: Mapping[str, Array]) -> Any:
        from meshloom.tools.api import compile as compile_model

        options: dict[str, Any] = self.options
        return cast("Any", compile_model)(import_onnx(self.model, shapes, values), chip=self.chip, **options)


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
        arrays = [np.asarray(value) for value in inputs]
        names = [name for name in node.input if name]
        infos = [
            onnx.helper.make_tensor_value_info(name, onnx.helper.np_dtype_to_tensor_dtype(value.dtype), value.shape)
            for name, value in zip(names, arrays, strict=True)
        ]
        outputs = [onnx.helper.make_empty_tensor_value_info(name) for name in node.output if name]
        graph = onnx.helper.make_graph([node], "node", infos, outputs)
        opset = int(kwargs.pop("opset_version", onnx.defs.onnx_opset_version()))
        model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid(node.domain, opset)])
        return cls.run_model(model, arrays, device, **kwargs)


prepare = MeshloomBackend.prepare
run_model = MeshloomBackend.run_model
run_node = MeshloomBackend.run_node
supports_device = MeshloomBackend.supports_device
