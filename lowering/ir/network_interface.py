"""The inputs and outputs of a network by name, at any level of its module."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Attribute

from ...dialects.coreasm.interpreter import outputs_in_dram, tensor_types
from ...dialects.coreasm.is_executable import is_executable
from ...dialects.dataflow.entry_function import argument_names, find_main, result_names
from ...dialects.dataflow.types import tensor
from ...dialects.memory import BufferType, Space
from .residence_attribute import spaces_of_results


@dataclass(frozen=True)
class NetworkInterface:
    """Tensor types of inputs and outputs by name, in order, independent of their types in the module."""

    inputs: dict[str, Attribute]
    outputs: dict[str, Attribute]
    stays: frozenset[str] = frozenset()
    """Outputs that stay in DRAM, from which another chip copies them."""


def network_interface(module: ModuleOp) -> NetworkInterface:
    """The interface of a module. Raises InputError if it has no `@main` and is no executable."""
    if is_executable(module):
        inputs, outputs = tensor_types(module, "input"), tensor_types(module, "output")
        return NetworkInterface(inputs, outputs, outputs_in_dram(module))
    main = find_main(module)
    type, names = main.function_type, result_names(main)
    stays = frozenset(
        name
        for name, one, space in zip(names, type.outputs, spaces_of_results(main), strict=True)
        if (one.space if isinstance(one, BufferType) else space) is Space.DRAM
    )
    return NetworkInterface(_tensors(argument_names(main), type.inputs), _tensors(names, type.outputs), stays)


def _tensors(names: Iterable[str], types: Iterable[Attribute]) -> dict[str, Attribute]:
    shown = (tensor(one.element_type, one.shape) if isinstance(one, BufferType) else one for one in types)
    return dict(zip(names, shown, strict=True))
