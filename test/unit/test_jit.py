"""Tests of the cache of compiled kernels: an entry is used if and only if it is valid."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

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
    """The output of the caller: its result, and the number of kernels loaded from disk."""
    (folder / "callee.py").write_text(CALLEE.format(factor=factor, addend=addend))
    done = subprocess.run([sys.executable, folder / "caller.py"], capture_output=True, text=True, check=True)
    return done.stdout.strip()


def test_a_change_in_another_file_recompiles_the_caller(tmp_path: Path) -> None:
    (tmp_path / "caller.py").write_text(CALLER)
    assert run(tmp_path, 2, 1) == "31 0"
    assert run(tmp_path, 2, 700) == "730 0"
    assert run(tmp_path, 5, 700) == "760 0"


def test_unchanged_kernels_are_not_recompiled(tmp_path: Path) -> None:
    (tmp_path / "caller.py").write_text(CALLER)
    assert run(tmp_path, 2, 1) == "31 0"
    done = subprocess.run([sys.executable, tmp_path / "caller.py"], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "31 1"


ARGUMENTS = """
from typing import NamedTuple

class {name}(NamedTuple):
    value: int
"""
KERNEL = """
from meshloom.support.jit import jit

@jit
def doubled(pair):
    return 2 * pair.value
"""
USER = """
import arguments
from kernel import doubled

(kind,) = [value for value in vars(arguments).values() if isinstance(value, type) and hasattr(value, "value")]
print(doubled(kind(4)), sum(doubled.stats.cache_hits.values()))
"""


@pytest.mark.slow
def test_a_renamed_class_of_arguments_recompiles_the_kernel(tmp_path: Path) -> None:
    (tmp_path / "kernel.py").write_text(KERNEL)
    (tmp_path / "user.py").write_text(USER)
    printed: list[str] = []
    for name in ("Pair", "Pair", "Operands"):
        (tmp_path / "arguments.py").write_text(ARGUMENTS.format(name=name))
        done = subprocess.run([sys.executable, tmp_path / "user.py"], capture_output=True, text=True, check=True)
        printed.append(done.stdout.strip())
    assert printed == ["8 0", "8 1", "8 0"]


FIELDS = """
from typing import NamedTuple

class Span(NamedTuple):
    {fields}
"""
LENGTH = """
from __future__ import annotations

from meshloom.support.jit import jit
from span import Span

@jit
def length(span: Span) -> int:
    return span.end - span.start
"""


@pytest.mark.slow
def test_other_fields_of_an_argument_recompile_the_kernel(tmp_path: Path) -> None:
    """The fields of a named tuple in another file are exchanged: the kernel reads them by their new positions."""
    (tmp_path / "length.py").write_text(LENGTH)
    user = "from length import length; from span import Span; print(length(Span(end=7, start=3)))"
    printed: list[str] = []
    for fields in ("start: int; end: int", "end: int; start: int"):
        (tmp_path / "span.py").write_text(FIELDS.format(fields=fields))
        done = subprocess.run([sys.executable, "-c", user], cwd=tmp_path, capture_output=True, text=True, check=True)
        printed.append(done.stdout.strip())
    assert printed == ["4", "4"]


FORMS = """
from meshloom.support.jit import jit

@jit
def scaled(value: int, factor: int) -> int:
    return value * factor

@jit
def caller(value: int) -> int:
    return scaled(value, 2) + scaled(3, value) + scaled(5, 7)

print(caller(10), len(scaled.signatures))
"""


def test_constants_need_no_separate_signature(tmp_path: Path) -> None:
    (tmp_path / "caller.py").write_text(FORMS)
    done = subprocess.run([sys.executable, tmp_path / "caller.py"], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == f"{10 * 2 + 3 * 10 + 5 * 7} 1"


TOGETHER = """
import sys
from pathlib import Path
from kernel import addend

Path(sys.argv[1]).touch()
while not all(Path(name).exists() for name in ("one", "two")):
    pass
print(addend(1), sum(addend.stats.cache_hits.values()))
"""
ADDEND = """
from meshloom.support.jit import jit

@jit
def addend(x: int) -> int:
    return x + 1
"""


def test_only_one_of_two_processes_compiles(tmp_path: Path) -> None:
    """Of two processes that call a kernel at the same time, after both have imported it, one compiles it."""
    (tmp_path / "kernel.py").write_text(ADDEND)
    (tmp_path / "user.py").write_text(TOGETHER)
    started = [
        subprocess.Popen([sys.executable, "user.py", name], cwd=tmp_path, stdout=subprocess.PIPE, text=True)
        for name in ("one", "two")
    ]
    assert sorted(process.communicate()[0].strip() for process in started) == ["2 0", "2 1"]


RECURSIVE = """
from meshloom.support.jit import jit

@jit
def factorial(n: int) -> int:
    if n < 2:
        return 1
    return n * factorial(n - 1)

print(factorial(5))
"""


def test_a_kernel_that_calls_itself_compiles(tmp_path: Path) -> None:
    (tmp_path / "own.py").write_text(RECURSIVE)
    done = subprocess.run([sys.executable, "own.py"], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "120"
