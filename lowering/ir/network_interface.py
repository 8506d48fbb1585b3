"""The inputs and outputs of a network by name, at any level of its module."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Attribute

from ...dialects.coreasm.interpreter import is_executable, tensor_types
from ...dialects.dataflow.entry_function import argument_names, find_main, result_names
from ...dialects.dataflow.types import tensor
from ...dialects.memory import BufferType


@dataclass(frozen=True)
class NetworkInterface:
    """Tensor types of inputs and outputs by name, in order, whatever their types in the module."""

    inputs: dict[str, Attribute]
    outputs: dict[str, Attribute]


def network_interface(module: ModuleOp) -> NetworkInterface:
    """The interface of a module. Raises InputError if it has no `@main` and is no executable."""
    if is_executable(module):
        return NetworkInterface(tensor_types(module, "input"), tensor_types(module, "output"))
    main = find_main(module)
    type = main.function_type
    return NetworkInterface(_tensors(argument_names(main), type.inputs), _tensors(result_names(main), type.outputs))


def _tensors(names: Iterable[str], types: Iterable[Attribute]) -> dict[str, Attribute]:
    shown = (tensor(one.element_type, one.shape) if isinstance(one, BufferType) else one for one in types)
    return dict(zip(names, shown, strict=True))
