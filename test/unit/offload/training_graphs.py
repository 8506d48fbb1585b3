"""Small random graphs of the shape of training steps: forward operations, then gradients that read their results."""

from __future__ import annotations

import random
from typing import Any

from meshloom.analysis.cost_graphs.graph import CostGraph
from meshloom.analysis.cost_graphs.read import parse_cost_graph


def training_graph(seed: int, most: int = 12) -> CostGraph:
    """Up to `most` forward operations with skip connections and one or two results, some empty; and their gradients."""
    chance = random.Random(seed)
    tensors: list[dict[str, Any]] = [{"id": 0, "kind": "input", "size": 64}]
    ops: list[dict[str, Any]] = []

    def result(kind: str) -> int:
        tensors.append({"id": len(tensors), "kind": kind, "size": chance.choice([0, 1, 7, 64, 100, 256, 1000])})
        return len(tensors) - 1

    def op(ins: list[int], outs: list[int]) -> None:
        duration = chance.choice([0, 1, 10, 50, 200])
        one = {"id": len(ops), "name": f"op{len(ops)}", "unit": chance.choice(["MPU", "VPU"]), "dur_ns": duration}
        ops.append({**one, "ins": ins, "outs": outs})

    made, layers = [0], list[list[int]]()
    for _ in range(chance.randint(1, most)):
        ins = list(dict.fromkeys([made[-1], *chance.sample(made, chance.randint(0, min(2, len(made))))]))
        outs = [result("act") for _ in range(chance.choice([1, 1, 1, 2]))]
        op(ins, outs)
        made += outs
        layers.append([*ins, *outs])
    gradient = made[-1]
    for layer in reversed(layers):
        if chance.random() < 0.9:
            out = result("grad")
            op(list(dict.fromkeys([gradient, *chance.sample(layer, chance.randint(1, len(layer)))])), [out])
            gradient = out
    return parse_cost_graph({"tensors": tensors, "ops": ops})


def chain_graph(layers: int, size: int = 100, duration: int = 100) -> CostGraph:
    """A chain of layers; gradient i reads the result of layer i."""
    tensors = [{"id": number, "kind": "act", "size": size} for number in range(2 * layers)]
    ops = [{"ins": [number - 1] if number else [], "outs": [number]} for number in range(layers)]
    ops += [{"ins": [layers + i - 1, layers - 1 - i], "outs": [layers + i]} for i in range(layers)]
    return parse_cost_graph(
        {"tensors": tensors, "ops": [{"id": i, "unit": "MPU", "dur_ns": duration, **one} for i, one in enumerate(ops)]}
    )
