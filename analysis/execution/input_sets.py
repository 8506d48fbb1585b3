"""
Sets of inputs that reveal changes of a module's results: numbers for which its operations behave differently. Standard
normal values alone hardly reach a clamp at -3, and contain no ties of roundings and no zeros of either sign.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import cast

import numpy as np
from numpy.typing import NDArray
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, FloatAttr, ModuleOp, bf16
from xdsl.ir import Attribute

from ...dialects.dataflow import ConstantOp
from ...dialects.dataflow.constants import Dense, array_of
from .interpret import Array, InputDraw, draw_inputs

MOST_NUMBERS = 64
"""Largest number of values that are taken from a module; of a constant with many elements, the extremes are taken."""
WIDE = 8.0
"""Standard deviation of the numbers of a wider range."""
_PLAIN = (0.0, -0.0, 0.5, -0.5, 1.5, -1.5, 2.5, 1.0, -1.0, 2.0, -2.0)
"""Zeros of both signs, ties of roundings, and arguments at which functions change their behaviour."""


def input_sets(module: ModuleOp, seed: int, integers: tuple[int, int]) -> Iterator[dict[str, Array]]:
    """
    Inputs of `@main` by name, one set after another: standard normal numbers; a mixture of these, numbers of a wider
    range, and the constants of the module with their neighbours; and one positive and one negative number for all
    elements of an argument, so that a maximum over many elements also takes these values. Integers come from the
    half-open range `integers`.

    Raises InputError as `make_inputs` does.
    """
    yield draw_inputs(module, seed, InputDraw(integers=integers))
    special = np.array([*_PLAIN, *_around(numbers_of(module))])

    def floats(shape: tuple[int, ...], generator: np.random.Generator) -> NDArray[np.float64]:
        mixed = np.where(generator.random(shape) < 0.5, WIDE, 1.0) * generator.standard_normal(shape)
        return np.where(generator.random(shape) < 0.5, generator.choice(special, shape), mixed)

    yield draw_inputs(module, seed + 1, InputDraw(floats, integers))
    for sign in (1, -1):
        yield draw_inputs(module, seed + 2, InputDraw(partial(_uniform, sign), integers))


def _uniform(sign: int, shape: tuple[int, ...], generator: np.random.Generator) -> NDArray[np.float64]:
    return np.full(shape, sign * WIDE * abs(generator.standard_normal()))


def numbers_of(module: ModuleOp) -> list[float]:
    """Finite numbers in the constants and attributes of a module's operations, in ascending order."""
    found: set[float] = set()
    for op in module.walk():
        for attribute in (*op.properties.values(), *op.attributes.values()):
            found.update(_numbers_in(attribute, isinstance(op, ConstantOp)))
    finite = sorted(number for number in found if np.isfinite(number))
    step = -(-len(finite) // MOST_NUMBERS) or 1
    return finite[::step]


def _numbers_in(attribute: Attribute, constant: bool) -> Sequence[float]:
    if isinstance(attribute, FloatAttr):
        return (attribute.value.data,)
    if not constant or not isinstance(attribute, DenseIntOrFPElementsAttr):
        return ()
    dense = cast(Dense, attribute)
    values = array_of(dense)
    if dense.get_element_type() == bf16 or not values.size or values.dtype.kind not in "fiu":
        return ()
    few = values.size <= MOST_NUMBERS
    return [float(value) for value in (values.reshape(-1) if few else (values.min(), values.max()))]


def _around(numbers: Sequence[float]) -> Iterator[float]:
    """Each number, its neighbours in f32, and some more distant numbers."""
    for number in numbers:
        near = np.float32(number)
        with np.errstate(over="ignore"):
            yield from (float(near), float(np.nextafter(near, np.float32(np.inf))))
            yield from (float(np.nextafter(near, np.float32(-np.inf))), number - 1, number + 1, -number)
