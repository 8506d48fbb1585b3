"""Tests of public models as modules of instructions: written as text, unpacked and packed, they give the same bytes."""

from __future__ import annotations

from io import StringIO

import numpy as np
import pytest
from meshloom.analysis.execution.interpret import run_main
from meshloom.dialects.coreasm import Coreasm
from meshloom.dialects.manycore import Manycore
from meshloom.emulator.executable.executable import to_bytes
from meshloom.lowering.coreasm_to_executable import coreasm_to_executable
from meshloom.lowering.executable_to_coreasm import executable_to_coreasm
from meshloom.tools.api import compile
from meshloom.tools.oracle import Oracle, compare
from meshloom.transforms.coreasm_pack import CoreasmPackPass
from meshloom.transforms.coreasm_unpack import CoreasmUnpackPass
from public_models import PUBLIC_MODELS
from xdsl.context import Context
from xdsl.dialects.builtin import Builtin, ModuleOp
from xdsl.parser import Parser
from xdsl.printer import Printer

QUICK = (("rnet", "tiny"),)


def reread(module: ModuleOp, context: Context) -> ModuleOp:
    out = StringIO()
    Printer(out).print_op(module)
    again = Parser(context, out.getvalue(), "x.mlir").parse_module()
    again.verify()
    return again


def check(name: str, chip: str) -> None:
    """Compile a model; print, read, unpack and pack its module; run it in the interpreter of instructions."""
    model = PUBLIC_MODELS[name]
    exe = compile(model.path, chip, model.shapes, values=model.values).executable
    want = to_bytes(exe)
    context = Context()
    for dialect in (Builtin, Coreasm, Manycore):
        context.load_dialect(dialect)
    packed = reread(executable_to_coreasm(exe), context)
    assert len(list(packed.walk())) < 1000
    assert to_bytes(coreasm_to_executable(packed)) == want

    inputs = model.inputs(1)
    results = run_main(packed, {tensor.name: inputs[tensor.name] for tensor in exe.inputs})
    for tensor, value in Oracle(model.path).run({**inputs, **model.constants()}).items():
        assert compare(tensor, np.asarray(results[tensor]), value).equal

    CoreasmUnpackPass().apply(context, packed)
    unpacked = reread(packed, context)
    assert to_bytes(coreasm_to_executable(unpacked)) == want
    CoreasmPackPass().apply(context, unpacked)
    assert to_bytes(coreasm_to_executable(unpacked)) == want


@pytest.mark.parametrize(("name", "chip"), QUICK)
def test_text_gives_the_same_bytes(name: str, chip: str) -> None:
    check(name, chip)


@pytest.mark.slow
@pytest.mark.matrix(together=1, name=PUBLIC_MODELS, chip=("edge", "tiny"), without=QUICK)
def test_text_of_all_models_gives_the_same_bytes(name: str, chip: str) -> None:
    check(name, chip)
