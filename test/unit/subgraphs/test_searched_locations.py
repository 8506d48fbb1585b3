"""Test that results of searches keep the locations of operations, including those of transfers."""

from __future__ import annotations

from pathlib import Path
from typing import cast

import pytest
from dense_networks import dense_layers
from meshloom.dialects.manycore import ExecuteOp, LaunchOp, TaskOp
from meshloom.tools import compile as compile_tool
from meshloom.tools.read_module import read_module
from xdsl.dialects.builtin import ArrayAttr, FusedLoc, LocationAttr, NameLoc
from xdsl.ir import Attribute


def nodes(location: LocationAttr) -> set[str]:
    """The names in a location."""
    match location:
        case NameLoc():
            return {location.desc.data}
        case FusedLoc():
            members = cast("ArrayAttr[Attribute]", location.locations)
            return {one.desc.data for one in members if isinstance(one, NameLoc)}
        case _:
            return set()


LAYERS = {"g0", "g1", "g2", "g3"}
RELUS = {"Relu:r0", "Relu:r1", "Relu:r2"}


@pytest.mark.parametrize(
    "options", [(), ("--subgraphs", "fewest-bytes,parts=3"), ("--budget", "0.9"), ("--chips", "2")]
)
def test_locations_of_tasks_and_of_operations_in_launches(options: tuple[str, ...], tmp_path: Path) -> None:
    """
    Each task has the location of its layer, and each operation in a launch has a location.

    g0 to g3 are four equal layers, which are compiled once. A Relu is in the task of its layer or, with a budget, in
    one of its own.
    """
    (tmp_path / "net.onnx").write_bytes(dense_layers([96] * 5).SerializeToString())
    arguments = [tmp_path / "net.onnx", "--chip", "tiny", *options, "-q", "-o", tmp_path / "net.mlx"]
    arguments += ["--print-ir-after-all", tmp_path / "levels"]
    assert compile_tool.main([str(argument) for argument in arguments]) == 0
    levels = {path.stem.partition("-")[2]: path for path in (tmp_path / "levels").glob("*.mlir")}
    for name in {"manycore", "memory"} & set(levels):
        found: set[str] = set()
        for op in read_module(levels[name], {}).walk():
            if isinstance(op, TaskOp | ExecuteOp):
                names = nodes(op.location)
                assert len(names & LAYERS) == 1 or (options[:1] == ("--budget",) and len(names & RELUS) == 1)
                found |= names & LAYERS
            launch = op.parent_op()
            if isinstance(launch, LaunchOp):
                assert nodes(op.location), op
        assert found == LAYERS
