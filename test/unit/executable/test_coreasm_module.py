"""Executables converted to modules of the `coreasm` dialect and back have the same bytes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from io import StringIO

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from meshloom.chips import load_chip
from meshloom.dialects.coreasm import Coreasm
from meshloom.dialects.coreasm.ops import UnpackedOp
from meshloom.dialects.coreasm.packed import PackedOp
from meshloom.dialects.manycore import Manycore
from meshloom.emulator.executable.executable import Executable, as_view, to_bytes
from meshloom.formats.weights import STORE
from meshloom.lowering.coreasm_to_executable import coreasm_to_executable
from meshloom.lowering.executable_to_coreasm import executable_to_coreasm
from meshloom.lowering.linker.executable_data import DataSection
from meshloom.support.errors import InputError
from meshloom.transforms.coreasm_pack import CoreasmPackPass
from meshloom.transforms.coreasm_unpack import CoreasmUnpackPass
from xdsl.context import Context
from xdsl.dialects.builtin import Builtin, ModuleOp
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.utils.exceptions import ParseError, VerifyException

Make = Callable[[], Executable]
MakeSeeded = Callable[[int], Executable]


def _context() -> Context:
    context = Context()
    for dialect in (Builtin, Coreasm, Manycore):
        context.load_dialect(dialect)
    return context


def _reread(module: ModuleOp, generic: bool = False) -> ModuleOp:
    out = StringIO()
    Printer(out, print_generic_format=generic).print_op(module)
    again = Parser(_context(), out.getvalue(), "x.mlir").parse_module()
    again.verify()
    return again


@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 10**6), generic=st.booleans())
def test_packed_module_gives_the_same_bytes(random_executable: MakeSeeded, seed: int, generic: bool) -> None:
    exe = random_executable(seed)
    module = executable_to_coreasm(exe)
    module.verify()
    assert to_bytes(coreasm_to_executable(module)) == to_bytes(exe)
    assert to_bytes(coreasm_to_executable(_reread(module, generic))) == to_bytes(exe)


@settings(max_examples=10, deadline=None)
@given(seed=st.integers(0, 10**6), generic=st.booleans())
def test_unpacked_module_gives_the_same_bytes(random_executable: MakeSeeded, seed: int, generic: bool) -> None:
    exe = random_executable(seed)
    module = executable_to_coreasm(exe)
    CoreasmUnpackPass().apply(_context(), module)
    assert not any(isinstance(op, PackedOp) for op in module.walk())
    again = _reread(module, generic)
    assert to_bytes(coreasm_to_executable(again)) == to_bytes(exe)
    CoreasmPackPass().apply(_context(), again)
    assert not any(isinstance(op, UnpackedOp) for op in again.walk())
    assert to_bytes(coreasm_to_executable(again)) == to_bytes(exe)


def test_chip_without_a_name(sample: Make) -> None:
    exe = sample()
    exe.chip = replace(load_chip("tiny"), dram_latency=7, unusable_cores=(3,), source='a "b" \u00e9')
    exe.launches = []
    exe.controller = exe.controller[-1:]
    module = _reread(executable_to_coreasm(exe))
    assert to_bytes(coreasm_to_executable(module)) == to_bytes(exe)


def test_data_in_pieces_with_zeros_between(sample: Make) -> None:
    """Data by reference, data in the text and trailing zeros give the same image of weights as numpy."""
    exe = sample()
    rng = np.random.default_rng(0)
    first, second, third = (rng.integers(0, 256, size, np.uint8) for size in (100, 3, 500))
    image = np.zeros(1024, np.uint8)
    image[0:100], image[128:131], image[200:700] = first, second, third
    at = exe.weights_address
    chunks = [
        DataSection("dram", at + 200, STORE.put(third), room=824),
        DataSection("dram", at, first, room=128),
        DataSection("dram", at + 128, second.tobytes()),
    ]
    want = to_bytes(replace(exe, weights=image))
    module = executable_to_coreasm(replace(exe, weights=b""), chunks)
    assert to_bytes(coreasm_to_executable(module)) == want
    assert to_bytes(coreasm_to_executable(_reread(module))) == want


def test_image_of_one_piece_is_not_copied(sample: Make) -> None:
    exe = replace(sample(), weights=np.arange(4096, dtype=np.uint8))
    module = executable_to_coreasm(exe)
    one, other = (as_view(coreasm_to_executable(module).weights) for _ in range(2))
    assert np.shares_memory(np.frombuffer(one, np.uint8), np.frombuffer(other, np.uint8))


def test_data_that_overlap_or_lie_outside(sample: Make) -> None:
    exe = replace(sample(), weights=b"")
    at = exe.weights_address
    for chunks in (
        [DataSection("dram", at, b"abcd"), DataSection("dram", at + 3, b"e")],
        [DataSection("dram", at - 1, b"ab")],
    ):
        module = executable_to_coreasm(exe, chunks)
        with pytest.raises(InputError, match="overlaps other data or lies outside of the image"):
            coreasm_to_executable(module)


def test_every_line_removed_or_cut(sample: Make) -> None:
    """A module with a line removed or cut in half is either refused with an error or is valid."""
    out = StringIO()
    Printer(out).print_op(executable_to_coreasm(sample()))
    lines = out.getvalue().split("\n")
    for n in range(len(lines)):
        for changed in (lines[:n] + lines[n + 1 :], [*lines[:n], lines[n][: len(lines[n]) // 2], *lines[n + 1 :]]):
            try:
                module = Parser(_context(), "\n".join(changed), "x.mlir").parse_module()
                module.verify()
                to_bytes(coreasm_to_executable(module))
            except (ParseError, VerifyException, InputError):
                pass


def test_errors_of_the_executable_name_the_line_of_the_word(sample: Make) -> None:
    out = StringIO()
    Printer(out).print_op(executable_to_coreasm(sample()))
    text = out.getvalue().replace("set(1)", "set(9)")
    line = next(n for n, one in enumerate(text.split("\n"), 1) if "set(9)" in one)
    module = Parser(_context(), text, "x.mlir").parse_module()
    with pytest.raises(InputError, match=f"^x.mlir:{line}: program 'worker', word 6: 'put': names a core set"):
        coreasm_to_executable(module)
    with pytest.raises(VerifyException, match=f"line {line}: program 'worker', word 6"):
        module.verify()
