"""What a network is run on, checked before it runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ..support.arguments import check_names
from ..support.errors import InputError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ..emulator.executable import TensorInfo


def checked_inputs(tensors: Sequence[TensorInfo], inputs: Mapping[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
    """
    A network's inputs as arrays of the right type and shape; `tensors`: what they are. Raises InputError naming the
    input and what is expected.
    """
    check_names("inputs", inputs, "a mapping from the names of inputs to arrays")
    wanted = {tensor.name: tensor for tensor in tensors}
    for name in inputs:
        if name not in wanted:
            raise InputError(f"unknown input '{name}': the network's inputs are {', '.join(wanted) or 'none'}")
    arrays: dict[str, NDArray[Any]] = {}
    for name, tensor in wanted.items():
        if name not in inputs:
            raise InputError(f"input '{name}' is missing: give an array of shape {list(tensor.shape)}")
        arrays[name] = _checked(name, inputs[name], tensor.shape, tensor.dtype)
    return arrays


def _checked(name: str, array: NDArray[Any], shape: tuple[int, ...], dtype: int) -> NDArray[Any]:
    import numpy as np

    from ..dialects.coreasm.encoding import TYPES

    try:
        array = np.asarray(array)
    except ValueError as error:
        raise InputError(f"input '{name}' is no array: {error}") from error
    expected = TYPES[dtype]
    if tuple(array.shape) != shape:
        raise InputError(f"input '{name}' has shape {list(array.shape)}, expected {list(shape)}")
    if expected.name == "bf16" and array.dtype.name == "bfloat16":
        array = array.view(np.uint16)
    storage = np.dtype(np.bool_) if expected.name == "bool" else np.dtype(expected.storage)
    if array.dtype.newbyteorder("<") != storage.newbyteorder("<"):
        raise InputError(f"input '{name}' has type {array.dtype}, expected {expected.name}")
    return np.asarray(array, order="C")
