"""
`tool_server.py LISTENER LIFELINE FOLDER`: run installed commands for tests without their start-up.

Starting a command takes most of a second: modules are imported and compiled kernels read. This process does so once.
For each request it forks a process that gets the arguments, streams, folder and environment of the one that asks (see
`tool_client.py`), calls what the installed script of that name calls, and ends as that would end.

LISTENER and LIFELINE are open files: a listening socket, and a pipe that is closed when no more requests come. FOLDER,
which has a file for each command, is removed then.
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
"""The status with which Python ends where the last of its output cannot be written."""


def load(commands: Iterable[str]) -> None:
    """Import all modules of Meshloom, and what the commands call."""
    for package in PACKAGES:
        found = importlib.import_module(f"meshloom.{package}")
        for module in pkgutil.walk_packages(found.__path__, f"{found.__name__}."):
            importlib.import_module(module.name)
    for name in commands:
        entry(name)


def entry(name: str) -> Callable[[], Any]:
    """What the installed script of that name calls. Raises KeyError where there is none."""
    return entry_points(group="console_scripts")[name].load()


class Kernels:
    """Reads compiled kernels that are kept on disk, also those that a command has compiled since."""

    def __init__(self) -> None:
        modules = [module for name, module in list(sys.modules.items()) if name.startswith("meshloom.")]
        values = [value for module in modules for value in vars(module).values()]
        self._kernels: list[Any] = list({id(value): value for value in values if hasattr(value, "py_func")}.values())
        self._read: dict[int, float] = {}
        """Kernel number -> time at which its list of compiled forms was written."""

    def read(self) -> None:
        """Load what has been written since the last time."""
        for number, kernel in enumerate(self._kernels):
            kept = getattr(kernel._cache, "_cache_file", None)
            try:
                written = os.stat(kept._index_path).st_mtime if kept is not None else 0
            except FileNotFoundError:
                continue
            if written != self._read.get(number, 0):
                self._read[number] = written
                self._load(kernel, kept)
        # The commands do not tidy up after what was loaded here.
        for finalizer in vars(weakref.finalize)["_registry"]:
            finalizer.atexit = False

    def _load(self, kernel: Any, kept: Any) -> None:
        code = kernel.targetctx.codegen()
        for key in kept._load_index():
            if key == kernel._cache._index_key(key[0], code):  # compiled for this processor, of this source
                kernel.compile(key[0])


class Server:
    """The process that has everything loaded, and the commands that it runs."""

    def __init__(self, listener: socket.socket, lifeline: int) -> None:
        self._listener = listener
        self._lifeline = lifeline
        self._running: dict[int, socket.socket] = {}
        """Process -> the connection that waits for its end."""
        self._woken, self._waker = os.pipe()
        for end in (self._woken, self._waker):
            os.set_blocking(end, False)

    def serve(self, kernels: Kernels) -> Callable[[], Any] | None:
        """
        Fork a process for each request. Returns in each of these, with what it is to call; in the server, when no more
        requests come, with None.
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
        """The files at which something happens: requests, no more of them, a process's end, one who asked has left."""
        poll = select.poll()
        for file in (self._listener.fileno(), self._lifeline, self._woken):
            poll.register(file, select.POLLIN)
        for connection in self._running.values():
            poll.register(connection, 0)  # not the request, which the forked process reads
        return {file for file, _ in poll.poll()}

    def _answer(self) -> None:
        """Tell those who wait for a process that has ended how it ended."""
        for process in list(self._running):
            ended, status = os.waitpid(process, os.WNOHANG)
            if ended:
                with self._running.pop(process) as connection:
                    with suppress(OSError):  # it has left
                        connection.sendall(str(os.waitstatus_to_exitcode(status)).encode())

    def _stop(self, process: int) -> None:
        """End a command and what it has started."""
        with suppress(ProcessLookupError):  # it has ended
            os.killpg(process, signal.SIGKILL)

    def _become(self, connection: socket.socket) -> Callable[[], Any]:
        """In the forked process: take over what the request names; returns what is to be called."""
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
    """A process has ended: `Server.serve` finds which."""


def open_streams() -> None:
    """Make Python's streams anew for what the first three files are now, with the same encodings."""
    for number, (name, mode) in enumerate((("stdin", "r"), ("stdout", "w"), ("stderr", "w"))):
        old = getattr(sys, name)
        buffering, newline = 1 if name == "stderr" else -1, "\n" if mode == "w" else None
        stream = open(number, mode, buffering, old.encoding, old.errors, newline, closefd=False)
        setattr(sys, name, stream)
        setattr(sys, f"__{name}__", stream)


def run(command: Callable[[], Any]) -> int:
    """Call a command and do all that Python does at its end but taking modules apart, which takes long; its status."""
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
    """Serve until the lifeline is closed; a process that was forked for a command ends with its status."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # who asks is interrupted, and leaves
    sys.path[0] = sysconfig.get_path("scripts")  # as in the scripts that are installed
    warnings.filterwarnings("ignore", "This process .* is multi-threaded", DeprecationWarning)
    load(name for name in os.listdir(folder) if name != "socket")
    command = Server(socket.socket(fileno=listener), lifeline).serve(Kernels())
    if command is None:
        shutil.rmtree(folder, ignore_errors=True)
    os._exit(0 if command is None else run(command))


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3])
