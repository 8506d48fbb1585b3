"""Tests that the reference pages equal those generated from definitions, and that each definition is documented."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest
from meshloom.dialects.coreasm.ops import InstructionOp
from meshloom.dialects.manycore.ops import TaskOp
from meshloom.support.errors import BudgetError, InputError, MeshloomError, ResourceError
from meshloom.tools.cli import exit_status
from meshloom.tools.reference.constraints import in_words
from meshloom.tools.reference.dialect_page import dialect_page
from meshloom.tools.reference.docstrings import describe, documents_in, field_documents
from meshloom.tools.reference.error_page import error_classes, error_page
from meshloom.tools.reference.example_ir import complete, context
from meshloom.tools.reference.pass_page import EXAMPLES, pass_names, pass_section
from meshloom.tools.universe import DIALECTS, MESHLOOM
from xdsl.ir import Attribute, Operation
from xdsl.irdl import AnyAttr, IRDLOperation
from xdsl.parser import Parser

REFERENCE = Path(__file__).parents[3] / "docs" / "reference"
REMEDY = "run: python -m meshloom.tools.reference docs/reference"
SEARCHING = {
    "manycore-autotune",
    "manycore-cut-stages",
    "manycore-fuse-subgraphs",
    "manycore-outline-to-fit",
    "manycore-schedule",
    "memory-insert-offload",
    "sparse-encode-if-faster",
}
"""Passes that compile and emulate several variants."""
DEFINITIONS: list[type[Operation | Attribute]] = [
    one
    for dialect in DIALECTS
    for one in (*MESHLOOM.all_dialects[dialect]().operations, *MESHLOOM.all_dialects[dialect]().attributes)
    if not issubclass(one, InstructionOp)
]


@pytest.mark.parametrize("dialect", DIALECTS)
def test_page_of_a_dialect_is_up_to_date(dialect: str) -> None:
    assert (REFERENCE / f"{dialect}.md").read_text(encoding="utf-8") == dialect_page(dialect), REMEDY


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.slow) if name in SEARCHING else name for name in pass_names()]
)
def test_section_of_a_pass_is_up_to_date(name: str) -> None:
    page = (REFERENCE / "passes.md").read_text(encoding="utf-8")
    assert pass_section(name, REFERENCE / EXAMPLES) in page, REMEDY


def test_page_of_passes_has_exactly_all_passes() -> None:
    page = (REFERENCE / "passes.md").read_text(encoding="utf-8")
    assert re.findall(r"^## `(.*)`$", page, re.MULTILINE) == list(pass_names())
    assert {file.stem for file in (REFERENCE / EXAMPLES).iterdir()} == set(pass_names())


@pytest.mark.parametrize("name", pass_names())
def test_an_example_of_a_pass_changes_something(name: str) -> None:
    page = (REFERENCE / "passes.md").read_text(encoding="utf-8")
    section = page.split(f"## `{name}`\n")[1].split("\n## ")[0]
    before, after = re.findall(r"```mlir\n(.*?)```", section, re.DOTALL)
    modules = [Parser(context(), text).parse_module() for text in (before, after)]
    assert not modules[0].is_structurally_equivalent(modules[1])


def test_page_of_errors_is_up_to_date() -> None:
    assert (REFERENCE / "errors.md").read_text(encoding="utf-8") == error_page(), REMEDY


def test_all_classes_of_errors_are_found_with_their_status() -> None:
    found = error_classes()
    assert len(found) == len(set(found))
    assert {MeshloomError, InputError, ResourceError, BudgetError} < set(found)
    assert {one.__name__ for one in found if exit_status(one) == 2} >= {"InputError", "BudgetError", "LineError"}
    assert [exit_status(one) for one in (MeshloomError, ResourceError)] == [1, 1]
    assert [one for one in found if not (one.__doc__ or "").strip()] == []


@pytest.mark.parametrize("one", DEFINITIONS, ids=lambda one: f"{one.__name__}-{one.name}")
def test_a_definition_has_a_description_syntax_and_examples_that_are_valid(one: type[Operation | Attribute]) -> None:
    described = describe(one)
    assert described.prose
    assert described.examples
    if issubclass(one, IRDLOperation):
        assert bool(one.get_irdl_definition().assembly_format) != bool(described.syntax)
    shown: set[str] = set()
    for example in described.examples:
        module = Parser(context(), complete(example)).parse_module()
        module.verify()
        shown |= {op.name for op in module.walk()}
    assert issubclass(one, Attribute) or one.name in shown


def test_values_that_an_example_does_not_define_are_arguments() -> None:
    text = "%1 = dataflow.neg %0 : (tensor<4xf32>) -> tensor<4xf32>\n"
    assert complete(text) == f"func.func @example(%0: tensor<4xf32>) {{\n  {text}  func.return\n}}\n"
    defined = "%0 = dataflow.iota axis 0 : tensor<4xi64>\n"
    assert complete(defined) == defined
    assert complete("!memory.token\n!memory.buffer<4xf32,\n  sram>\n") == (
        "func.func private @example(!memory.token, !memory.buffer<4xf32,\n  sram>)\n"
    )


CLASS = """
class Example(Base):
    'Of the class.'

    first = operand_def()
    'Of the first.'
    second: int
    third: int = 3
    'Of the   third.'
"""


def test_docstrings_below_fields_belong_to_them() -> None:
    (node,) = ast.parse(CLASS).body
    assert isinstance(node, ast.ClassDef)
    assert documents_in(node) == {"first": "Of the first.", "third": "Of the third."}
    assert field_documents(TaskOp)["keeps"] == "Numbers of the operands that stay in the cores for later tasks."


def test_a_constraint_without_words_is_an_error() -> None:
    class Unknown(AnyAttr):
        pass

    assert in_words(Unknown()) == "any"
    with pytest.raises(TypeError, match="no words for int"):
        in_words(3)  # pyright: ignore[reportArgumentType]
