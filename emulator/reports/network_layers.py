"""The layers of a network before transforms by the compiler, and the note that records them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import astuple, dataclass

NOTE = "layers"
"""Key of the note in modules and executables; its text is the result of `layers_as_json`."""


@dataclass(frozen=True)
class NetworkLayer:
    """A matrix product with the vector operations that follow it; the first layer may have no product."""

    product: tuple[int, int, int, int]
    """Batch, M, K, N; zeros if there is no product."""
    rate: int
    """Number of elements that are multiplied at the cost of one f32 element."""
    vector_ops: int
    """Element operations of vector units in all steps, in f32-equivalents."""
    loaded_bytes: int
    """Bytes of constants and of the network's inputs of which the layer is the first reader."""
    stored_bytes: int
    """Bytes of its results that are outputs of the network."""
    held_bytes: int
    """Bytes of the values of its product, or of its largest operation, that are neither constants nor inputs."""
    runs: int = 1
    """How often the product is computed: the number of steps of the loops around it."""


def layers_as_json(layers: Sequence[NetworkLayer]) -> str:
    """Layers as a list of lists, in the order of the fields."""
    return json.dumps([astuple(layer) for layer in layers], separators=(",", ":"))


def layers_from_json(text: str) -> list[NetworkLayer]:
    """The inverse of `layers_as_json`. Raises ValueError for other text."""
    try:
        return [_layer(entry) for entry in json.loads(text)]
    except (TypeError, RecursionError) as error:
        raise ValueError(str(error)) from error


def _layer(entry: Sequence[object]) -> NetworkLayer:
    match entry:
        case [
            [int(b), int(m), int(k), int(n)],
            int(rate), int(ops), int(loaded), int(stored), int(held), int(runs),
        ] if min(b, m, k, n, ops, loaded, stored, held) >= 0 and min(rate, runs) >= 1:  # fmt: skip
            return NetworkLayer((b, m, k, n), rate, ops, loaded, stored, held, runs)
        case _:
            raise ValueError(f"not a layer: {str(entry)[:80]}")
