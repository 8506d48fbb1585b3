"""The options that are tested together, and networks compiled and run with several of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, TypeAlias, cast

import networks
import numpy as np
from meshloom.emulator.executable.executable import Executable
from meshloom.lowering.offload.compile_launches import Budget
from meshloom.lowering.offload.save_memory import Saving
from meshloom.lowering.options.subgraph_options import SubgraphOptions, parse_subgraphs
from meshloom.tools import api
from meshloom.tools.api import CompiledNetwork
from meshloom.tools.chips_api import CompiledPipeline
from meshloom.tools.compile import main
from meshloom.tools.oracle import RELATIVE
from networks import Network

import meshloom

CHIP = Path(__file__).parents[3] / "chips" / "tiny.toml"
SHARE = 0.96
"""The budget, as a share of the bytes that a network needs."""
RULE = "key-nodes,at-least=2"
GROUPS = "grouped,max-tasks=4"
COMPRESSED = 2.0**-8
"""f16 has 11 bits of precision; the error of a tensor may grow in values that are computed from it."""


@dataclass(frozen=True)
class Option:
    """An option: its arguments on the command line and in Python, and changes of the chip's description."""

    arguments: tuple[str, ...] = ()
    in_python: dict[str, Any] = field(default_factory=dict[str, Any])
    chip: dict[str, int] = field(default_factory=dict[str, int])
    little_dram: bool = False
    """Whether the chip has only the share `SHARE_THERE` of the DRAM that the network needs."""


SHARE_THERE = 0.8
OPTIONS: dict[str, Option] = {
    "sparse": Option(("--sparse",), {"sparse": True}),
    "calibrate": Option(("--sparse", "--calibrate", "random")),
    "budget": Option(("--budget", str(SHARE)), {"budget": SHARE}),
    "compress": Option(
        ("--budget", str(SHARE), "--save", "compress"), {"budget": Budget(SHARE, Saving(frozenset({"compress"})))}
    ),
    "subgraphs": Option(("--subgraphs", RULE), {"rule": parse_subgraphs(RULE)[0]}),
    "fuse": Option(("--fuse", GROUPS), {"fuse": GROUPS}),
    "chips": Option(("--chips", "2"), {"chips": 2}),
    "order": Option(("--order", "anneal"), {"order": "anneal"}),
    "placement": Option(("--placement", "literal"), {"placement": "literal"}),
    "placements": Option(("--effort", "high"), {"effort": "high"}),
    "little-sram": Option(chip={"sram_bytes": 16384}),
    "little-dram": Option(little_dram=True),
}
NETWORKS = {
    "perceptron": networks.perceptron,
    "convolutions": networks.convolutions,
    "step": networks.training_step,
    "recurrent": networks.recurrent,
}
DRAM_BYTES = {"perceptron": 147456, "convolutions": 54848, "step": 78080, "recurrent": 40448}
"""Bytes of DRAM that each network needs on `tiny` as one launch."""
Compiled: TypeAlias = CompiledNetwork | CompiledPipeline


@cache
def network_named(name: str) -> Network:
    """A network by name; made once, because its results do not change."""
    return NETWORKS[name]()


@dataclass(frozen=True)
class Case:
    """A network in a folder, and the options with which it is compiled."""

    network: Network
    model: Path
    chip: Path
    options: tuple[Option, ...]

    @property
    def arguments(self) -> list[str]:
        """The arguments of the command line."""
        found: list[str] = ["--chip", str(self.chip)]
        given: set[str] = set()
        for option in self.options:
            values = iter(option.arguments)
            for name in values:
                value = [] if name == "--sparse" else [next(values)]
                found += [] if name in given else [name, *value]
                given.add(name)
        return found

    def compiled(self) -> Compiled:
        """The network compiled by the command line, which must succeed."""
        out = self.model.with_suffix(".mlx")
        assert main([str(self.model), "-o", str(out), "--jobs", "1", *self.arguments]) == 0
        return meshloom.load(out)

    def compiled_in_python(self) -> Compiled:
        """The network compiled by the Python API."""
        given: dict[str, Any] = {}
        for option in reversed(self.options):
            given |= option.in_python
        subgraphs = SubgraphOptions(given.pop("rule", None), fuse=given.pop("fuse", "auto"))
        compiler = cast("Callable[..., Compiled]", api.compile)
        return compiler(self.model, str(self.chip), subgraphs=subgraphs, **given)


def case_of(name: str, given: Sequence[str], folder: Path) -> Case:
    """A network with named options, written to a folder. Of two values of the same option, the first is used."""
    network = network_named(name)
    options = tuple(OPTIONS[one] for one in given)
    entries = {key: value for one in options for key, value in one.chip.items()}
    if any(one.little_dram for one in options):
        entries["dram_bytes"] = int(DRAM_BYTES[name] * SHARE_THERE)
    lines = CHIP.read_text().splitlines()
    keys = [line.partition(" ")[0] for line in lines]
    text = [f"{key} = {entries[key]}" if key in entries else line for key, line in zip(keys, lines, strict=True)]
    model, chip = folder / network.file, folder / "chip.toml"
    chip.write_text("\n".join(text))
    network.write(model)
    return Case(network, model, chip, options)


def executables(compiled: Compiled) -> list[Executable]:
    """The executables, one for each chip."""
    return [compiled.executable] if isinstance(compiled, CompiledNetwork) else list(compiled.pipeline.chips)


def check_results(compiled: Compiled, network: Network, compressed: bool) -> None:
    """Run the network, and compare its results with the expected ones; compression allows for rounding."""
    found = compiled.run(network.inputs, check=True).outputs
    relative = COMPRESSED if compressed else RELATIVE
    for name, expected in network.expected.items():
        allowed = relative * float(np.abs(expected).max())
        np.testing.assert_allclose(found[name], expected, rtol=0, atol=allowed, err_msg=name)
