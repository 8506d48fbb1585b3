"""Test that mypy accepts the examples: the API is typed for checkers other than the project's own."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.slow
@pytest.mark.skipif(find_spec("mypy") is None, reason="mypy is not installed")
def test_mypy_accepts_the_examples(tmp_path: Path) -> None:
    files = sorted(str(path) for path in (ROOT / "examples").glob("*.py"))
    options = ["--follow-imports=silent", "--cache-dir", str(tmp_path)]
    environment = {**os.environ, "MYPYPATH": str(ROOT / "typings")}
    command = [sys.executable, "-m", "mypy", *options, *files]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"no issues found in {len(files)} source files" in done.stdout
