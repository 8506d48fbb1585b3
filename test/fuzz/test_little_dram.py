"""Tests of random networks on chips with less DRAM than they need: split, spilled and fused, results are the same."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from meshloom.chips import load_chip
from meshloom.dialects.dataflow.interpreter import interpret_function
from meshloom.emulator.functional.engine import run_functional
from meshloom.lowering.driver.compile_module import Compilation, SubgraphOptions, compile_module
from meshloom.lowering.options.subgraph_options import FUSIONS
from meshloom.support.errors import ResourceError

from meshloom.testing import RandomNetwork

SHARES = (0.5, 0.6, 0.7, 0.8, 0.9, 0.95)
IN_PARTS = (1, 3, 4, 5, 14, 16)
"""Seeds of networks that fit in several parts, one for each of six fusion strategies."""
QUICK = (1, 4, 16)


def compile_in(network: RandomNetwork, dram_bytes: int, fuse: str) -> Compilation | ResourceError:
    """The compiled network, or the error if a single operation needs more DRAM."""
    chip = replace(load_chip("tiny"), dram_bytes=dram_bytes)
    try:
        return compile_module(network.module, chip, options=SubgraphOptions(fuse=fuse))
    except ResourceError as error:
        return error


def check(seed: int) -> bool:
    """Compare results with the interpreter; whether the network was compiled as several subgraphs."""
    network = RandomNetwork(seed, operations=6 + seed % 14)
    x = network.input()
    expected = interpret_function(network.module, {"x": x})
    used = compile_module(network.module.clone(), load_chip("tiny")).executable.dram_bytes_used
    share = SHARES[seed % len(SHARES)]
    compilation = compile_in(network, int(used * share), list(FUSIONS)[seed % len(FUSIONS)])
    if isinstance(compilation, ResourceError):
        assert compilation.needed > compilation.available, str(compilation)
        return False
    outputs = run_functional(compilation.executable, {"x": x}, check=True).outputs
    for name, value in expected.items():
        np.testing.assert_allclose(
            outputs[name], value, rtol=0, atol=1e-4 * float(np.abs(value).max(initial=0)) + 1e-5, err_msg=f"seed {seed}"
        )
    return len(compilation.parts) > 1


@pytest.mark.parametrize(
    "seed", [seed if seed in QUICK else pytest.param(seed, marks=pytest.mark.slow) for seed in IN_PARTS]
)
def test_some_networks_in_little_dram(seed: int) -> None:
    assert check(seed)


@pytest.mark.slow
@pytest.mark.campaign(25, without=IN_PARTS)
def test_many_networks_in_little_dram(seed: int) -> None:
    check(seed)
