"""
`tool_server.py LISTENER LIFELINE FOLDER`: run installed commands for tests without their start-up time.

The start of a command takes most of a second: modules are imported and compiled kernels read. This process does that
once. For each request it forks a process that gets the arguments, streams, folder and environment of the client (see
`tool_client.py`), calls the entry point of the installed script, and ends as the script would.

LISTENER and LIFELINE are open files: a listening socket, and a pipe that is closed after the last request. FOLDER,
which has a file for each command, is then removed.
"""

from __future__ import annotations

import atexit
import importlib
import marshal
import os
import pkgutil
import select
import shutil
import signal
import socket
import sys
import sysconfig
import threading
import warnings
import weakref
from collections.abc import Callable, Iterable
from contextlib import suppress
from importlib.metadata import entry_points
from types import FrameType
from typing import Any, NoReturn

PACKAGES = ("analysis", "chips", "dialects", "emulator", "frontend", "lowering", "support", "tools", "transforms")

CANNOT_FLUSH = 120
"""The status with which Python ends if it cannot write the rest of its output."""


def load(commands: Iterable[str]) -> None:
    """Import all modules of Meshloom, and the entry points of the commands."""
    for package in PACKAGES:
        found = importlib.import_module(f"meshloom.{package}")
        for module in pkgutil.walk_packages(found.__path__, f"{found.__name__}."):
            importlib.import_module(module.name)
    for name in commands:
        entry(name)


def entry(name: str) -> Callable[[], Any]:
    """The entry point of an installed script. Raises KeyError if there is none of that name."""
    return entry_points(group="console_scripts")[name].load()


class Kernels:
    """Reads compiled kernels from disk, including those that commands have compiled since the start."""

    def __init__(self) -> None:
        modules = [module for name, module in list(sys.modules.items()) if name.startswith("meshloom.")]
        values = [value for module in modules for value in vars(module).values()]
        self._kernels: list[Any] = list({id(value): value for value in values if hasattr(value, "py_func")}.values())
        self._read: dict[int, float] = {}
        """Kernel number -> time at which its index of compiled signatures was written."""

    def read(self) -> None:
        """Load the kernels written since the last call."""
        for number, kernel in enumerate(self._kernels):
            kept = getattr(kernel._cache, "_cache_file", None)
            try:
                written = os.stat(kept._index_path).st_mtime if kept is not None else 0
            except FileNotFoundError:
                continue
            if written != self._read.get(number, 0):
                self._read[number] = written
                self._load(kernel, kept)
        # The commands do not run finalisers of objects loaded here.
        for finalizer in vars(weakref.finalize)["_registry"]:
            finalizer.atexit = False

    def _load(self, kernel: Any, kept: Any) -> None:
        code = kernel.targetctx.codegen()
        for key in kept._load_index():
            if key == kernel._cache._index_key(key[0], code):  # compiled for this processor, from this source
                kernel.compile(key[0])


class Server:
    """The process that has all modules loaded, and the commands that it runs."""

    def __init__(self, listener: socket.socket, lifeline: int) -> None:
        self._listener = listener
        self._lifeline = lifeline
        self._running: dict[int, socket.socket] = {}
        """Process -> the connection of its client, which waits for its end."""
        self._woken, self._waker = os.pipe()
        for end in (self._woken, self._waker):
            os.set_blocking(end, False)

    def serve(self, kernels: Kernels) -> Callable[[], Any] | None:
        """
        Fork a process for each request.

        Returns in each forked process, with the entry point to call, and in the server after the last request, with
        None.
        """
        signal.signal(signal.SIGCHLD, _woken_up)
        signal.set_wakeup_fd(self._waker, warn_on_full_buffer=False)
        while True:
            events = self._wait()
            if self._woken in events:
                os.read(self._woken, 4096)
                self._answer()
            for process, connection in self._running.items():
                if connection.fileno() in events:
                    self._stop(process)
            if self._listener.fileno() in events:
                connection, _ = self._listener.accept()
                kernels.read()
                process = os.fork()
                if process == 0:
                    return self._become(connection)
                with suppress(OSError):
                    os.setpgid(process, process)
                self._running[process] = connection
            elif self._lifeline in events:
                for process in self._running:
                    self._stop(process)
                return None

    def _wait(self) -> set[int]:
        """The files with events: a request, the end of requests, the end of a process, a disconnected client."""
        poll = select.poll()
        for file in (self._listener.fileno(), self._lifeline, self._woken):
            poll.register(file, select.POLLIN)
        for connection in self._running.values():
            poll.register(connection, 0)  # only its end: the forked process reads the request
        return {file for file, _ in poll.poll()}

    def _answer(self) -> None:
        """Send the exit status of each process that has ended to its client."""
        for process in list(self._running):
            ended, status = os.waitpid(process, os.WNOHANG)
            if ended:
                with self._running.pop(process) as connection:
                    with suppress(OSError):  # the client has disconnected
                        connection.sendall(str(os.waitstatus_to_exitcode(status)).encode())

    def _stop(self, process: int) -> None:
        """Kill a command and the processes that it has started."""
        with suppress(ProcessLookupError):  # the process has ended
            os.killpg(process, signal.SIGKILL)

    def _become(self, connection: socket.socket) -> Callable[[], Any]:
        """In the forked process, take over streams, folder, environment and arguments; the entry point to call."""
        with suppress(OSError):
            os.setpgid(0, 0)
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        signal.signal(signal.SIGINT, signal.default_int_handler)
        for other in (self._listener, *self._running.values()):
            other.close()
        for number in (self._lifeline, self._woken, self._waker):
            os.close(number)
        header, streams, _, _ = socket.recv_fds(connection, 8, 3)
        request = b""
        while len(request) < int.from_bytes(header, "little"):
            request += connection.recv(1 << 20)
        connection.close()
        for number, stream in enumerate(streams):
            os.dup2(stream, number)
            os.close(stream)
        open_streams()
        (name, *arguments), folder, environment = marshal.loads(request)
        os.chdir(folder)
        os.environ.clear()
        os.environ.update(environment)
        sys.argv = [os.path.join(sysconfig.get_path("scripts"), name), *arguments]
        return entry(name)


def _woken_up(number: int, frame: FrameType | None) -> None:
    """Handle the end of a process by doing nothing: `Server.serve` finds the process."""


def open_streams() -> None:
    """Open Python's streams again for the current first three files, with the same encodings."""
    for number, (name, mode) in enumerate((("stdin", "r"), ("stdout", "w"), ("stderr", "w"))):
        old = getattr(sys, name)
        buffering, newline = 1 if name == "stderr" else -1, "\n" if mode == "w" else None
        stream = open(number, mode, buffering, old.encoding, old.errors, newline, closefd=False)
        setattr(sys, name, stream)
        setattr(sys, f"__{name}__", stream)


def run(command: Callable[[], Any]) -> int:
    """Call a command, and end as Python does, except for the slow clean-up of modules; the exit status."""
    try:
        status = command()
    except SystemExit as leaving:
        status = leaving.code
    except BaseException as error:
        sys.excepthook(type(error), error, error.__traceback__)
        status = 1
    if status is not None and not isinstance(status, int):
        print(status, file=sys.stderr)
        status = 1
    threads: Any = threading
    threads._shutdown()
    at_end: Any = atexit
    at_end._run_exitfuncs()
    try:
        sys.stdout.flush()
        sys.stderr.flush()
    except (OSError, ValueError):
        return CANNOT_FLUSH
    return (status or 0) & 0xFF


def main(listener: int, lifeline: int, folder: str) -> NoReturn:
    """Serve until the lifeline is closed; a process forked for a command ends with the status of the command."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # only the client is interrupted, and disconnects
    sys.path[0] = sysconfig.get_path("scripts")  # as in the installed scripts
    warnings.filterwarnings("ignore", "This process .* is multi-threaded", DeprecationWarning)
    load(name for name in os.listdir(folder) if name != "socket")
    command = Server(socket.socket(fileno=listener), lifeline).serve(Kernels())
    if command is None:
        shutil.rmtree(folder, ignore_errors=True)
    os._exit(0 if command is None else run(command))


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3])
