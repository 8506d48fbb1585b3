"""The builder for operands that may be strings, represented by their bytes; these can only be moved and compared."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from .builder import Builder
from .builder_values import Operand
from .strings import bytes_of, of_bytes
from .tensors import NodeError, Tensor, is_string


class StringBuilder(Builder):
    """All operations. Movement and comparison accept strings, also of different widths."""

    def bytes_of(self, x: Tensor, width: int = 0) -> Tensor:
        """The bytes of strings as a last dimension of at least `width` elements."""
        held = Tensor((*x.shape, x.dtype.itemsize), np.dtype(np.uint8), value=x.value)
        if x.array is not None:
            held = Tensor(held.shape, held.dtype, bytes_of(x.array))
        return self.pad(held, [0] * held.rank, [*[0] * x.rank, max(0, width - x.dtype.itemsize)])

    def reshape(self, x: Tensor, shape: Sequence[int]) -> Tensor:
        """As for numbers."""
        if not is_string(x.dtype):
            return super().reshape(x, shape)
        return _strings(super().reshape(self.bytes_of(x), [*shape, x.dtype.itemsize]))

    def transpose(self, x: Tensor, permutation: Sequence[int]) -> Tensor:
        """As for numbers."""
        if not is_string(x.dtype):
            return super().transpose(x, permutation)
        return _strings(super().transpose(self.bytes_of(x), [*permutation, x.rank]))

    def slice(
        self, x: Tensor, starts: Sequence[int], sizes: Sequence[int], steps: Sequence[int] | None = None
    ) -> Tensor:
        """As for numbers."""
        if not is_string(x.dtype):
            return super().slice(x, starts, sizes, steps)
        steps = [1] * x.rank if steps is None else steps
        return _strings(super().slice(self.bytes_of(x), [*starts, 0], [*sizes, x.dtype.itemsize], [*steps, 1]))

    def concat(self, tensors: Sequence[Tensor], axis: int) -> Tensor:
        """As for numbers."""
        if not any(is_string(one.dtype) for one in tensors):
            return super().concat(tensors, axis)
        return _strings(super().concat(self._alike(*tensors), axis))

    def broadcast(self, x: Tensor, shape: Sequence[int]) -> Tensor:
        """As for numbers."""
        if not is_string(x.dtype):
            return super().broadcast(x, shape)
        return _strings(super().broadcast(self.bytes_of(x), [*shape, x.dtype.itemsize]))

    def gather(self, data: Tensor, indices: Tensor, axis: int) -> Tensor:
        """As for numbers."""
        if not is_string(data.dtype):
            return super().gather(data, indices, axis)
        return _strings(super().gather(self.bytes_of(data), indices, axis))

    def select(self, condition: Tensor, x: Operand, y: Operand) -> Tensor:
        """As for numbers."""
        if not (isinstance(x, Tensor) and isinstance(y, Tensor) and is_string(x.dtype)):
            return super().select(condition, x, y)
        each = self.reshape(condition, [*condition.shape, 1])
        return _strings(super().select(each, *self._alike(x, y)))

    def compare(self, predicate: str, x: Tensor, y: Operand) -> Tensor:
        """As for numbers; strings are equal where all of their bytes are."""
        if not (isinstance(y, Tensor) and is_string(x.dtype) and predicate == "eq"):
            return super().compare(predicate, x, y)
        differing = self.binary("xor", *self._alike(x, y))
        return super().compare("eq", self.reduce("max", differing, [differing.rank - 1], keepdims=False), 0)

    def _alike(self, *tensors: Tensor) -> list[Tensor]:
        """The bytes of tensors of strings, padded to the same width."""
        if not all(is_string(one.dtype) for one in tensors):
            raise NodeError("strings and numbers cannot be operands of one operator")
        width = max(one.dtype.itemsize for one in tensors)
        return [self.bytes_of(one, width) for one in tensors]


def _strings(held: Tensor) -> Tensor:
    """Strings from their bytes."""
    strings = Tensor(held.shape[:-1], np.dtype(f"S{held.shape[-1]}"), value=held.value)
    return strings if held.array is None else Tensor(strings.shape, strings.dtype, of_bytes(held.array))
