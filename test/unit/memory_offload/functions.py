"""Functions in textual IR for the tests, and a parser for them."""

from __future__ import annotations

import random

from meshloom.dialects.dataflow import Dataflow
from meshloom.dialects.manycore import Manycore
from meshloom.dialects.memory import Memory
from xdsl.context import Context
from xdsl.dialects.builtin import Builtin, ModuleOp
from xdsl.dialects.func import Func
from xdsl.parser import Parser


def parse(text: str) -> ModuleOp:
    """The verified module that a text describes."""
    context = Context()
    for dialect in (Builtin, Func, Dataflow, Memory, Manycore):
        context.load_dialect(dialect)
    module = Parser(context, text).parse_module()
    module.verify()
    return module


def perceptron(layers: int, batch: int, width: int) -> str:
    """Layers of a matrix product and tanh, whose weights are parameters to train."""
    data, weight = f"tensor<{batch}x{width}xf32>", f"tensor<{width}x{width}xf32>"
    arguments = ", ".join(f"%w{n}: {weight} {{dataflow.parameter}}" for n in range(layers))
    lines = [f"func.func @main(%y0: {data}, {arguments}) -> {data} {{"]
    for n in range(layers):
        lines.append(f"  %m{n} = dataflow.matmul %y{n}, %w{n} : ({data}, {weight}) -> {data}")
        lines.append(f"  %y{n + 1} = dataflow.tanh %m{n} : ({data}) -> {data}")
    return "\n".join([*lines, f"  func.return %y{layers} : {data}", "}"])


def random_function(seed: int, count: int) -> str:
    """Random operations on earlier results, among them reshapes and transposes; the last three are returned."""
    chance = random.Random(seed)
    values: list[tuple[str, tuple[int, int]]] = [("%x0", (8, 16)), ("%x1", (16, 8))]
    lines: list[str] = []

    def typed(shape: tuple[int, int]) -> str:
        return f"tensor<{shape[0]}x{shape[1]}xf32>"

    for number in range(count):
        name = f"%v{number}"
        source, shape = values[chance.randrange(max(0, len(values) - 12), len(values))]
        same = [value for value, other in values if other == shape]
        match chance.randrange(7):
            case 0:
                result = (shape[1], shape[0])
                text = f"dataflow.reshape {source} : ({typed(shape)}) -> {typed(result)}"
            case 1:
                result = (shape[1], shape[0])
                text = f"dataflow.transpose {source} [1, 0] : ({typed(shape)}) -> {typed(result)}"
            case 2:
                result = (shape[0], shape[1] * 2)
                text = (
                    f"dataflow.concat {source}, {source} axis 1 : ({typed(shape)}, {typed(shape)}) -> {typed(result)}"
                )
            case 3 | 4:
                result = shape
                text = (
                    f"dataflow.add {source}, {chance.choice(same)} : ({typed(shape)}, {typed(shape)}) -> {typed(shape)}"
                )
            case _:
                result = shape
                what = chance.choice(["neg", "abs", "relu", "tanh"])
                text = f"dataflow.{what} {source} : ({typed(shape)}) -> {typed(shape)}"
        lines.append(f"  {name} = {text}")
        values.append((name, result))
    results = values[-3:]
    names, types = ", ".join(name for name, _ in results), ", ".join(typed(shape) for _, shape in results)
    head = f"func.func @main(%x0: {typed((8, 16))}, %x1: {typed((16, 8))}) -> ({types}) {{"
    return "\n".join([head, *lines, f"  func.return {names} : {types}", "}"])
