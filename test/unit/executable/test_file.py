"""Executable files: round trips, errors for damaged files, and the structure that readelf reads."""

from __future__ import annotations

import hashlib
import itertools
import json
import random
import shutil
import struct
import subprocess
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from meshloom.dialects.coreasm.isa import DESC, OPCODE, new_words
from meshloom.emulator.executable.elf import find_sections
from meshloom.emulator.executable.executable import (
    Executable,
    Program,
    as_view,
    from_bytes,
    idle_program,
    read_executable,
    source_name,
    to_bytes,
    write_executable,
)
from meshloom.emulator.executable.shared_rows import runs_of
from meshloom.support.errors import InputError, MeshloomError

Make = Callable[[], Executable]
MakeSeeded = Callable[[int], Executable]


def _with_checksum(data: bytearray) -> bytes:
    """The bytes with a correct checksum, which is the content of the first note."""
    table = struct.unpack("<Q", data[40:48])[0]
    offset = struct.unpack("<Q", data[table + 64 + 24 : table + 64 + 32])[0]
    at = offset + 12 + 12
    data[at : at + 32] = bytes(32)
    data[at : at + 32] = hashlib.sha256(data).digest()
    return bytes(data)


def contents(data: bytes) -> dict[str, bytes]:
    """The decompressed sections of a file, except the note with the checksum."""
    found = find_sections(memoryview(data), "the file")
    return {section.name: bytes(section.content) for section in found if section.name != ".note.meshloom"}


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 10**6))
def test_round_trip(random_executable: MakeSeeded, seed: int) -> None:
    exe = random_executable(seed)
    data = to_bytes(exe)
    again = from_bytes(data)
    assert to_bytes(again) == data
    assert [p.name for p in again.programs] == [p.name for p in exe.programs]
    for left, right in zip(exe.programs, again.programs, strict=True):
        np.testing.assert_array_equal(left.words, right.words)
        np.testing.assert_array_equal(left.descs, right.descs)
        np.testing.assert_array_equal(left.params, right.params)
        np.testing.assert_array_equal(left.sources, right.sources)
    np.testing.assert_array_equal(exe.core_sets, again.core_sets)
    np.testing.assert_array_equal(exe.controller, again.controller)
    assert (again.tensors, again.notes, again.source_names) == (exe.tensors, exe.notes, exe.source_names)
    assert again.chip == exe.chip
    assert (again.weights_address, again.dram_bytes_used) == (exe.weights_address, exe.dram_bytes_used)


def test_file_is_mapped_not_copied(sample: Make, tmp_path: Path) -> None:
    path = tmp_path / "a.mlx"
    write_executable(sample(), path)
    exe = read_executable(path)
    assert isinstance(exe.weights, np.ndarray)
    assert not exe.weights.flags.owndata
    assert not exe.weights.flags.writeable
    assert bytes(as_view(exe.weights)) == sample().weights
    assert list(tmp_path.iterdir()) == [path]


def test_weights_of_any_kind(sample: Make) -> None:
    exe = sample()
    data = to_bytes(exe)
    for weights in (bytearray(as_view(exe.weights)), as_view(exe.weights), np.frombuffer(as_view(exe.weights), "u1")):
        exe.weights = weights
        assert to_bytes(exe) == data
    exe.weights = b""
    assert from_bytes(to_bytes(exe)).weight_bytes == 0


def test_unused_fields_are_made_canonical(sample: Make) -> None:
    exe = sample()
    data = to_bytes(exe)
    exe.programs[0].words["desc"][7] = 0  # wait has no operands
    exe.programs[0].words["addr"][7, 3] = 5
    assert to_bytes(exe) == data


def test_source_names(sample: Make) -> None:
    exe = sample()
    assert source_name(exe, exe.programs[0], 0) == "conv/0"
    assert source_name(exe, exe.programs[1], 0) == ""


def test_failed_write_leaves_nothing(sample: Make, tmp_path: Path) -> None:
    with pytest.raises(MeshloomError, match="cannot write"):
        write_executable(sample(), tmp_path / "missing" / "a.mlx")
    exe = sample()
    exe.programs[0].words["op"][4] = 250
    with pytest.raises(MeshloomError, match=r"program 'worker', word 4: there is no instruction with opcode 250"):
        write_executable(exe, tmp_path / "a.mlx")
    assert list(tmp_path.iterdir()) == []


def test_unreadable(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot read"):
        read_executable(tmp_path / "none.mlx")
    with pytest.raises(InputError, match="cannot read"):
        read_executable(tmp_path)
    (tmp_path / "empty.mlx").write_bytes(b"")
    with pytest.raises(InputError, match="not a Meshloom executable"):
        read_executable(tmp_path / "empty.mlx")


def test_every_truncation(sample: Make) -> None:
    data = to_bytes(sample())
    for size in range(0, len(data), 7):
        with pytest.raises(InputError):
            from_bytes(data[:size])
    with pytest.raises(InputError):
        from_bytes(data + b"\0")


@pytest.mark.parametrize("right_checksum", [False, True])
def test_mutations(sample: Make, right_checksum: bool) -> None:
    """Files with random changes are refused or, with a correct checksum, read as an executable of equal sections."""
    good = to_bytes(sample())
    rng = random.Random(7)
    accepted = 0
    for _ in range(2000):
        data = bytearray(good)
        for _ in range(rng.choice([1, 1, 1, 2, 8])):
            kind, at = rng.randrange(3), rng.randrange(len(data) - 1280)
            if kind == 0:
                data[at] ^= 1 << rng.randrange(8)
            elif kind == 1:
                data[at] = rng.choice([0, 0xFF, 0x7F, 0x80])
            else:
                data[at : at + 8] = rng.choice([b"\xff" * 8, bytes(8), rng.randbytes(8)])
        if right_checksum:
            try:
                data = bytearray(_with_checksum(data))
            except struct.error:
                continue
        changed = bytes(data)
        if changed == good:
            continue
        try:
            exe = from_bytes(changed, "x.mlx")
        except InputError as error:
            assert str(error).startswith("x.mlx")  # noqa: PT017
        else:
            assert right_checksum
            assert contents(to_bytes(exe)) == contents(changed)
            accepted += 1
    assert accepted > 0 or not right_checksum


def test_overlapping_sections_are_refused(sample: Make) -> None:
    """Sections that share bytes are refused, so that the reader does not use more memory than the size of the file."""
    data = bytearray(to_bytes(sample()))
    table = struct.unpack("<Q", data[40:48])[0]
    headers = [bytes(data[at : at + 64]) for at in range(table, table + 64 * struct.unpack("<H", data[60:62])[0], 64)]
    header = max(headers, key=lambda one: struct.unpack("<Q", one[32:40]))
    struct.pack_into("<Q", data, 40, len(data))
    struct.pack_into("<H", data, 60, 60000)
    data += bytes(64) + header * 59999
    with pytest.raises(InputError, match="overlap"):
        from_bytes(bytes(data))


def test_other_elf_files_are_refused() -> None:
    python = Path("/proc/self/exe")
    if not python.exists():
        pytest.skip("no ELF file at hand")
    with pytest.raises(InputError, match="not a Meshloom executable"):
        read_executable(python)


def test_notes_must_be_json_objects(sample: Make) -> None:
    data = bytearray(to_bytes(sample()))
    at = data.index(json.dumps({"compiler": "test", "entry": "main"}).encode())
    data[at] = ord("[")
    with pytest.raises(InputError, match="notes cannot be read"):
        from_bytes(_with_checksum(data))


@pytest.mark.skipif(shutil.which("readelf") is None, reason="readelf is not installed")
def test_readelf_sees_the_structure(sample: Make, tmp_path: Path) -> None:
    path = tmp_path / "a.mlx"
    write_executable(sample(), path)
    done = subprocess.run(["readelf", "-hSlnW", str(path)], capture_output=True, text=True, check=True)
    assert "Warning" not in done.stderr
    assert "Error" not in done.stderr
    for name in (".programs", ".note.meshloom", ".tensors", ".debug.names", ".weights"):
        assert name in done.stdout
    assert done.stdout.count("Meshloom") == 3


@pytest.mark.skipif(shutil.which("readelf") is None, reason="readelf is not installed")
def test_readelf_decompresses_sections(sample: Make, tmp_path: Path) -> None:
    exe = sample()
    words = new_words(301)
    words["op"], words["imm"], words["addr"][:, 0] = OPCODE["li"], 1, range(301)
    words[-1:] = idle_program().words
    exe.programs.append(Program("long", words, np.zeros(0, DESC)))
    path = tmp_path / "a.mlx"
    write_executable(exe, path)
    done = subprocess.run(["readelf", "-z", "-x", ".words", str(path)], capture_output=True, text=True, check=True)
    # Each line has an address, four columns of up to four bytes, and the bytes as text.
    shown = [line[13:48] for line in done.stdout.splitlines() if line.startswith("  0x")]
    columns = np.frombuffer(bytes.fromhex("".join(shown)), np.uint8).reshape(32, -1)
    # Each byte position is sorted by those before it, the first of which is the opcode; `addr` begins at byte 8.
    opcodes = np.sort(columns[0])
    low = columns[8:12, opcodes == OPCODE["li"]].T.copy().view(">u4")
    assert low.reshape(-1)[:300].tolist() == list(range(300))
    assert path.stat().st_size < words.nbytes


def test_same_bytes_in_another_process(sample: Make, tmp_path: Path) -> None:
    path = tmp_path / "a.mlx"
    write_executable(sample(), path)
    code = (
        "import sys; from meshloom.emulator.executable.executable import *;"
        "sys.stdout.buffer.write(to_bytes(read_executable(sys.argv[1]))); assert 'xdsl' not in sys.modules"
    )
    import sys

    done = subprocess.run(
        [sys.executable, "-c", code, str(path)], capture_output=True, check=True, env={"PYTHONHASHSEED": "5"}
    )
    assert done.stdout == path.read_bytes()


def test_words_that_programs_share_are_in_the_file_once(sample: Make) -> None:
    exe = sample()
    words = new_words(301)
    words["op"], words["imm"], words["addr"][:, 0] = OPCODE["li"], 1, range(301)
    words[-1:] = idle_program().words
    sizes = [len(contents(to_bytes(exe))[".words"])]
    for number in range(3):
        exe.programs.append(Program(f"copy{number}", words, np.zeros(0, DESC)))
        sizes.append(len(contents(to_bytes(exe))[".words"]))
    first, *more = np.diff(sizes)
    assert first >= words[:300].nbytes
    assert more == [0, 0]
    assert np.array_equal(from_bytes(to_bytes(exe)).programs[-1].words, words)


@pytest.mark.parametrize("values", [[], [7], [7, 7, 7], [1, 2, 2, 1, 1]])
def test_runs_of_sources(values: list[int]) -> None:
    runs = runs_of(np.array(values, np.uint32))
    assert np.repeat(runs[:, 0], runs[:, 1]).tolist() == values
    assert len(runs) == sum(1 for _ in itertools.groupby(values))
