"""
The interpreter of the `coreasm` dialect: the emulator, on the executable that a module describes.

Values are in storage form, as in `@main` (bf16 as bits); tensors have their names in the executable.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeAlias

from numpy.typing import NDArray
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Attribute

from ...support.errors import MeshloomError
from ..dataflow.constants import narrow_bf16, widen_bf16
from ..dataflow.types import ELEMENT_TYPES, tensor
from .block_text import location_of, text_of
from .encoding import TENSOR_TYPES, TypeCode
from .executable_ops import TensorOp
from .packed import ProgramOp

if TYPE_CHECKING:
    from ...emulator.executable.executable import Executable, TensorInfo
    from ...emulator.functional.engine import FunctionalResult

Array: TypeAlias = NDArray[Any]
_TYPES: dict[str, Attribute] = {t.name: element for t, element in zip(TENSOR_TYPES, ELEMENT_TYPES, strict=True)}


def tensor_types(module: ModuleOp, role: str) -> dict[str, Attribute]:
    """Types of the executable's inputs or outputs (`role`), by name, in the executable's order."""
    ops = [op for op in module.ops if isinstance(op, TensorOp) and op.role.data == role]
    return {text_of(op.tensor_name): tensor(_TYPES[op.type.data], op.shape.get_values()) for op in ops}


def outputs_in_dram(module: ModuleOp) -> frozenset[str]:
    """Names of the executable's outputs that stay in DRAM."""
    ops = [op for op in module.ops if isinstance(op, TensorOp) and op.role.data == "output" and op.host is None]
    return frozenset(text_of(op.tensor_name) for op in ops)


def run_executable(
    exe: Executable, inputs: Sequence[Array], check: bool = False
) -> tuple[list[Array], FunctionalResult]:
    """
    The outputs of an executable for inputs in the executable's order, all in storage form, and the emulator's full
    result.

    `check`: also detect races and reads of unwritten memory. Raises the emulator's errors.
    """
    from ...emulator.functional.engine import run_functional

    given = {info.name: from_storage(array, info) for info, array in zip(exe.inputs, inputs, strict=True)}
    result = run_functional(exe, given, check=check)
    return [to_storage(result.outputs[info.name], info) for info in exe.outputs], result


def from_storage(array: Array, info: TensorInfo) -> Array:
    """Values of a tensor in storage form, converted to what the emulator accepts: bf16 becomes f32."""
    return widen_bf16(array) if info.dtype == TypeCode.BF16 else array


def to_storage(array: Array, info: TensorInfo) -> Array:
    """The emulator's values of a tensor, converted to storage form."""
    return narrow_bf16(array) if info.dtype == TypeCode.BF16 else array


def run_module(module: ModuleOp, inputs: Sequence[Array]) -> dict[str, Array]:
    """
    The outputs by name, for inputs in the executable's order. Raises InputError for a module that is no valid
    executable, and MeshloomError, which names the line if it is known, for a program that violates a rule of the
    machine.
    """
    from ...lowering.coreasm_to_executable import coreasm_to_executable

    exe = coreasm_to_executable(module)
    with lines_named(module):
        outputs, _ = run_executable(exe, inputs)
    return {info.name: array for info, array in zip(exe.outputs, outputs, strict=True)}


@contextmanager
def lines_named(module: ModuleOp) -> Generator[None]:
    """Context manager: the emulator's errors name the line of the instruction, if the module was read from text."""
    from ...emulator.machine.errors import EmulationError

    try:
        yield
    except EmulationError as error:
        for op in module.ops:
            if error.word is not None and isinstance(op, ProgramOp) and op.sym_name.data == error.program:
                location = location_of(op, error.word)
                if location is not None:
                    raise MeshloomError(f"{location}: {error}") from error
        raise
