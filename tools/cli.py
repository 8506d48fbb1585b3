"""Common parts of the command lines: exit statuses, error messages, `--version`, `NAME=SHAPE` options."""

from __future__ import annotations

import argparse
import errno
import os
import sys
import warnings
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NoReturn

from ..support.errors import InputError, MeshloomError, printable
from ..support.garbage import rare_collections
from ..support.interrupts import EXIT_INTERRUPTED, end_on_interrupt, raise_on_interrupt
from ..support.sizes import UpTo
from ..support.warn import MeshloomWarning
from .help_format import HelpFormatter
from .plugin_option import add_plugin_option, load_named_plugins
from .report.versions import versions

EXIT_FAILED = 1
EXIT_USAGE = 2
EXIT_STATUSES = {
    0: "success",
    EXIT_FAILED: "failure",
    EXIT_USAGE: "bad usage or input",
    EXIT_INTERRUPTED: "interrupted",
}
"""Meaning of the exit statuses of all tools."""
NO_MEMORY = "out of memory: this machine, or the limit of the process, has too little for this input"


def run_tool(body: Callable[[], int | None]) -> int:
    """
    Run a tool's body and return its exit status; errors become one line `error: ...` on stderr. Errors in a text are
    preceded by FILE:LINE:COLUMN and followed by the line of the text.

    0: done; 1: failure; 2: bad usage or input; 130: interrupted from the keyboard.
    """
    try:
        with _interruptible(), _warnings_as_notes(), rare_collections():
            return body() or 0
    except KeyboardInterrupt:
        return _complain("interrupted", EXIT_INTERRUPTED)
    except BrokenPipeError:
        # The reader of the output closed it (`| head`): no error; silence the interpreter's final flush.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return EXIT_FAILED
    except MeshloomError as error:
        return _complain_at(error, exit_status(type(error)))
    except FileNotFoundError as error:
        return _complain(f"{error.filename}: no such file", EXIT_USAGE)
    except OSError as error:
        if error.errno == errno.ENOMEM:
            return _complain(NO_MEMORY, EXIT_FAILED)
        if error.errno == errno.ENOSPC and not error.filename:
            # Errors of files name the file (see `support/files.py`): this one is about standard output.
            with suppress(OSError):
                sys.stdout.close()
            return _complain(f"cannot write the output: {error.strerror}", EXIT_FAILED)
        return _complain(f"{error.filename}: {error.strerror}" if error.filename else str(error), EXIT_USAGE)
    except MemoryError:
        return _complain(NO_MEMORY, EXIT_FAILED)
    except Exception as error:
        if os.environ.get("MESHLOOM_DEBUG"):
            raise
        from .diagnostics import describe

        if (message := describe(error)) is not None:
            return _complain_at(error, EXIT_USAGE, message)
        kind = f"{type(error).__name__}: {error}"
        return _complain(f"internal error: {kind} (set MESHLOOM_DEBUG=1 for the traceback)", EXIT_FAILED)


def exit_status(error: type[MeshloomError]) -> int:
    """The exit status for an error of this class."""
    return EXIT_USAGE if issubclass(error, InputError) else EXIT_FAILED


@contextmanager
def _interruptible() -> Generator[None]:
    """Context in which an interrupt from the keyboard ends the process at once: see `support/interrupts.py`."""
    ours = end_on_interrupt()
    try:
        yield
    finally:
        if ours:
            raise_on_interrupt()


@contextmanager
def _warnings_as_notes() -> Generator[None]:
    """Context in which MeshloomWarnings are lines `note: ...` on stderr, without a source location."""
    with warnings.catch_warnings():
        shown = warnings.showwarning

        def show(message: Warning | str, category: type[Warning], *rest: Any) -> None:
            if issubclass(category, MeshloomWarning):
                print(f"note: {printable(str(message))}", file=sys.stderr)
            else:
                shown(message, category, *rest)

        warnings.showwarning = show
        warnings.simplefilter("always", MeshloomWarning)
        yield


def _complain(message: str, status: int) -> int:
    print(f"error: {printable(message)}", file=sys.stderr)
    return status


def _complain_at(error: Exception, status: int, message: str | None = None) -> int:
    """Print an error with its location if it has one."""
    message = str(error) if message is None else message
    if error.__cause__ is None and "location" not in error.__dict__ and isinstance(error, MeshloomError):
        return _complain(message, status)  # Does not import the IR modules, which takes long.
    from .diagnostics import report

    print(report(printable(message), error), file=sys.stderr)
    return status


class VersionAction(argparse.Action):
    """Prints `versions()` and exits; the versions are looked up only if the option is given."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: str | Sequence[Any] | None,
        option_string: str | None = None,
    ) -> None:
        print(versions())
        parser.exit()


def epilog(examples: str) -> str:
    """The epilog of every help text: `examples`, a command or a `# comment` per line, and the exit statuses."""
    statuses = ", ".join(f"{status} {meaning}" for status, meaning in EXIT_STATUSES.items())
    return f"examples:\n  {examples.strip()}\n\nexit status: {statuses}"


def complain_of_usage(parser: argparse.ArgumentParser, message: str) -> NoReturn:
    """Usage errors are one line, as all errors are."""
    parser.exit(EXIT_USAGE, f"error: {printable(message)}; {parser.prog} --help lists the options\n")


class _Parser(argparse.ArgumentParser):
    """Loads plug-ins before other options are read, because these may name what plug-ins add."""

    def parse_args(  # pyright: ignore[reportIncompatibleMethodOverride]
        self, args: Sequence[str] | None = None, namespace: None = None
    ) -> argparse.Namespace:
        load_named_plugins(args)
        return super().parse_args(args, namespace)

    def error(self, message: str) -> NoReturn:
        complain_of_usage(self, message)


def make_parser(prog: str, description: str, examples: str) -> argparse.ArgumentParser:
    """A parser with `--version` and, at the end of its help, `examples` (see `epilog`)."""
    parser = _Parser(prog, description=description, formatter_class=HelpFormatter)
    parser.epilog = epilog(examples)
    parser.add_argument("--version", action=VersionAction, nargs=0, help="print versions and exit")
    add_plugin_option(parser)
    return parser


def check_folders(*paths: Path | None, inputs: Sequence[Path | None] = ()) -> None:
    """
    Check the files that a tool will write (None: not requested) before any work is done. Raises InputError if a file's
    folder does not exist, a path is a folder, two paths are the same file, or one is among `inputs`, which would be
    overwritten. Devices and pipes may be given several times.
    """
    taken = {os.path.realpath(path): "it is also an input" for path in inputs if path is not None}
    for path in paths:
        if path is None:
            continue
        if not path.parent.is_dir():
            raise InputError(f"{path}: there is no folder {path.parent}")
        if path.is_dir():
            raise InputError(f"{path} is a folder: give the name of a file")
        if path.exists() and not path.is_file():
            continue
        location = os.path.realpath(path)
        if location in taken:
            raise InputError(f"{path} cannot be written, {taken[location]}: give another name")
        taken[location] = "it is given for two outputs"


def check_is_file(path: Path) -> None:
    """Raises InputError if `path` does not exist or is not a file."""
    if path.is_dir():
        raise InputError(f"{path} is a folder: give the name of a file")
    if not path.is_file():
        raise InputError(f"{path}: no such file")


def _size(text: str) -> int:
    """A size, or an `UpTo`. Raises ValueError."""
    if ".." in text:
        return UpTo.parse(text)
    if not text.isascii() or not text.isdecimal() or len(text) > 15:
        raise ValueError
    return int(text)


def parse_shapes(options: Sequence[str]) -> dict[str, tuple[int, ...]]:
    """Parse `NAME=1x3x224x224` options (`NAME=` is a scalar). Raises InputError on anything else."""
    shapes: dict[str, tuple[int, ...]] = {}
    for option in options:
        name, separator, text = option.rpartition("=")
        try:
            if not separator or not name:
                raise ValueError
            shape = tuple(_size(size) for size in text.split("x") if text)
        except ValueError:
            raise InputError(
                f"--shape {option!r}: expected NAME=SHAPE such as input=1x3x224x224, or 1..64x1x32 for any length"
            ) from None
        if name in shapes:
            raise InputError(f"--shape: '{name}' is given twice: leave out one of them")
        shapes[name] = shape
    return shapes
