"""The work of a network's loops, and the note that records it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

NOTE = "loops"
"""Key of the note in modules and executables; its text is the result of `layers_as_json`."""


@dataclass(frozen=True)
class VectorWork:
    """A vector operation of a step."""

    points: int
    """Number of element operations."""
    passes: int
    """Passes of each element operation."""
    rate: int
    """Number of elements that are processed at the cost of one f32 element."""
    after: tuple[int, ...]
    """Numbers of the operations of the same layer on whose results this one depends."""


@dataclass(frozen=True)
class RecurrentLayer:
    """
    Loops with equal numbers of steps that are independent of each other, such as the two directions of a layer.

    Only operations from the carried values of a step to those of the next step are counted: operations that read no
    carried value can be executed before the loop, and those on which no carried value depends, after it.
    """

    steps: int
    """Total number of steps; for nested loops, the product."""
    weight_bytes: int
    """Bytes of the weights of each step, the same in all steps."""
    carried_bytes: int
    """Bytes of the carried values that products read: all cores that compute one need the whole value."""
    operations: tuple[VectorWork, ...]
    """Vector operations in a topological order."""


def layers_as_json(layers: Sequence[RecurrentLayer]) -> str:
    """Layers as a list of `[steps, weight bytes, carried bytes, [[points, passes, rate, [after...]]...]]`."""
    found: list[list[object]] = []
    for one in layers:
        operations = [[op.points, op.passes, op.rate, list(op.after)] for op in one.operations]
        found.append([one.steps, one.weight_bytes, one.carried_bytes, operations])
    return json.dumps(found)


def layers_from_json(text: str) -> list[RecurrentLayer]:
    """The inverse of `layers_as_json`. Raises ValueError for other text."""
    try:
        return [_layer(entry) for entry in json.loads(text)]
    except (TypeError, RecursionError) as error:
        raise ValueError(str(error)) from error


def _layer(entry: tuple[int, int, int, list[tuple[int, int, int, list[int]]]]) -> RecurrentLayer:
    steps, weights, carried, operations = entry
    found: list[VectorWork] = []
    for number, (points, passes, rate, after) in enumerate(operations):
        work = VectorWork(int(points), int(passes), int(rate), tuple(int(one) for one in after))
        if work.points < 0 or work.passes < 0 or work.rate < 1 or any(not 0 <= one < number for one in work.after):
            raise ValueError(f"operation {number} of a layer is {work}")
        found.append(work)
    layer = RecurrentLayer(int(steps), int(weights), int(carried), tuple(found))
    if min(layer.steps, layer.weight_bytes, layer.carried_bytes) < 0:
        raise ValueError(f"a layer has {layer.steps} steps, {layer.weight_bytes} and {layer.carried_bytes} bytes")
    return layer
