"""What all command lines share: exit statuses, one line per error, `--version`, `NAME=SHAPE` options."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from ..support.errors import InputError, MeshloomError

EXIT_FAILED = 1
EXIT_USAGE = 2
EXIT_INTERRUPTED = 130


def run_tool(body: Callable[[], int | None]) -> int:
    """
    Run a tool's body and return its exit status; errors become one line `error: ...` on stderr.

    0: done; 1: the work failed; 2: bad usage or input; 130: interrupted from the keyboard.
    """
    try:
        return body() or 0
    except KeyboardInterrupt:
        return _complain("interrupted", EXIT_INTERRUPTED)
    except BrokenPipeError:
        # The reader of our output went away (`| head`): nothing is wrong; keep the interpreter's final flush quiet.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return EXIT_FAILED
    except InputError as error:
        return _complain(str(error), EXIT_USAGE)
    except MeshloomError as error:
        return _complain(str(error), EXIT_FAILED)
    except FileNotFoundError as error:
        return _complain(f"{error.filename}: no such file", EXIT_USAGE)
    except OSError as error:
        return _complain(f"{error.filename}: {error.strerror}" if error.filename else str(error), EXIT_USAGE)
    except MemoryError:
        return _complain("out of memory: the work needs more than this machine or its limit allows", EXIT_FAILED)
    except Exception as error:
        if os.environ.get("MESHLOOM_DEBUG"):
            raise
        from .diagnostics import describe

        if (message := describe(error)) is not None:
            return _complain(message, EXIT_USAGE)
        kind = f"{type(error).__name__}: {error}"
        return _complain(f"internal error: {kind} (set MESHLOOM_DEBUG=1 for the traceback)", EXIT_FAILED)


def _complain(message: str, status: int) -> int:
    print(f"error: {message}", file=sys.stderr)
    return status


def versions() -> str:
    """`meshloom X (xdsl Y)`."""
    from importlib.metadata import version

    return f"meshloom {version('meshloom')} (xdsl {version('xdsl')})"


class VersionAction(argparse.Action):
    """Prints `versions()` and leaves; the look-up costs nothing when the option is not given."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: str | Sequence[Any] | None,
        option_string: str | None = None,
    ) -> None:
        print(versions())
        parser.exit()


def make_parser(prog: str, description: str, examples: str) -> argparse.ArgumentParser:
    """A parser with `--version` and, at the end of its help, `examples` (one command a line)."""
    parser = argparse.ArgumentParser(
        prog, description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.epilog = f"examples:\n{examples.strip()}\n\nexit status: 0 done, 1 the work failed, 2 bad usage or input"
    parser.add_argument("--version", action=VersionAction, nargs=0, help="print versions and leave")
    return parser


def check_folders(*paths: Path | None) -> None:
    """Raises InputError for files that cannot be written (None: not wanted) for want of a folder, before any work."""
    for path in paths:
        if path is not None and not path.parent.is_dir():
            raise InputError(f"{path}: there is no folder {path.parent}")
        if path is not None and path.is_dir():
            raise InputError(f"{path} is a folder: give the name of a file")


def parse_shapes(options: Sequence[str]) -> dict[str, tuple[int, ...]]:
    """Parse `NAME=1x3x224x224` options (`NAME=` is a scalar). Raises InputError on anything else."""
    shapes: dict[str, tuple[int, ...]] = {}
    for option in options:
        name, separator, text = option.rpartition("=")
        dims = [d for d in text.split("x") if text]
        if not separator or not name or not all(d.isascii() and d.isdecimal() and len(d) < 16 for d in dims):
            raise InputError(f"--shape {option!r}: expected NAME=SHAPE such as input=1x3x224x224")
        shapes[name] = tuple(int(d) for d in dims)
    return shapes
