"""
One way to compile a kernel: with its types kept for the type checker, and kept on disk for later runs. Processes that
need the same kernel at the same time compile it once (`compile_lock`).

numba compiles a kernel anew when its own file has changed. Here also when a kernel that it calls or a constant that it
names has changed, wherever they stand: those are compiled into it.
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
"""What kernels take: the types of the entries are the caller's choice, a kernel is compiled for each."""

_CONSTANTS = (bool, int, float, str, tuple)

F = TypeVar("F", bound=Callable[..., Any])


def jit(function: F) -> F:
    """Compile `function` on its first call, for the types of its arguments."""
    return jit_with()(function)


def jit_with(**options: Any) -> Callable[[F], F]:
    """`jit` with further options of numba's `njit`."""

    def compiled(function: F) -> F:
        # Kernels are not called from C: without the wrapper for that they compile faster.
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
    """numba's file of what is kept of a kernel. It has no public way to say what else a kernel depends on."""
    return kernel._cache._cache_file


def _without_literals(template: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    """
    numba's choice of the compiled form of a kernel that another kernel calls, with arguments of a type, not one value
    of it: for constants it would compile another form for each.
    """

    def found(arguments: Sequence[Any], named: Mapping[str, Any]) -> Any:
        unliteral = cast("Callable[[Any], Any]", cast("Any", types).unliteral)
        return template(tuple(map(unliteral, arguments)), {name: unliteral(one) for name, one in named.items()})

    return found


def _index_or_nothing(load: Callable[[], dict[Any, str]]) -> Callable[[], dict[Any, str]]:
    """
    numba's list of the compiled forms of a kernel, empty where it cannot be read: it names classes of arguments, which
    another version of the project may have elsewhere.
    """

    def loaded() -> dict[Any, str]:
        try:
            return load()
        except (AttributeError, EOFError, ImportError, UnpicklingError):
            return {}

    return loaded


def _stamps(function: Callable[..., Any]) -> Iterator[tuple[str, object]]:
    """(name, what tells whether it is still the same) of the kernels and constants that a function names."""
    for name in sorted(set(_names(function.__code__))):
        value: Any = function.__globals__.get(name)
        if hasattr(value, "py_func") and hasattr(value, "_cache"):
            yield name, _kept(value)._source_stamp
        elif type(value) in _CONSTANTS:
            yield name, repr(value)
        elif type(value) is np.ndarray:
            yield name, (str(value.dtype), value.shape, value.tobytes())


def _names(code: CodeType) -> Iterator[str]:
    """The names of globals in a function and the functions in it."""
    yield from code.co_names
    for inner in code.co_consts:
        if isinstance(inner, CodeType):
            yield from _names(inner)
