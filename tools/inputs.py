"""Checks of a network's inputs before a run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ..support.arguments import check_names
from ..support.errors import InputError
from ..support.sizes import shape_fits

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ..emulator.executable.encoded_interface import HostInterface
    from ..emulator.executable.executable import TensorInfo
    from ..formats.sparse.encoded_interface import EncodedInterface


def network_inputs(interface: HostInterface, inputs: Mapping[str, Any]) -> dict[str, Any]:
    """
    A network's inputs, checked: arrays of the right type and shape, or encoded tensors for encoded inputs.
    Raises InputError naming the input and what is expected.
    """
    return checked_inputs(interface.inputs, inputs, interface.encoded)


def checked_inputs(
    tensors: Sequence[TensorInfo], inputs: Mapping[str, Any], encoded: EncodedInterface | None = None
) -> dict[str, Any]:
    """
    A network's inputs as arrays of the right type and shape; `tensors`: what they are, `encoded`: which of them may be
    encoded. Raises InputError naming the input and what is expected.
    """
    check_names("inputs", inputs, "a mapping from the names of inputs to arrays")
    wanted = {tensor.name: tensor for tensor in tensors}
    for name in inputs:
        if name not in wanted:
            raise InputError(f"unknown input '{name}': the network's inputs are {', '.join(wanted) or 'none'}")
    arrays: dict[str, Any] = {}
    for name, tensor in wanted.items():
        if name not in inputs:
            raise InputError(f"input '{name}' is missing: give an array of shape {list(tensor.shape)}")
        arrays[name] = _checked_one(name, inputs[name], tensor, encoded)
    return arrays


def _checked_one(name: str, value: Any, tensor: TensorInfo, encoded: EncodedInterface | None) -> Any:
    from ..formats.sparse.encode import Encoded

    if not isinstance(value, Encoded):
        return _checked(name, value, tensor.shape, tensor.dtype)
    if encoded is None or name not in encoded.inputs:
        raise InputError(f"input '{name}' is encoded: the network takes it dense, of shape {list(tensor.shape)}")
    try:
        return encoded.inputs[name].encoded(value)
    except InputError as error:
        raise InputError(f"input '{name}': {error}") from error


def _checked(name: str, array: NDArray[Any], shape: tuple[int, ...], dtype: int) -> NDArray[Any]:
    import numpy as np

    from ..dialects.coreasm.encoding import TYPES

    try:
        array = np.asarray(array)
    except ValueError as error:
        raise InputError(f"input '{name}' is not an array: {error}") from error
    expected = TYPES[dtype]
    if not shape_fits(array.shape, shape):
        raise InputError(f"input '{name}' has shape {list(array.shape)}, expected {list(shape)}")
    if expected.name == "bf16" and array.dtype.name == "bfloat16":
        array = array.view(np.uint16)
    storage = np.dtype(np.bool_) if expected.name == "bool" else np.dtype(expected.storage)
    if array.dtype.newbyteorder("<") != storage.newbyteorder("<"):
        raise InputError(f"input '{name}' has type {array.dtype}, expected {expected.name}")
    return np.asarray(array, order="C")
