"""User-defined passes in Python files that `--load-pass-plugin` names."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..support.errors import InputError
from ..support.python_files import run_file

if TYPE_CHECKING:
    import argparse

    from xdsl.passes import ModulePass


def add_pass_plugin_option(parser: argparse.ArgumentParser) -> None:
    """`--load-pass-plugin`, which may be repeated."""
    parser.add_argument(
        "--load-pass-plugin",
        action="append",
        default=[],
        metavar="FILE.py",
        help="a Python file with passes, which -p can then use (may be repeated)",
    )


def load_passes(
    files: Iterable[str | Path], known: Mapping[str, Callable[[], type[ModulePass]]]
) -> dict[str, Callable[[], type[ModulePass]]]:
    """
    The `known` passes, and those that `files` define, by name.

    Raises InputError for a file that cannot be run or defines no pass, and for a pass whose name is taken.
    """
    found = dict(known)
    for file in files:
        for name, one in _passes_of(Path(file)).items():
            if name in found:
                raise InputError(f"{file}: a pass '{name}' exists already: rename {one.__name__}")
            # Bind the loop variable now.
            found[name] = lambda one=one: one
    return found


def _passes_of(path: Path) -> dict[str, type[ModulePass]]:
    """The classes of passes that a file defines, not those that it imports."""
    from xdsl.passes import ModulePass

    module = run_file(path)
    passes: dict[str, type[ModulePass]] = {}
    for value in vars(module).values():
        if not (isinstance(value, type) and issubclass(value, ModulePass) and value.__module__ == module.__name__):
            continue
        name: Any = getattr(value, "name", None)
        if not isinstance(name, str):
            continue  # A base class of passes.
        if passes.setdefault(name, value) is not value:
            raise InputError(f"{path}: two passes have the name '{name}'")
    if not passes:
        raise InputError(f"{path} defines no pass: expected a subclass of xdsl.passes.ModulePass with a name")
    return passes
