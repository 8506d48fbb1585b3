"""Tests that commands in the tool server for tests behave as the installed ones."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from tool_launchers import ToolServer

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="elsewhere the tests of IR start the commands")

HERE = Path(__file__).parent
SCRIPTS = Path(sys.executable).parent
MODULE = """func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %y = dataflow.relu %x : (tensor<4xf32>) -> tensor<4xf32>
  func.return %y : tensor<4xf32>
}
// CHECK: dataflow.relu
"""
ENVIRONMENT = {**os.environ, "PYTHONHASHSEED": "0"}


@pytest.fixture(scope="module")
def server() -> Iterator[ToolServer]:
    found = ToolServer(ENVIRONMENT)
    yield found
    found.stop()
    assert not found.folder.exists()


def ended(tool: Path, arguments: list[str], text: str, folder: Path, **variables: str) -> tuple[int, str, str]:
    """The status, output and errors of a command that runs in a folder."""
    environment = {**ENVIRONMENT, **variables}
    done = subprocess.run([tool, *arguments], input=text, capture_output=True, text=True, cwd=folder, env=environment)
    return done.returncode, done.stdout, done.stderr


CALLS: dict[str, tuple[int, str, list[str], str]] = {
    "version": (0, "meshloom-opt", ["--version"], ""),
    "output": (0, "meshloom-opt", ["-t", "interpret{inputs=iota}"], MODULE),
    "text file": (0, "meshloom-opt", ["-p", "canonicalize", "-o", "written by the tool.mlir"], MODULE),
    "executable": (0, "meshloom-compile", ["module.mlir", "--chip=tiny", "-o", "a.mlx"], ""),
    "matched": (0, "filecheck", ["module.mlir"], "%0 = dataflow.relu %x"),
    "not matched": (1, "filecheck", ["module.mlir"], "%0 = dataflow.neg %x"),
    "no such file": (2, "meshloom-opt", ["no such file.mlir"], ""),
    "bad usage": (2, "meshloom-run", ["--no-such-option", "quoted ' and \" and $HOME"], ""),
    "bad input": (2, "meshloom-opt", [], MODULE.replace("4", "5", 1)),
}
"""Status, tool, arguments, input."""


@pytest.mark.parametrize("call", CALLS)
def test_streams_status_and_files(call: str, server: ToolServer, tmp_path: Path) -> None:
    """Streams, status and files equal those of the installed script."""
    status, tool, arguments, text = CALLS[call]
    results: list[tuple[int, str, str]] = []
    files: list[dict[str, bytes]] = []
    for scripts in (SCRIPTS, server.folder):
        folder = tmp_path / scripts.name
        folder.mkdir()
        (folder / "module.mlir").write_text(MODULE)
        results.append(ended(scripts / tool, arguments, text, folder))
        files.append({path.name: path.read_bytes() for path in folder.iterdir()})
    assert results[0] == results[1]
    assert results[0][0] == status
    assert files[0] == files[1]


def test_environment(server: ToolServer, tmp_path: Path) -> None:
    """A command has the environment of its caller: COLUMNS is the width of the help."""
    narrow, wide = (
        ended(server.folder / "xdsl-opt", ["--help"], "", tmp_path, COLUMNS=width)[1] for width in ("40", "400")
    )
    assert narrow.count("\n") > 2 * wide.count("\n")


def test_concurrent_commands_are_independent(server: ToolServer, tmp_path: Path) -> None:
    """Of several commands at the same time, each has its own output."""
    commands = [[server.folder / "meshloom-opt", "-t", f"interpret{{seed={seed}}}"] for seed in (1, 1, 2)]
    pipe = subprocess.PIPE
    running = [subprocess.Popen(one, stdin=pipe, stdout=pipe, text=True, cwd=tmp_path) for one in commands]
    for one in running:
        assert one.stdin is not None
        one.stdin.write(MODULE)
    first, second, third = (one.communicate()[0] for one in running)
    assert first == second != third


def test_a_command_ends_with_its_launcher(server: ToolServer, tmp_path: Path) -> None:
    """A command that reads more input than a pipe holds is ended, and its output closed, if the launcher is killed."""
    pipe = subprocess.PIPE
    asking = subprocess.Popen([server.folder / "meshloom-opt"], stdin=pipe, stdout=pipe, cwd=tmp_path)
    assert asking.stdin is not None
    asking.stdin.write(b"\n" * (1 << 20))
    asking.kill()
    assert asking.stdout is not None
    assert asking.stdout.read() == b""
    assert asking.wait() == -signal.SIGKILL


def test_the_server_ends_with_the_process_that_started_it(tmp_path: Path) -> None:
    source = "import os, tool_launchers; print(tool_launchers.ToolServer(os.environ).folder)"
    environment = {**ENVIRONMENT, "PYTHONPATH": str(HERE.parent / "tool_server")}
    done = subprocess.run(
        [sys.executable, "-c", source], stdout=subprocess.PIPE, text=True, env=environment, check=True
    )
    folder = Path(done.stdout.strip())
    for _ in range(600):
        if not folder.exists():
            return
        time.sleep(0.1)
    pytest.fail(f"{folder} is still there")
