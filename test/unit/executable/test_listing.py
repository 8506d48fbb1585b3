"""Listings assemble to the same bytes; errors name the line; the tools objdump and assemble."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from meshloom.dialects.coreasm.isa import BY_MNEMONIC
from meshloom.dialects.coreasm.line_tokens import LineTokens
from meshloom.dialects.coreasm.text import format_fields, format_immediate, parse_fields
from meshloom.emulator.executable.executable import Executable, to_bytes, write_executable
from meshloom.lowering.linker.assemble import assemble
from meshloom.lowering.linker.listing import listing
from meshloom.support.errors import InputError

Make = Callable[[], Executable]
MakeSeeded = Callable[[int], Executable]


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 10**6))
def test_listing_gives_the_same_bytes(random_executable: MakeSeeded, seed: int) -> None:
    exe = random_executable(seed)
    text = "\n".join(listing(exe))
    assert to_bytes(assemble(text.split("\n"))) == to_bytes(exe)


@given(bits=st.integers(0, (1 << 32) - 1))
def test_every_float_immediate(bits: int) -> None:
    fill = BY_MNEMONIC["fill"]
    text = f"f32 [0x0, d0], {format_immediate(bits, True)}"
    fields = parse_fields(LineTokens(text, "x"), fill)
    assert fields.addr[1] == bits
    assert format_fields(fill, fields) == text


ERRORS = {
    "f32 remote": ("f33 remote", "expected an element type: f32, .* \\(before 'remote'\\)"),
    "  put f32": ("  putt f32", "there is no instruction or directive 'putt'"),
    "sem(7) set(1)": ("sem(7)", "expected 'set' \\(before 'param'\\)"),
    "+ r3": ("+ r16", "expected a register: r0 to r15"),
    "wait(load)": ("wait(loads)", "expected a unit: mpu"),
    "1.5 wait": ("1..5 wait", "cannot read '.5 wait"),
    ".desc [16] [-4]": (".desc [16] [-4, 1]", "1 to 5 sizes and as many strides"),
    "param(addr1 = 0)": ("param(op = 0)", "expected a field: addr0, .* \\(before '='\\)"),
    'input "x"': ("input x", "expected a name in \"quotes\" \\(before 'x'\\)"),
    "cores 0 ": ("cores 1 ", "core 1 does not exist or has a program already"),
    '.run "worker" cores 2': ('.run "other" cores 2', "there is no program 'other'"),
    "isa 2": ("isa 9", "supports instruction set 2"),
    "AAECAwQF": ("AAE*AwQF", "expected weights in base64"),
    "bytes 1280": ("bytes 1281", "not the 1281 bytes with that sha256"),
    "count = 5": ("count = 4294967296", "expected count: an integer from 0 to 4294967295"),
}


@pytest.mark.parametrize("old", ERRORS)
def test_errors_name_the_line(sample: Make, old: str) -> None:
    new, message = ERRORS[old]
    lines = list(listing(sample()))
    number = next(n for n, line in enumerate(lines, 1) if old in line)
    lines[number - 1] = lines[number - 1].replace(old, new, 1)
    where = "" if "not the" in message or "base64" in message or "program already" in message else f":{number}"
    with pytest.raises(InputError, match=f"x.lst{where}.*{message}"):
        assemble(lines, "x.lst")


def test_a_chip_by_its_name(sample: Make) -> None:
    """A listing may refer to a chip by name instead of containing its whole description."""
    lines = list(listing(sample()))
    number = next(n for n, line in enumerate(lines) if line.startswith(".chip "))
    named = sample().chip.name
    assert to_bytes(assemble([*lines[:number], f'.chip "{named}"', *lines[number + 1 :]])) == to_bytes(sample())
    with pytest.raises(InputError, match=rf"x.lst:{number + 1}: .* nor one of cloud, edge, grid, tiny"):
        assemble([*lines[:number], '.chip "none"', *lines[number + 1 :]], "x.lst")


def test_every_line_removed_or_cut(sample: Make) -> None:
    """A listing with a line removed or cut in half is either refused with an error or is valid."""
    lines = list(listing(sample()))
    for n in range(len(lines)):
        for changed in (lines[:n] + lines[n + 1 :], [*lines[:n], lines[n][: len(lines[n]) // 2], *lines[n + 1 :]]):
            try:
                to_bytes(assemble(changed))
            except InputError:
                pass


def _tool(name: str, *arguments: str, text: str | None = None) -> tuple[int, str, str]:
    command = [sys.executable, "-m", f"meshloom.tools.{name}", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, input=text, check=False)
    return done.returncode, done.stdout, done.stderr


def test_tools(sample: Make, tmp_path: Path) -> None:
    path, again, text = tmp_path / "a.mlx", tmp_path / "b.mlx", tmp_path / "a.lst"
    write_executable(sample(), path)
    assert _tool("objdump", str(path), "-o", str(text)) == (0, "", "")
    assert _tool("assemble", str(text), "-o", str(again)) == (0, "", "")
    assert again.read_bytes() == path.read_bytes()
    again.unlink()

    weights = tmp_path / "w.bin"
    assert _tool("objdump", str(path), "-o", str(text), "--weights-file", str(weights))[0] == 0
    assert weights.read_bytes() == sample().weights
    assert 'file "w.bin"' in text.read_text()
    assert _tool("assemble", str(text), "-o", str(again))[0] == 0
    assert again.read_bytes() == path.read_bytes()
    again.unlink()

    status, out, _ = _tool("objdump", str(path), "--no-weights")
    assert status == 0
    status, _, err = _tool("assemble", "-", "-o", str(again), text=out)
    assert (status, err.count("\n")) == (2, 1)
    assert "--weights FILE" in err
    assert not again.exists()
    assert _tool("assemble", "-", "-o", str(again), "--weights", str(weights), text=out)[0] == 0
    assert again.read_bytes() == path.read_bytes()


def test_tool_parts_and_errors(sample: Make, tmp_path: Path) -> None:
    path = tmp_path / "a.mlx"
    write_executable(sample(), path)
    status, out, _ = _tool("objdump", str(path), "--program", "idle")
    assert (status, out) == (0, '\n.program "idle"\n  halt  ; 0\n')
    status, out, _ = _tool("objdump", str(path), "-j", "controller", "-f")
    assert ".chip" in out
    assert "ctl.launch launch(1)" in out
    assert ".program" not in out
    status, _, err = _tool("objdump", str(path), "--program", "nothing")
    assert (status, err) == (2, f"error: {path} has no program 'nothing'; it has worker, idle\n")
    status, _, err = _tool("objdump", str(tmp_path / "none"))
    assert (status, err.count("\n"), err[:6]) == (2, 1, "error:")
    status, _, err = _tool("assemble", str(path), "-o", str(tmp_path / "c.mlx"))
    assert (status, err.count("\n"), "not UTF-8" in err) == (2, 1, True)
    assert not (tmp_path / "c.mlx").exists()
    for name in ("objdump", "assemble"):
        status, out, _ = _tool(name, "--help")
        assert (status, "examples:" in out) == (0, True)
        assert _tool(name, "--version")[1].startswith("meshloom ")
