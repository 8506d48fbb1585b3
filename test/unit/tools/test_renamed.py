"""Tests of renamed passes, rules and attributes: old names are accepted for one release, with a warning."""

from __future__ import annotations

import pytest
from meshloom.analysis.nature import Nature, nature_of
from meshloom.analysis.semantic_effect import EXACT, SemanticEffect, lossy, semantic_effect_of
from meshloom.analysis.subgraphs.named_cuts import AfterNamedOperators
from meshloom.analysis.subgraphs.rules import RuleSettings, make_rule
from meshloom.analysis.subgraphs.split_rule import FirstThatSplits
from meshloom.support.warn import MeshloomWarning
from meshloom.tools.pass_pipeline import read_passes
from meshloom.tools.universe import all_passes
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass


def test_the_old_name_of_a_pass() -> None:
    with pytest.warns(MeshloomWarning, match="'dataflow-split-frames' was renamed to 'dataflow-split-batch'"):
        old = read_passes("canonicalize,dataflow-split-frames{parts=2}", all_passes())
    assert old.passes == read_passes("canonicalize,dataflow-split-batch{parts=2}", all_passes()).passes


def test_the_old_name_of_a_split_rule() -> None:
    with pytest.warns(MeshloomWarning, match="'by-hand' was renamed to 'named'"):
        rule = make_rule(("by-hand",), RuleSettings(names=("conv",)))
    assert rule == make_rule(("named",), RuleSettings(names=("conv",)))
    assert rule == FirstThatSplits((AfterNamedOperators(("conv",)),))


def test_the_old_attribute_of_a_users_pass() -> None:
    class Old(ModulePass):
        name = "old"
        nature = lossy(0.5)

        def apply(self, ctx: Context, op: ModuleOp) -> None:
            """Change nothing."""

    class Silent(ModulePass):
        name = "silent"

        def apply(self, ctx: Context, op: ModuleOp) -> None:
            """Change nothing."""

    assert Nature is SemanticEffect
    assert semantic_effect_of(Old()) == nature_of(Old()) == lossy(0.5)
    assert semantic_effect_of(Silent()) == EXACT
