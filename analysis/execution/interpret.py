"""Runs `@main` of a module of any level that has an interpreter, on inputs that are generated from a seed."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, cast

import numpy as np
from numpy.typing import NDArray
from xdsl.dialects.builtin import ModuleOp, TensorType, bf16
from xdsl.ir import Attribute

from ...dialects import added
from ...dialects.coreasm.block_text import text_of
from ...dialects.coreasm.executable_ops import NoteOp
from ...dialects.coreasm.interpreter import run_module, tensor_types
from ...dialects.coreasm.is_executable import is_executable
from ...dialects.dataflow.constants import narrow_bf16, numpy_type, widen_bf16
from ...dialects.dataflow.entry_function import argument_names, find_main, result_names
from ...dialects.dataflow.interpreter import Watch, check_input, interpret_function
from ...dialects.dataflow.types import ELEMENT_TYPES, tensor
from ...dialects.manycore.execute_interpreter import ExecuteFunctions, OnResult
from ...dialects.manycore.interpreter import ManycoreFunctions
from ...dialects.manycore.stage_interpreter import StageFunctions
from ...dialects.memory import BufferType
from ...dialects.memory.interpreter import MemoryFunctions
from ...dialects.memory.stash_interpreter import StashFunctions
from ...dialects.module_notes import notes_of
from ...dialects.sparse.interpreter import SparseFunctions
from ...dialects.sparse.types import index_of
from ...dialects.sparse.values import as_array, as_encoded, fibers_of
from ...formats.sparse.encode import Encoded
from ...formats.sparse.encoded_interface import ENCODED, EncodedInterface, EncodedTensor, read_interface
from ...support.errors import InputError

Array: TypeAlias = NDArray[Any]
Fill = Literal["random", "iota"]


def _normal(shape: tuple[int, ...], generator: np.random.Generator) -> NDArray[np.float64]:
    return generator.standard_normal(shape)


@dataclass(frozen=True)
class InputDraw:
    """The distribution of random values."""

    floats: Callable[[tuple[int, ...], np.random.Generator], NDArray[np.float64]] = _normal
    """Draws numbers of a shape."""
    integers: tuple[int, int] = (0, 8)
    """The half-open range that integers come from."""


def make_inputs(module: ModuleOp, seed: int = 0, fill: Fill = "random") -> dict[str, Array]:
    """
    Values for the arguments of `@main` (or for an executable's inputs), by name and in storage form.

    `random` draws floats from the normal distribution and integers from 0 to 7; `iota` counts -3, -2 ... 3, -3 ...
    (0 ... 3, 0 ... for integers). Raises InputError for arguments that are not tensors or buffers.
    """
    return draw_inputs(module, seed, InputDraw() if fill == "random" else None)


def draw_inputs(module: ModuleOp, seed: int, draw: InputDraw | None) -> dict[str, Array]:
    """As `make_inputs`, drawn by `draw`; None: counted as by `iota`. Raises InputError as `make_inputs` does."""
    generator = np.random.default_rng(seed)
    inputs: dict[str, Array] = {}
    for name, type in _argument_types(module).items():
        if not isinstance(type, TensorType | BufferType):
            raise InputError(f"argument '{name}' of @main has type {type}: cannot make values for it")
        element = cast(Attribute, type.element_type)
        inputs[name] = _values(tuple(type.get_shape()), element, generator, draw)
    return inputs


def _argument_types(module: ModuleOp) -> dict[str, Attribute]:
    """
    Types of the inputs of `run_main`: those that are bytes of encoded tensors in the module have the encoded type.
    """
    types = _types_in_memory(module)
    return types | _dense_types(interface_of(module).inputs)


def interface_of(module: ModuleOp) -> EncodedInterface:
    """
    The encoded inputs and results that are bytes in a module, from the module's notes. Raises InputError if these are
    invalid.
    """
    if is_executable(module):
        notes = {text_of(op.key): text_of(op.value) for op in module.ops if isinstance(op, NoteOp)}
        return read_interface(notes.get(ENCODED))
    return read_interface(notes_of(module).get(ENCODED))


def _dense_types(tensors: Mapping[str, EncodedTensor]) -> dict[str, Attribute]:
    return {name: tensor(ELEMENT_TYPES[one.code], one.shape) for name, one in tensors.items()}


def _types_in_memory(module: ModuleOp) -> dict[str, Attribute]:
    if is_executable(module):
        return tensor_types(module, "input")
    main = find_main(module)
    return dict(zip(argument_names(main), (argument.type for argument in main.body.block.args), strict=True))


def _values(
    shape: tuple[int, ...], element: Attribute, generator: np.random.Generator, draw: InputDraw | None
) -> Array:
    storage = numpy_type(element)
    floating = element == bf16 or storage.kind == "f"
    if draw is None:
        counted = np.arange(int(np.prod(shape))).reshape(shape)
        values = counted % 7 - 3 if floating else counted % 4
    elif floating:
        values = draw.floats(shape, generator)
    else:
        values = generator.integers(*draw.integers, size=shape)
    if element == bf16:
        return narrow_bf16(np.asarray(values, np.float32))
    return np.asarray(values != 0 if storage.kind == "b" else values).astype(storage)


def run_main(
    module: ModuleOp, inputs: Mapping[str, Array], watch: Watch | None = None, on_result: OnResult | None = None
) -> dict[str, Array]:
    """
    The results of `@main` by name, in storage form (encoded ones decoded); the inputs are not modified. `watch` is
    called with each operation and its operands, `on_result` with the result of each task of a launch. A module at the
    level of instructions runs in the emulator.

    Raises MeshloomError for errors of the operations, and xDSL's InterpretationError if one has no implementation.
    """
    interface = interface_of(module)
    if not interface:
        return run_in_memory(module, inputs, watch, on_result)
    types = {name: type for name, type in _types_in_memory(module).items() if name in interface.inputs}
    shapes = {name: tuple(cast("TensorType[Attribute] | BufferType", type).get_shape()) for name, type in types.items()}
    found = run_in_memory(module, interface.pack(inputs, shapes), watch, on_result)
    return found | {name: as_array(value) for name, value in interface.unpack(found).items()}


def run_in_memory(
    module: ModuleOp, inputs: Mapping[str, Any], watch: Watch | None = None, on_result: OnResult | None = None
) -> dict[str, Array]:
    """As `run_main`, for values in their representation in memory: encoded ones are bytes."""
    if is_executable(module):
        return run_module(module, list(inputs.values()))
    functions = [
        *(ManycoreFunctions(), ExecuteFunctions(on_result), StageFunctions(_run_stage)),
        *(MemoryFunctions(), StashFunctions(), SparseFunctions()),
        *added.FUNCTIONS,
    ]
    return {
        name: as_array(value) for name, value in interpret_function(module, inputs, functions, watch, _take).items()
    }


def _take(name: str, value: Any, type: Attribute) -> Any:
    """A value for the interpreter, encoded if the argument is. Raises InputError for a value that does not match."""
    index = index_of(type)
    if not isinstance(value, Encoded):
        array = check_input(name, value, type)
        return array.copy() if index is None else as_encoded(array, cast("TensorType[Attribute]", type))
    fibers = None if index is None else fibers_of(cast("TensorType[Attribute]", type), index)
    if index is None or (value.format, value.fibers) != (index.format, fibers):
        raise InputError(f"input '{name}' is encoded with a {value.format} index: expected {type}")
    return value


def _run_stage(module: ModuleOp, inputs: Sequence[Array]) -> list[Array]:
    return list(run_in_memory(module, dict(zip(_types_in_memory(module), inputs, strict=True))).values())


def result_types(module: ModuleOp) -> dict[str, Attribute]:
    """Types of the results of `@main` (or of an executable's outputs), by name, as `run_main` gives them."""
    if is_executable(module):
        types = tensor_types(module, "output")
    else:
        main = find_main(module)
        types = dict(zip(result_names(main), main.function_type.outputs, strict=True))
    return types | _dense_types(interface_of(module).outputs)


def numbers(array: Array, type: Attribute) -> Array:
    """The values that an array in storage form represents (bf16 as f32)."""
    if isinstance(type, TensorType | BufferType) and cast(Attribute, type.element_type) == bf16:
        return widen_bf16(array)
    return array
