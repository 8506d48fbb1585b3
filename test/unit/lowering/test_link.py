"""Linked executables are valid, and run in the emulator."""

import numpy as np
import pytest
from meshloom.chips import Chip, load_chip
from meshloom.dialects.coreasm.isa import BY_CODE, OPCODE
from meshloom.emulator.executable.check import check_executable
from meshloom.emulator.executable.executable import Executable, TensorInfo, from_bytes, to_bytes
from meshloom.lowering.codegen.core_sets import CoreSetTable
from meshloom.lowering.codegen.stream import CoreStream, DescriptorTable, split_address
from meshloom.lowering.linker.controller import Boundary, Copy, boundary_actions, controller_words
from meshloom.lowering.linker.link_codes import link_codes
from meshloom.lowering.linker.link_launch import launch_code
from meshloom.support.errors import MeshloomError

ROWS, WIDTH = 12, 16
ROW_BYTES = 4 * WIDTH


def negate_stream(table: DescriptorTable, core: int, offset: int) -> CoreStream:
    """Negate `ROWS` rows of f32, the core's part of the input, row by row through two buffers."""
    stream = CoreStream(table)
    row = table.intern((WIDTH,), (4,))
    for i in range(ROWS):
        a, b = (i % 2) * ROW_BYTES, 256 + (i % 2) * ROW_BYTES
        source = (core * ROWS + i) * ROW_BYTES
        stream.emit(
            OPCODE["load"],
            addr=(a, *split_address(source)),
            desc=(row, row),
            effects=[(0, a, a + ROW_BYTES, True), (1, source, source + ROW_BYTES, False)],
            source=0,
        )
        stream.emit(
            OPCODE["neg"],
            addr=(b, a),
            desc=(row, row),
            effects=[(0, b, b + ROW_BYTES, True), (0, a, a + ROW_BYTES, False)],
            source=1,
        )
        low, high = split_address(offset + source)
        stream.emit(
            OPCODE["store"],
            addr=(low, b, 0, high),
            desc=(row, row),
            effects=[(0, b, b + ROW_BYTES, False), (1, offset + source, offset + source + ROW_BYTES, True)],
            source=2,
        )
    return stream


def linked(chip: Chip, cores: list[int], launches: int = 1) -> Executable:
    table = DescriptorTable()
    size = chip.cores * ROWS * ROW_BYTES
    shape = (chip.cores * ROWS, WIDTH)
    tensors = [
        TensorInfo("x", "input", 0, shape, 0, size, 0),
        TensorInfo("y", "output", 0, shape, size, size, size),
    ]
    streams = [{core: negate_stream(table, core, size) for core in cores} for _ in range(launches)]
    no_sets = CoreSetTable(chip.cores).array()
    codes = [launch_code(chip, one, no_sets, "launch") for one in streams]
    found = link_codes(chip, codes, [np.zeros(1, np.int64)] * launches, [()] * launches)
    boundaries = [Boundary() for _ in range(launches)]
    boundaries[0].before = [Copy(True, 0, 0, size)]
    boundaries[-1].after = [Copy(False, size, size, size)]
    return Executable(
        chip, tensors, found.programs, found.launches, found.core_sets, controller_words(boundary_actions(boundaries)),
        dram_bytes_used=2 * size, source_names=["l", "n", "s"],
    )  # fmt: skip


@pytest.mark.parametrize("cores", [[0], [0, 1, 2, 3]])
def test_executables_are_valid_and_short(cores: list[int]):
    exe = linked(load_chip("tiny"), cores, launches=2)
    check_executable(exe)
    again = from_bytes(to_bytes(exe))
    assert len(again.programs) == 2, "the idle one, and one for all cores of both launches"
    program = again.programs[1]
    # Two tiles of three instructions without loops, then a loop of two tiles; one register for the addresses in DRAM.
    assert len(program.words) < 3 * ROWS
    assert "loop" in {BY_CODE[op].mnemonic for op in program.words["op"].tolist()}
    assert [again.launches[0].program_of_core[core] for core in cores] == [1] * len(cores)
    names = [BY_CODE[op].mnemonic for op in again.controller["op"].tolist()]
    launches = ["ctl.launch", "ctl.join"] * 2
    assert names == ["ctl.h2d", "ctl.wait", *launches, "ctl.d2h", "ctl.wait", "ctl.halt"]


def test_the_emulator_runs_the_linked_streams():
    from meshloom.emulator.functional.engine import run_functional

    chip = load_chip("tiny")
    x = np.random.default_rng(0).standard_normal((chip.cores * ROWS, WIDTH)).astype(np.float32)
    result = run_functional(linked(chip, list(range(chip.cores))), {"x": x})
    np.testing.assert_array_equal(result.outputs["y"], -x)


def test_core_sets_are_interned():
    table = CoreSetTable(4)
    assert [table.intern({0, 2}), table.intern([3]), table.intern((2, 0))] == [0, 1, 0]
    assert table.array().tolist() == [[True, False, True, False], [False, False, False, True]]
    with pytest.raises(ValueError, match="0 to 3"):
        table.intern({4})


def test_too_many_core_sets(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("meshloom.lowering.codegen.core_sets._MOST", 2)
    table = CoreSetTable(4)
    table.intern({0})
    table.intern({1})
    with pytest.raises(MeshloomError, match="larger"):
        table.intern({2})


def test_streams_must_share_their_descriptors():
    streams = {core: negate_stream(DescriptorTable(), core, 4096) for core in range(2)}
    with pytest.raises(ValueError, match="descriptor table"):
        launch_code(load_chip("tiny"), streams, CoreSetTable(4).array(), "launch")
