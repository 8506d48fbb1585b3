"""
The table of all methods of mapping by name, which the tools read. It imports no method, and not NumPy, so that help
texts that name the methods are printed quickly.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, cast

from ..support.errors import InputError

if TYPE_CHECKING:
    from .method import MapMethod

METHODS: dict[str, str | MapMethod] = {
    "default": "default.method:map_default",
    "literal": "literal.method:map_literal",
    "row-major": "baselines.row_major:map_row_major",
    "random": "baselines.random_order:map_random",
    "greedy": "baselines.greedy:map_greedy",
    "hilbert": "baselines.hilbert:map_hilbert",
    "anneal": "baselines.anneal:map_anneal",
}
"""Name -> the method, or `module:function`, relative to this package, which is imported when it is requested."""


def find_method(name: str) -> MapMethod:
    """The method called `name`. Raises InputError, which lists the known methods, if there is none."""
    if name not in METHODS:
        raise InputError(f"no mapping method '{name}': choose one of {', '.join(METHODS)}")
    found = METHODS[name]
    if not isinstance(found, str):
        return found
    module, function = found.split(":")
    return cast("MapMethod", getattr(import_module(f".{module}", __package__), function))
