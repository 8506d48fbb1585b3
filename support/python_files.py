"""Import of Python files given by path: user-defined passes and plug-ins."""

from __future__ import annotations

import sys
import traceback
from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType

from .errors import InputError, MeshloomError, shortened
from .input_files import check_regular


def run_file(path: Path) -> ModuleType:
    """
    The module of a Python file, executed once per process and registered under a unique name.

    Raises InputError if the file does not exist or raises an exception, with the line that raised it.
    """
    if not path.is_file():
        check_regular(path)
        raise InputError(f"{path}: {'is a folder' if path.is_dir() else 'no such file'}: expected a Python file")
    name = f"meshloom_plugin:{str(path.resolve()).replace('.', '_')}"
    if name in sys.modules:
        return sys.modules[name]
    folder = [str(path.parent)] if path.name == "__init__.py" else None  # a package, which may have submodules
    spec = spec_from_file_location(
        name, path, loader=SourceFileLoader(name, str(path)), submodule_search_locations=folder
    )
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    sys.modules[name] = module  # Before execution: dataclasses look up their module.
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        del sys.modules[name]
        if isinstance(error, MeshloomError):
            raise
        raise InputError(f"{_place(path, error)}: {shortened(_words(error))}") from error
    return module


def _place(path: Path, error: Exception) -> str:
    """`FILE:LINE` of the innermost line of the file that raised the error; without a line, `FILE`."""
    if isinstance(error, SyntaxError) and error.filename == str(path):
        return f"{path}:{error.lineno}"
    lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == str(path)]
    return f"{path}:{lines[-1]}" if lines else str(path)


def _words(error: Exception) -> str:
    text = error.msg if isinstance(error, SyntaxError) else " ".join(str(error).split())
    return f"{type(error).__name__}: {text}"
