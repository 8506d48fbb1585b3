"""Tests that bytes and cycles are equal in every process, independent of Python's hash seed."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from public_models import PUBLIC_MODELS

SCRIPT = """
import hashlib, json, sys
from meshloom.tools.api import compile
from public_models import PUBLIC_MODELS

model = PUBLIC_MODELS[sys.argv[1]]
network = compile(model.path, sys.argv[2], model.shapes, values=model.values)
network.save(sys.argv[3])
result = network.run(model.inputs(0))
outputs = {name: hashlib.sha256(value.tobytes()).hexdigest() for name, value in result.outputs.items()}
print(json.dumps({"cycles": result.cycles, "outputs": outputs, "stats": result.stats}, sort_keys=True))
"""


def compile_and_run(name: str, chip: str, hash_seed: str, path: Path) -> str:
    """Compile and run in a new process, which writes the executable to `path`; cycles, statistics and outputs."""
    bench = Path(__file__).resolve().parents[2] / "bench"
    environment = {**os.environ, "PYTHONHASHSEED": hash_seed, "PYTHONPATH": str(bench)}
    command = [sys.executable, "-c", SCRIPT, name, chip, str(path)]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout


def check(name: str, chip: str, folder: Path) -> None:
    """Two processes with different hash seeds give the same executable and results."""
    first = compile_and_run(name, chip, "1", folder / "first.mlx")
    second = compile_and_run(name, chip, "2", folder / "second.mlx")
    assert first == second
    assert (folder / "first.mlx").read_bytes() == (folder / "second.mlx").read_bytes()


def test_two_processes_agree(tmp_path: Path) -> None:
    check("rnet", "tiny", tmp_path)


@pytest.mark.slow
@pytest.mark.matrix(together=1, name=PUBLIC_MODELS, chip=("edge", "cloud"))
def test_two_processes_agree_on_all_models(name: str, chip: str, tmp_path: Path) -> None:
    check(name, chip, tmp_path)
