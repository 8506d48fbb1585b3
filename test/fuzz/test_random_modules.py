"""
Tests of random modules with the passes of every level: each pass keeps results as its semantic effect declares, and its
output survives a round trip through text, in custom and in generic syntax.
"""

from __future__ import annotations

import subprocess
from io import StringIO
from shutil import which

import pytest
from meshloom.analysis.execution.check_semantics import SemanticsChecker
from meshloom.support.errors import InputError
from meshloom.tools.pass_pipeline import read_passes
from meshloom.tools.universe import MESHLOOM, all_passes
from xdsl.context import Context
from xdsl.dialects import get_all_dialects
from xdsl.dialects.builtin import ModuleOp
from xdsl.parser import Parser
from xdsl.printer import Printer

from meshloom.testing import RandomNetwork

TILE = "dataflow-to-manycore,manycore-tile{chip=tiny}"
PIPELINES = {
    "dataflow": "canonicalize,cse,dataflow-fold-affine,dataflow-split-to-fit{bytes=4096},canonicalize",
    "sparse": "dataflow-prune{density=0.3 bound=100},sparse-select-encoding,canonicalize,cse",
    "sparse-groups": "sparse-prune-groups{weight_group_size=4 weight_threshold=0.5 weight_limit=2 bound=100},"
    "sparse-select-encoding{groups=1,2}",
    "offload": "memory-insert-offload{chip=tiny budget=0.7 kinds=swap,recompute},canonicalize,cse",
    "compress": "memory-insert-offload{chip=tiny th_size=256 kinds=swap,compress format=bf16 bound=1}",
    "training": "dataflow-differentiate{loss=result optimizer=none},canonicalize,cse",
    "manycore": f"canonicalize,{TILE},manycore-place{{chip=tiny}},manycore-schedule{{chip=tiny}}",
    "subgraphs": "dataflow-to-manycore,manycore-outline-subgraphs{rule=key-nodes},manycore-inline-subgraphs",
    "memory": f"{TILE},manycore-to-memory",
}
SEEDS = range(2)
LONG = ("offload",)
"""Levels whose tests are slow."""
CASES = [
    pytest.param(level, seed, marks=[pytest.mark.slow] if level in LONG else [])
    for level in PIPELINES
    for seed in SEEDS
]


def context() -> Context:
    """A context with all dialects loaded."""
    found = Context()
    for name, dialect in {**get_all_dialects(), **MESHLOOM.all_dialects}.items():
        found.register_dialect(name, dialect)
    return found


def text_of(module: ModuleOp, generic: bool) -> str:
    """The module as text."""
    out = StringIO()
    Printer(out, print_generic_format=generic).print_op(module)
    return out.getvalue()


def check(level: str, seed: int) -> str:
    """Run a pipeline on a random network, with all checks; the resulting module in generic syntax."""
    module = RandomNetwork(seed, operations=4 + seed % 9).module
    passes = read_passes(PIPELINES[level], all_passes()).passes
    checker = SemanticsChecker(seed)
    checker.visit(None, module)
    known = context()
    for one in passes:
        try:
            one.apply(known, module)
        except InputError:  # no plan fits, or there is nothing to differentiate
            assert one.name in ("memory-insert-offload", "dataflow-differentiate")
            return text_of(module, generic=True)
        module.verify()
        checker.visit(one, module)
        for generic in (False, True):
            text = text_of(module, generic)
            again = Parser(context(), text).parse_module()
            again.verify()
            assert text_of(again, generic) == text, f"after {one.name}"
    interface = ("dataflow-differentiate",)
    assert [name for name in checker.skipped if not name.startswith(interface)] == []
    return text_of(module, generic=True)


@pytest.mark.parametrize(("level", "seed"), CASES)
def test_results_and_text_are_kept(level: str, seed: int) -> None:
    check(level, seed)


@pytest.mark.slow
@pytest.mark.campaign(30)
@pytest.mark.parametrize("level", PIPELINES)
def test_results_and_text_are_kept_by_many(level: str, cases: int) -> None:
    for seed in range(len(SEEDS), len(SEEDS) + cases):
        check(level, seed)


@pytest.mark.skipif(which("mlir-opt-22") is None, reason="mlir-opt-22 is not installed")
@pytest.mark.parametrize("level", PIPELINES)
def test_generic_text_is_mlir(level: str) -> None:
    """The parser of MLIR accepts the generic syntax."""
    for seed in SEEDS:
        done = subprocess.run(
            ["mlir-opt-22", "--allow-unregistered-dialect"], input=check(level, seed), text=True, capture_output=True
        )
        assert done.returncode == 0, done.stderr
