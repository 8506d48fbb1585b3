"""Addresses in DRAM (and on the host): constants first, then inputs, outputs and values that pass through DRAM."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from xdsl.dialects.func import FuncOp
from xdsl.ir import SSAValue

from ..analysis.planning.plan_network import NetworkPlan, storage_root
from ..analysis.task_info import value_bytes
from ..chips import Chip
from ..dialects.dataflow import ConstantOp, WeightOp
from ..dialects.dataflow.interpreter import argument_names, result_names
from ..dialects.dataflow.types import dtype_code, shape_of
from ..emulator.executable import Role, TensorInfo
from ..support.errors import MeshloomError
from .constants import constant_bytes

ALIGNMENT = 64


@dataclass(frozen=True)
class DramLayout:
    """Where values lie in DRAM."""

    addresses: dict[SSAValue, int]
    """By storage root."""
    tensors: list[TensorInfo]
    weights: NDArray[np.uint8]
    """The bytes of all constants, loaded at address 0."""
    used: int


def lay_out_dram(function: FuncOp, network: NetworkPlan, chip: Chip) -> DramLayout:
    """
    Give every value that passes through DRAM a place of its own.

    Raises MeshloomError if DRAM is too small.
    """
    cursor = 0
    addresses: dict[SSAValue, int] = {}
    constants: list[tuple[int, NDArray[np.uint8]]] = []

    def reserve(value: SSAValue) -> int:
        nonlocal cursor
        address = cursor
        size = value_bytes(value) * int(np.prod(shape_of(value), dtype=np.int64))
        cursor += -(-max(size, 1) // ALIGNMENT) * ALIGNMENT
        return address

    for op in function.body.block.ops:
        if isinstance(op, ConstantOp | WeightOp) and op.results[0].first_use is not None:
            addresses[op.results[0]] = reserve(op.results[0])
            constants.append((addresses[op.results[0]], constant_bytes(op)))
    weights = np.zeros(cursor, np.uint8)
    for address, data in constants:
        weights[address : address + data.size] = data
    constants.clear()

    arguments = list(function.body.block.args)
    for value in arguments:
        addresses[value] = reserve(value)
    results = _results(function)
    for value in results:
        root = storage_root(value)
        if root not in addresses:
            addresses[root] = reserve(root)
    for info, plan in zip(network.tasks, network.plans, strict=True):
        if not plan.resident and info.result not in addresses:
            addresses[info.result] = reserve(info.result)
    if cursor > chip.dram_bytes:
        raise MeshloomError(
            f"the network needs {cursor} bytes of DRAM ({weights.size} for constants), chip '{chip.name}' has "
            f"{chip.dram_bytes}; choose a chip with more DRAM or a smaller input shape"
        )
    tensors = _tensor_table(function, arguments, results, addresses)
    return DramLayout(addresses, tensors, weights, cursor)


def _results(function: FuncOp) -> list[SSAValue]:
    last = function.body.block.last_op
    return list(last.operands) if last is not None else []


def _tensor_table(
    function: FuncOp, arguments: Sequence[SSAValue], results: Sequence[SSAValue], addresses: dict[SSAValue, int]
) -> list[TensorInfo]:
    host = 0
    table: list[TensorInfo] = []
    named: list[tuple[SSAValue, str, Role]] = [
        *((value, name, "input") for value, name in zip(arguments, argument_names(function), strict=True)),
        *((value, name, "output") for value, name in zip(results, result_names(function), strict=True)),
    ]
    for value, name, role in named:
        size = value_bytes(value) * int(np.prod(shape_of(value), dtype=np.int64))
        address = addresses[storage_root(value)]
        table.append(
            TensorInfo(
                name=name,
                role=role,
                dtype=dtype_code(value),
                shape=shape_of(value),
                dram_address=address,
                nbytes=size,
                host_address=host,
            )
        )
        host += -(-size // ALIGNMENT) * ALIGNMENT
    return table
