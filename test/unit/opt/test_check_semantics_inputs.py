"""Tests of the inputs of `--check-semantics`: they find wrong rewrites that standard normal values do not."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import pytest
from meshloom.analysis.execution.check_semantics import SemanticsChecker
from meshloom.analysis.execution.input_sets import input_sets, numbers_of
from meshloom.analysis.semantic_effect import EXACT, SemanticEffect
from meshloom.support.errors import MeshloomError
from meshloom.tools.universe import MESHLOOM
from numpy.typing import NDArray
from xdsl.context import Context
from xdsl.dialects import get_all_dialects
from xdsl.dialects.builtin import ModuleOp
from xdsl.parser import Parser
from xdsl.passes import ModulePass


class WrongPass(ModulePass):
    """A placeholder for a rewrite that declares to keep all bits; the tests supply the module after it."""

    name = "wrong"
    semantic_effect: ClassVar[SemanticEffect] = EXACT

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Do nothing."""


class LossyPass(WrongPass):
    """The same, declared lossy with a bound of one per cent."""

    semantic_effect: ClassVar[SemanticEffect] = SemanticEffect("lossy", 0.01)


def module(body: str, result: str) -> ModuleOp:
    context = Context()
    for name, dialect in {**get_all_dialects(), **MESHLOOM.all_dialects}.items():
        context.register_dialect(name, dialect)
    text = (
        f"func.func @main(%x: tensor<24xf32>) -> tensor<24xf32> {{\n{body}\nfunc.return {result} : tensor<24xf32>\n}}"
    )
    return Parser(context, text).parse_module()


def maximum(number: str) -> str:
    types = "(tensor<24xf32>, tensor<f32>) -> tensor<24xf32>"
    return f"%c = dataflow.constant dense<{number}> : tensor<f32>\n%y = dataflow.maximum %x, %c : {types}"


def unary(name: str) -> str:
    return f"%y = dataflow.{name} %x : (tensor<24xf32>) -> tensor<24xf32>"


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        (maximum("-3.0"), "%y = dataflow.neg %x : (tensor<24xf32>) -> tensor<24xf32>"),
        (maximum("-30.0"), ""),
        (maximum("-3.0"), maximum("-3.0000002")),
        (unary("round"), unary("floor")),
        (unary("abs"), unary("relu")),
        ("%p = dataflow.neg %x : (tensor<24xf32>) -> tensor<24xf32>\n" + unary("neg"), ""),
    ],
    ids=["clamp replaced", "clamp dropped", "clamp one step off", "ties", "sign", "negation dropped"],
)
def test_wrong_rewrites_are_found(right: str, wrong: str) -> None:
    checker = SemanticsChecker()
    checker.visit(None, module(right, "%y"))
    with pytest.raises(MeshloomError, match="pass wrong changed result"):
        checker.visit(WrongPass(), module(wrong, "%y" if "%y" in wrong else "%x"))


def test_a_lossy_pass_is_checked_on_standard_normal_numbers_only() -> None:
    """Dropping a maximum with -30 changes none of 24 such numbers; dropping one with 0 changes more than the bound."""
    for number, refused in (("-30.0", False), ("0.0", True)):
        checker = SemanticsChecker()
        checker.visit(None, module(maximum(number), "%y"))
        if refused:
            with pytest.raises(MeshloomError, match=r"\(lossy\)"):
                checker.visit(LossyPass(), module("", "%x"))
        else:
            checker.visit(LossyPass(), module("", "%x"))


def sets(seed: int) -> list[NDArray[Any]]:
    """The values of %x in each set of inputs, for a module with the constant -37.5."""
    return [next(iter(one.values())) for one in input_sets(module(maximum("-37.5"), "%y"), seed, (0, 8))]


def test_inputs_contain_constants_of_the_module_and_zeros_of_both_signs() -> None:
    assert numbers_of(module(maximum("-37.5"), "%y")) == [-37.5]
    values = np.concatenate([sets(seed)[1] for seed in range(20)])
    assert (values == -37.5).any()
    assert set(np.signbit(values[values == 0]).tolist()) == {False, True}


def test_some_sets_have_one_sign_only() -> None:
    signs = [set(np.sign(one).tolist()) for one in sets(0)]
    assert {1.0} in signs
    assert {-1.0} in signs
