"""A folder of commands that run in a tool server, for the PATH of tests."""

from __future__ import annotations

import os
import shlex
import socket
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from importlib.metadata import entry_points
from pathlib import Path

HERE = Path(__file__).parent
OTHERS = ("filecheck", "xdsl-opt")
"""Commands of other projects, in addition to all of Meshloom."""


class ToolServer:
    """
    A running server, started with an environment; `folder` has a script for each command, of the same name.

    The server ends, and removes the folder, when it is stopped, or when this process and all processes forked from it
    have ended.
    """

    def __init__(self, environment: Mapping[str, str]) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="meshloom-tools-"))
        address = self.folder / "socket"
        for name in {*_own_commands(), *OTHERS}:
            self._write_script(name, address)
        lifeline, self._held = os.pipe()
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listener:
            listener.bind(str(address))
            listener.listen(1024)
            files = (listener.fileno(), lifeline)
            command = [sys.executable, HERE / "tool_server.py", *map(str, files), self.folder]
            null = subprocess.DEVNULL
            self._process = subprocess.Popen(command, stdin=null, stdout=null, env=environment, pass_fds=files)
        os.close(lifeline)

    def stop(self) -> None:
        """Stop the server and the commands that it runs."""
        os.close(self._held)
        self._process.wait()

    def _write_script(self, name: str, address: Path) -> None:
        client = shlex.join([sys.executable, "-IS", str(HERE / "tool_client.py"), str(address)])
        script = self.folder / name
        script.write_text(f'#!/bin/sh\nexec {client} {name} "$@"\n')
        script.chmod(0o755)


def _own_commands() -> list[str]:
    names = [command.name for command in entry_points(group="console_scripts")]
    return [name for name in names if name.startswith("meshloom-")]
