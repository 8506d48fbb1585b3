"""Tests that every operation, instruction, pass and tool for textual IR has a FileCheck test."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from meshloom.tools.universe import MESHLOOM

TESTS = "\n".join(path.read_text() for path in sorted((Path(__file__).parents[1] / "filecheck").rglob("*.mlir")))
COMMANDS = "\n".join(line for line in TESTS.splitlines() if "RUN:" in line)
WORDS = frozenset(re.findall(r"[\w.@-]+", TESTS))
"""The names in the tests; those of operations include their dialect."""


@pytest.mark.parametrize("dialect", MESHLOOM.all_dialects)
def test_every_operation(dialect: str) -> None:
    """Every operation occurs in a test; instructions in packed programs have no prefix of their dialect."""
    names = {op.name for op in MESHLOOM.all_dialects[dialect]().operations}
    tested = WORDS | {f"coreasm.{word}" for word in WORDS}
    assert names - tested == set()


def test_every_pass() -> None:
    tested = set(re.findall(r"[\w-]+", COMMANDS))
    assert set(MESHLOOM.all_passes) - tested == set()


@pytest.mark.parametrize("tool", ["opt", "compile", "as", "objdump", "run"])
def test_every_tool(tool: str) -> None:
    assert f"meshloom-{tool} " in COMMANDS
