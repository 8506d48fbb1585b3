"""Canonical forms of slices, reshapes and transposes of random shapes have the results of numpy."""

from __future__ import annotations

import math

import numpy as np
import pytest
from meshloom.analysis.execution.interpret import run_main
from meshloom.dialects.dataflow import Dataflow, ReshapeOp, SliceOp, TransposeOp
from meshloom.dialects.dataflow.entry_function import main_function
from meshloom.dialects.dataflow.types import shape_of, tensor
from meshloom.transforms.canonicalize import CanonicalizePass
from numpy.typing import NDArray
from xdsl.builder import Builder
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, f32
from xdsl.ir import Block, SSAValue
from xdsl.rewriter import InsertPoint

Array = NDArray[np.float32]


def regrouped(shape: tuple[int, ...], rng: np.random.Generator) -> tuple[int, ...]:
    """A random shape with as many elements: the prime factors in the same order, in other groups, and ones."""
    factors: list[int] = []
    rest = math.prod(shape)
    while rest > 1:
        factor = next(number for number in range(2, rest + 1) if rest % number == 0)
        factors.append(factor)
        rest //= factor
    rng.shuffle(factors)
    found = [1]
    for factor in factors:
        if rng.integers(2):
            found.append(factor)
        else:
            found[-1] *= factor
    return tuple(found)


def moved(value: SSAValue, array: Array, build: Builder, rng: np.random.Generator) -> tuple[SSAValue, Array]:
    """The value after a random reshape, transpose or slice, and its elements by numpy."""
    shape = shape_of(value)
    match int(rng.integers(3)):
        case 0:
            wanted = regrouped(shape, rng)
            return build.insert(ReshapeOp(value, wanted)).result, array.reshape(wanted)
        case 1:
            order = [int(dim) for dim in rng.permutation(len(shape))]
            return build.insert(TransposeOp(value, order)).result, array.transpose(order)
        case _:
            picks: list[NDArray[np.int64]] = []
            for size in shape:
                step = int(rng.choice([1, 1, 1, 2, -1]))
                whole = np.arange(size)[::step]
                first = int(rng.integers(len(whole))) * int(rng.integers(2))
                picks.append(whole[first : int(rng.integers(first, len(whole))) + 1] if rng.integers(2) else whole)
            starts, sizes = [int(one[0]) for one in picks], [len(one) for one in picks]
            steps = [int(one[1] - one[0]) if len(one) > 1 else 1 for one in picks]
            return build.insert(SliceOp(value, starts, sizes, steps)).result, array[np.ix_(*picks)]


@pytest.mark.parametrize("seed", range(40))
def test_movements_of_random_shapes(seed: int) -> None:
    rng = np.random.default_rng(seed)
    context = Context()
    context.load_dialect(Dataflow)
    for _ in range(10):
        shape = tuple(int(size) for size in rng.choice([1, 2, 3, 4, 6, 8], rng.integers(1, 4)))
        array = rng.standard_normal(shape).astype(np.float32)
        entry = Block(arg_types=[tensor(f32, shape)])
        build = Builder(InsertPoint.at_end(entry))
        value, expected = entry.args[0], array
        for _ in range(rng.integers(2, 6)):
            value, expected = moved(value, expected, build, rng)
        module = ModuleOp([main_function(entry, [value], (["x"], ["y"]))])
        CanonicalizePass().apply(context, module)
        module.verify()
        np.testing.assert_array_equal(run_main(module, {"x": array})["y"], expected)
