"""
Plug-ins: Python that adds passes, operators, chips or methods by calling the functions of `meshloom.plugins`.

A plug-in is a file, a module, or a package that names a module at the entry point `meshloom.plugins`. It registers its
additions when it is imported; all plug-ins are imported before any name is looked up.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from importlib import import_module
from importlib.metadata import entry_points
from pathlib import Path
from types import ModuleType

from .errors import InputError, shortened
from .python_files import run_file

GROUP = "meshloom.plugins"
"""Name of the entry-point group of installed plug-ins."""

_loaded: dict[str, bytes] = {}
"""Hash of the source of each loaded plug-in, by the name under which it was loaded."""


def load_plugins(given: Iterable[str]) -> None:
    """
    Load the installed plug-ins and the `given` ones (see `load_plugin`), each once.

    Raises InputError, naming the plug-in, for one that is not found or whose import fails.
    """
    for name in (*(entry.module for entry in entry_points(group=GROUP)), *given):
        load_plugin(name)


def load_plugin(name: str) -> ModuleType:
    """
    The module of a plug-in: `FILE.py`, the folder of a package, or the name of a module. Raises InputError as
    `load_plugins` does.
    """
    package = Path(name) / "__init__.py"
    if name.endswith(".py") or package.is_file():
        module = run_file(package if package.is_file() else Path(name))
    else:
        module = _module(name)
    if name not in _loaded:
        _loaded[name] = _digest(module)
    return module


def _module(name: str) -> ModuleType:
    try:
        return import_module(name)
    except InputError:
        raise
    except Exception as error:
        missing = (
            isinstance(error, ModuleNotFoundError)
            and error.name is not None
            and f"{name}.".startswith(f"{error.name}.")
        )
        why = (
            "there is no such module; the name of a file ends in .py"
            if missing
            else f"{type(error).__name__}: {shortened(str(error))}"
        )
        raise InputError(f"plug-in '{name}': {why}") from error


def _digest(module: ModuleType) -> bytes:
    """SHA-256 of the source of a plug-in; for a package, of all its Python files."""
    digest = hashlib.sha256()
    if module.__file__ is not None:
        file = Path(module.__file__)
        for one in sorted(file.parent.rglob("*.py")) if file.name == "__init__.py" else [file]:
            digest.update(one.read_bytes())
    return digest.digest()


def plugins_digest() -> bytes:
    """The hashes of all loaded plug-ins, concatenated: with other plug-ins, the same text may compile differently."""
    return b"".join(_loaded[name] for name in sorted(_loaded))
