"""
The xDSL plug-in with all dialects, passes and targets, which `xdsl-opt`, `xdsl-gui` and `meshloom-opt` discover.

All entries are lazy: a dialect, pass or target is imported when it is first used.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

from xdsl.ir import Dialect
from xdsl.passes import ModulePass
from xdsl.universe import Universe
from xdsl.utils.target import Target

from ..lowering import PASSES as LOWERING_PASSES
from ..transforms import PASSES as TRANSFORM_PASSES

ROOT = __package__.rpartition(".")[0] if __package__ else "meshloom"

DIALECTS = {
    "dataflow": "dialects.dataflow:Dataflow",
    "memory": "dialects.memory:Memory",
    "sparse": "dialects.sparse:Sparse",
    "manycore": "dialects.manycore:Manycore",
    "coreasm": "dialects.coreasm:Coreasm",
}
"""Dialect name -> `module:Object`, the module relative to the package."""

TARGETS = {
    "interpret": "tools.interpret:InterpretTarget",
    "emulate": "tools.emulate:EmulateTarget",
    "mlir-opt": "tools.irdl.generic_text:MlirOptTarget",
}
"""Target name -> `module:Class`, the module relative to the package."""


def load(location: str) -> Any:
    """The object at `module:Name`, the module given relative to the package."""
    module, _, name = location.partition(":")
    return getattr(import_module(f"{ROOT}.{module}"), name)


def _factory(location: str) -> Callable[[], Any]:
    return lambda: load(location)


def _dialects() -> dict[str, Callable[[], Dialect]]:
    return {name: _factory(location) for name, location in DIALECTS.items()}


def _passes() -> dict[str, Callable[[], type[ModulePass]]]:
    places = {name: f"transforms.{location}" for name, location in TRANSFORM_PASSES.items()}
    places |= {name: f"lowering.{location}" for name, location in LOWERING_PASSES.items()}
    return {name: _factory(location) for name, location in places.items()}


def _targets() -> dict[str, Callable[[], type[Target]]]:
    return {name: _factory(location) for name, location in TARGETS.items()}


def all_passes() -> dict[str, Callable[[], type[ModulePass]]]:
    """
    All passes of the tools, including xDSL's. Its `canonicalize` and `cse` are replaced by passes that keep locations
    and tasks over buffers (a plug-in cannot replace a pass of xDSL).
    """
    return Universe.get_multiverse().all_passes | {
        "canonicalize": _factory("transforms.canonicalize:CanonicalizePass"),
        "cse": _factory("transforms.cse:CommonSubexpressionElimination"),
    }


MESHLOOM = Universe(all_dialects=_dialects(), all_passes=_passes(), all_targets=_targets())
