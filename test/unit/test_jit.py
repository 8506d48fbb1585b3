"""What is kept of compiled kernels is used while it is right, and only then."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

CALLER = """
from callee import FACTOR, addend
from meshloom.support.jit import jit

@jit
def caller(x: int) -> int:
    return FACTOR * x + addend(x)

print(caller(10), sum(caller.stats.cache_hits.values()))
"""
CALLEE = """
from meshloom.support.jit import jit

FACTOR = {factor}

@jit
def addend(x: int) -> int:
    return x + {addend}
"""


def run(folder: Path, factor: int, addend: int) -> str:
    """What the caller prints: its result, and how many kernels came from disk."""
    (folder / "callee.py").write_text(CALLEE.format(factor=factor, addend=addend))
    done = subprocess.run([sys.executable, folder / "caller.py"], capture_output=True, text=True, check=True)
    return done.stdout.strip()


def test_a_change_in_another_file_compiles_the_caller_anew(tmp_path: Path) -> None:
    (tmp_path / "caller.py").write_text(CALLER)
    assert run(tmp_path, 2, 1) == "31 0"
    assert run(tmp_path, 2, 700) == "730 0"
    assert run(tmp_path, 5, 700) == "760 0"


def test_what_has_not_changed_is_not_compiled_again(tmp_path: Path) -> None:
    (tmp_path / "caller.py").write_text(CALLER)
    assert run(tmp_path, 2, 1) == "31 0"
    done = subprocess.run([sys.executable, tmp_path / "caller.py"], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "31 1"
