"""
Compilation of kernels by numba. The type checker sees the types of the Python function; machine code is cached on disk
for later runs. Processes that need the same kernel at the same time compile it once (`compile_lock`).

numba recompiles a kernel when its source file has changed. Here it is also recompiled when a kernel that it calls, a
global constant that it reads, or the fields of a named tuple that it takes have changed, in whatever file, as these are
compiled into it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from pickle import UnpicklingError
from types import CodeType
from typing import Any, TypeVar, cast

import numpy as np
from numba import njit, types  # pyright: ignore[reportMissingTypeStubs, reportUnknownVariableType]
from numpy.typing import NDArray

from .compile_lock import compiled_once

Array = NDArray[Any]
"""Array argument of a kernel, of any element type: a kernel is compiled for each combination of types."""

_CONSTANTS = (bool, int, float, str, tuple)

F = TypeVar("F", bound=Callable[..., Any])


def jit(function: F) -> F:
    """Compile `function` on its first call, for the types of its arguments."""
    return jit_with()(function)


def jit_with(**options: Any) -> Callable[[F], F]:
    """`jit` with further options of numba's `njit`."""

    def compiled(function: F) -> F:
        # Kernels are not called from C; without the C wrapper they compile faster.
        wanted: dict[str, Any] = {"cache": True, "nogil": True, "no_cfunc_wrapper": True, **options}
        kernel = cast("Any", njit(**wanted)(function))
        kernel.get_call_template = _without_literals(kernel.get_call_template)
        kept = _kept(kernel)
        kept._source_stamp = (kept._source_stamp, *_stamps(function))
        kept._load_index = _index_or_nothing(kept._load_index)
        kernel.compile = compiled_once(kernel.compile, Path(f"{kept._index_path}.lock"))
        return cast("F", kernel)

    return compiled


def _kept(kernel: Any) -> Any:
    """numba's cache file of a kernel. numba has no public interface to add dependences of a kernel."""
    return kernel._cache._cache_file


def _without_literals(template: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    """
    Wraps numba's selection of the specialisation of a kernel that another kernel calls, so that constant arguments
    count by their type: numba would compile one specialisation for each constant value.
    """

    def found(arguments: Sequence[Any], named: Mapping[str, Any]) -> Any:
        unliteral = cast("Callable[[Any], Any]", cast("Any", types).unliteral)
        return template(tuple(map(unliteral, arguments)), {name: unliteral(one) for name, one in named.items()})

    return found


def _index_or_nothing(load: Callable[[], dict[Any, str]]) -> Callable[[], dict[Any, str]]:
    """
    Wraps numba's loading of the index of cached specialisations: the index is empty if it cannot be unpickled. It names
    the classes of arguments, which may be in other modules in another version of the project.
    """

    def loaded() -> dict[Any, str]:
        try:
            return load()
        except (AttributeError, EOFError, ImportError, UnpicklingError):
            return {}

    return loaded


def _stamps(function: Callable[..., Any]) -> Iterator[tuple[str, object]]:
    """
    (name, stamp) of each kernel and constant that a function refers to, and of each named tuple among the types of its
    parameters; a stamp differs after a change.
    """
    for name in sorted({str(one) for one in function.__annotations__.values()}):
        if fields := getattr(function.__globals__.get(name), "_fields", None):
            yield name, repr(fields)
    for name in sorted(set(_names(function.__code__))):
        value: Any = function.__globals__.get(name)
        if hasattr(value, "py_func") and hasattr(value, "_cache"):
            yield name, _kept(value)._source_stamp
        elif type(value) in _CONSTANTS:
            yield name, repr(value)
        elif type(value) is np.ndarray:
            yield name, (str(value.dtype), value.shape, value.tobytes())


def _names(code: CodeType) -> Iterator[str]:
    """The names of globals in a function and in its nested functions."""
    yield from code.co_names
    for inner in code.co_consts:
        if isinstance(inner, CodeType):
            yield from _names(inner)
