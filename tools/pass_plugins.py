"""Passes of the user's own: files of Python that `--load-pass-plugin` names."""

from __future__ import annotations

import sys
import traceback
from collections.abc import Callable, Iterable, Mapping
from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from ..support.errors import InputError, MeshloomError, shortened
from ..support.input_files import check_regular

if TYPE_CHECKING:
    import argparse

    from xdsl.passes import ModulePass


def add_plugin_option(parser: argparse.ArgumentParser) -> None:
    """`--load-pass-plugin`, which may be repeated."""
    parser.add_argument(
        "--load-pass-plugin",
        action="append",
        default=[],
        metavar="FILE.py",
        help="a Python file with passes of your own, which -p can name then (may be repeated)",
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
                raise InputError(f"{file}: there is a pass '{name}' already: give {one.__name__} another name")
            # Bound now: the loop goes on.
            found[name] = lambda one=one: one
    return found


def _passes_of(path: Path) -> dict[str, type[ModulePass]]:
    """The classes of passes that a file defines, not those that it imports."""
    from xdsl.passes import ModulePass

    module = _run(path)
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
        raise InputError(f"{path}: there is no pass in it: expected a subclass of xdsl.passes.ModulePass with a name")
    return passes


def _run(path: Path) -> ModuleType:
    """The module that a file makes, under a name by which no other module is known."""
    if not path.is_file():
        check_regular(path)
        raise InputError(f"{path}: {'is a folder' if path.is_dir() else 'no such file'}: expected a Python file")
    name = f"meshloom_plugin:{path.resolve()}"
    if name in sys.modules:
        return sys.modules[name]
    spec = spec_from_file_location(name, path, loader=SourceFileLoader(name, str(path)))
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    sys.modules[name] = module  # Dataclasses look up their module.
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        del sys.modules[name]
        if isinstance(error, MeshloomError):
            raise
        raise InputError(f"{_place(path, error)}: {shortened(_words(error))}") from error
    return module


def _place(path: Path, error: Exception) -> str:
    """`FILE:LINE` of the line of the file that raised the error."""
    if isinstance(error, SyntaxError) and error.filename == str(path):
        return f"{path}:{error.lineno}"
    lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == str(path)]
    return f"{path}:{lines[-1]}" if lines else str(path)


def _words(error: Exception) -> str:
    text = error.msg if isinstance(error, SyntaxError) else " ".join(str(error).split())
    return f"{type(error).__name__}: {text}"
