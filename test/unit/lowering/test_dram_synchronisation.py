"""Synchronisation of values in DRAM: addresses are reused, and writes wait for the readers of the previous value."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from meshloom.analysis.allocation.memory_reuse import reuse_dependences
from meshloom.chips import load_chip
from meshloom.dialects.dataflow import Dataflow
from meshloom.dialects.dataflow.interpreter import interpret_function
from meshloom.dialects.manycore import Manycore
from meshloom.dialects.memory import Memory
from meshloom.emulator.functional.engine import run_functional
from meshloom.emulator.machine.errors import EmulationError
from meshloom.lowering.autotune.compile_subgraph import compile_subgraph
from meshloom.lowering.codegen.dram_synchronisation import DramSynchronisation
from meshloom.lowering.driver.compile_module import Compilation, compile_module
from meshloom.lowering.manycore_to_memory import lower_module
from xdsl.context import Context
from xdsl.dialects.builtin import Builtin, ModuleOp
from xdsl.dialects.func import Func
from xdsl.parser import Parser

SIDE = 48
BYTES = SIDE * SIDE * 4
CHIP = replace(load_chip("tiny"), sram_bytes=4 << 10)
"""The SRAM of all cores is smaller than two values: all but a few values pass through DRAM."""


def network(lines: list[tuple[str, list[int]]], outputs: list[int]) -> ModuleOp:
    """Operations on square matrices; value 0 is the input."""
    type = f"tensor<{SIDE}x{SIDE}xf32>"
    body: list[str] = []
    for number, (name, operands) in enumerate(lines, 1):
        read = ", ".join(f"%{one}" for one in operands)
        attributes = " [1, 0]" if name == "transpose" else ""
        types = ", ".join([type] * len(operands))
        body.append(f"%{number} = dataflow.{name} {read}{attributes} : ({types}) -> {type}")
    results = ", ".join(f'{type} {{dataflow.name = "y{one}"}}' for one in outputs)
    returned = ", ".join(f"%{one}" for one in outputs)
    text = "\n".join(body)
    text = f"""func.func @main(%0: {type} {{dataflow.name = "x"}}) -> ({results}) {{
      {text}
      func.return {returned} : {", ".join([type] * len(outputs))}
    }}"""
    context = Context()
    for dialect in (Builtin, Func, Dataflow, Manycore, Memory):
        context.load_dialect(dialect)
    return Parser(context, text).parse_module()


def check(module: ModuleOp, compilation: Compilation) -> None:
    # Scaled so that products do not grow: tanh of large numbers would depend on the order of additions.
    x = np.random.default_rng(0).standard_normal((SIDE, SIDE)) / np.sqrt(SIDE)
    inputs = {"x": x.astype(np.float32)}
    expected = interpret_function(module, inputs)
    outputs = run_functional(compilation.executable, inputs, check=True).outputs
    for name, value in expected.items():
        np.testing.assert_allclose(outputs[name], value, rtol=0, atol=1e-4 * float(np.abs(value).max()))


CHAIN = [("matmul", [0, 0]), *(("matmul", [0, before]) for before in range(1, 6))]


def test_a_chain_takes_the_bytes_of_two_values() -> None:
    """In addition to input and result, DRAM holds the operand and the result of one product at a time."""
    module = network(CHAIN, [len(CHAIN)])
    compilation = compile_module(module.clone(), CHIP)
    check(module, compilation)
    assert compilation.parts[0].code.segments[-1] == 2 * BYTES
    assert compilation.executable.dram_bytes_used == 4 * BYTES


def test_dram_is_used_up_to_the_last_byte() -> None:
    """The reported size is sufficient; with less, the network does not fit one launch."""
    module = network(CHAIN, [len(CHAIN)])
    enough = compile_module(module.clone(), replace(CHIP, dram_bytes=4 * BYTES))
    check(module, enough)
    assert len(enough.parts) == 1
    assert len(compile_module(module.clone(), replace(CHIP, dram_bytes=4 * BYTES - 64)).parts) > 1


@pytest.mark.slow
def test_without_waiting_there_are_races(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without write-after-read waits there are races: value 3 has the address of value 1, which may still be read."""
    module = network([("matmul", [0, 0]), ("transpose", [1]), ("tanh", [0]), ("matmul", [3, 3])], [2, 4])
    compilation = compile_module(module.clone(), CHIP)
    assert compilation.parts[0].code.segments[-1] == BYTES
    check(module, compilation)

    def nothing(self: DramSynchronisation, number: int) -> None:
        del self, number

    monkeypatch.setattr(DramSynchronisation, "wait_write_after_read", nothing)
    with pytest.raises(EmulationError, match="order"):
        check(module, compile_module(module.clone(), CHIP))


@st.composite
def networks(draw: st.DrawFn) -> tuple[list[tuple[str, list[int]]], list[int]]:
    """Operations on values before them, and the numbers of the values that are outputs."""
    lines: list[tuple[str, list[int]]] = []
    for number in range(draw(st.integers(4, 10))):
        name = draw(st.sampled_from(["matmul", "add", "transpose", "tanh"]))
        before = st.integers(max(0, number - 4), number)
        lines.append((name, [draw(before) for _ in range(2 if name in ("matmul", "add") else 1)]))
    return lines, sorted({len(lines), draw(st.integers(1, len(lines)))})


@settings(max_examples=3, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(networks(), st.sampled_from([3 << 10, 4 << 10, 12 << 10]))
def test_random_networks(drawn: tuple[list[tuple[str, list[int]]], list[int]], sram_bytes: int) -> None:
    check_random(drawn, sram_bytes)


@pytest.mark.slow
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(networks(), st.sampled_from([3 << 10, 4 << 10, 12 << 10]))
def test_many_random_networks(drawn: tuple[list[tuple[str, list[int]]], list[int]], sram_bytes: int) -> None:
    check_random(drawn, sram_bytes)


def check_random(drawn: tuple[list[tuple[str, list[int]]], list[int]], sram_bytes: int) -> None:
    """Check that there are no races, that results are correct, and that live buffers do not overlap."""
    module = network(*drawn)
    chip = replace(CHIP, sram_bytes=sram_bytes)
    check(module, compile_module(module.clone(), chip))
    lowered = module.clone()
    compile_subgraph(lowered, chip)
    lower_module(lowered, chip)
    lowered.verify()


@given(st.lists(st.tuples(st.integers(1, 6), st.integers(0, 9)), max_size=12))
def test_last_occupants(buffers: list[tuple[int, int]]) -> None:
    """The memory-reuse dependences equal those found byte by byte."""
    owner: dict[int, int] = {}
    found = reuse_dependences([size for size, _ in buffers], [low for _, low in buffers])
    for number, (size, low) in enumerate(buffers):
        taken = {owner[byte] for byte in range(low, low + size) if byte in owner}
        assert found[number] == sorted(taken)
        owner |= dict.fromkeys(range(low, low + size), number)
