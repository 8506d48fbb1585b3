"""
Fibers: the arrangement of a tensor's elements in rows, each with its own index (spec 5, connection data).

One dimension of a weight tensor is that of output neurons, the others are those of inputs. In order `output` there is a
fiber for each output neuron, over all its inputs; in order `input` there is one for each input, over all output
neurons. For activations, `axis` is the dimension of samples, in order `output`: each sample is a fiber of its neurons.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from .bits import Array
from .index_formats import Order


@dataclass(frozen=True)
class Fibers:
    """The arrangement of a tensor of this shape in fibers; `axis` is the dimension of output neurons."""

    shape: tuple[int, ...]
    order: Order = Order.OUTPUT
    axis: int = 0

    def __post_init__(self) -> None:
        if not 0 <= self.axis < len(self.shape):
            raise ValueError(f"axis {self.axis}: expected one of the {len(self.shape)} dimensions of {self.shape}")

    @property
    def outputs(self) -> int:
        """Number of output neurons."""
        return self.shape[self.axis]

    @property
    def inputs(self) -> int:
        """Number of inputs of each output neuron."""
        return math.prod(self.shape[: self.axis] + self.shape[self.axis + 1 :])

    @property
    def count(self) -> int:
        """Number of fibers."""
        return self.outputs if self.order == Order.OUTPUT else self.inputs

    @property
    def length(self) -> int:
        """Elements of a fiber."""
        return self.inputs if self.order == Order.OUTPUT else self.outputs

    def matrix(self, tensor: Array) -> Array:
        """The elements as [count, length], one fiber per row."""
        rows = np.moveaxis(tensor, self.axis, 0).reshape(self.outputs, self.inputs)
        return rows if self.order == Order.OUTPUT else rows.T

    def tensor(self, matrix: Array) -> Array:
        """The inverse of `matrix`."""
        rows = matrix if self.order == Order.OUTPUT else matrix.T
        others = self.shape[: self.axis] + self.shape[self.axis + 1 :]
        return np.ascontiguousarray(np.moveaxis(rows.reshape(self.outputs, *others), 0, self.axis))
