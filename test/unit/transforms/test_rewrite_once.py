"""Tests of one walk of rewrite patterns: rewritten operations, their locations, and errors."""

from __future__ import annotations

import pytest
from meshloom.dialects.dataflow import AbsOp, NegOp, ReluOp
from meshloom.dialects.dataflow.base import TiledOp
from meshloom.dialects.dataflow.types import tensor
from meshloom.dialects.locations import error_location, named
from meshloom.dialects.sparse import Sparse
from meshloom.lowering.sparse_to_dataflow import PATTERNS
from meshloom.support.errors import InputError
from meshloom.transforms.shared.rewrite_once import rewrite_once
from xdsl.dialects.builtin import ModuleOp, f32
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern, op_type_rewrite_pattern


class TwoNegations(RewritePattern):
    """Rewrites -x to -|-x|, which another walk would rewrite again."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: NegOp, rewriter: PatternRewriter) -> None:
        inner = NegOp(op.operand)
        absolute = AbsOp(inner)
        rewriter.replace(op, (inner, absolute, NegOp(absolute)))


class EraseReaders(RewritePattern):
    """Erases negations that read the result of an `abs`."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: AbsOp, rewriter: PatternRewriter) -> None:
        for use in list(op.result.uses):
            if isinstance(use.operation, NegOp):
                rewriter.erase(use.operation)


class NoRelu(RewritePattern):
    """Raises an error."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: ReluOp, rewriter: PatternRewriter) -> None:
        raise InputError("no relu")


def function_of(*kinds: type[NegOp | AbsOp | ReluOp]) -> ModuleOp:
    """A chain of operations without a reader of the last result, each with its number as location."""
    function = FuncOp("main", ([tensor(f32, [4])], [tensor(f32, [4])]))
    block = function.body.block
    value = block.args[0]
    for number, kind in enumerate(kinds):
        op = kind(value)
        op.location = named(str(number))
        block.add_op(op)
        value = op.result
    block.add_op(ReturnOp(block.args[0]))
    return ModuleOp([function])


def names(module: ModuleOp) -> list[str]:
    return [op.name.removeprefix("dataflow.") for op in module.walk() if op.name.startswith("dataflow.")]


def test_new_operations_are_not_rewritten_and_have_the_location_of_the_replaced_one() -> None:
    module = function_of(ReluOp, NegOp)
    rewrite_once(module, {NegOp: (TwoNegations(),)})
    assert names(module) == ["relu", "neg", "abs", "neg"]
    made = [op.location for op in module.walk() if isinstance(op, NegOp | AbsOp)]
    assert made == [named("1")] * 3


def test_erased_operations_are_not_rewritten() -> None:
    module = function_of(AbsOp, NegOp)
    rewrite_once(module, {AbsOp: (EraseReaders(),), NegOp: (TwoNegations(),)})
    assert names(module) == ["abs"]


def test_only_the_first_pattern_that_matches_is_applied() -> None:
    module = function_of(AbsOp, NegOp)
    rewrite_once(module, {NegOp: (EraseReaders(), TwoNegations(), TwoNegations())})
    assert names(module) == ["abs", "neg", "abs", "neg"]


def test_an_error_of_a_pattern_names_the_operation_and_not_the_module() -> None:
    with pytest.raises(InputError, match=r"^no relu$") as caught:
        rewrite_once(function_of(AbsOp, ReluOp), {ReluOp: (NoRelu(),)})
    assert error_location(caught.value) == named("1")
    assert not hasattr(caught.value, "__notes__")


def test_every_sparse_operation_except_those_on_panels_has_a_dense_form() -> None:
    assert set(PATTERNS) == {op for op in Sparse.operations if not issubclass(op, TiledOp)}
