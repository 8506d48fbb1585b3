"""
Locations of operations: the node of the network, or the line of the text, that an operation was created for.

Operations have xDSL's locations. The context manager `at` sets the location of operations that are built in its block,
so that rewrites need not pass it to each of them; it also adds the location to errors that are raised in the block.
`KeepLocations` and `keeps_location` do the same for patterns and for functions that rewrite an operation.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextvars import ContextVar, Token
from functools import wraps
from types import TracebackType
from typing import Any, ParamSpec, TypeGuard, TypeVar
from weakref import WeakKeyDictionary

from xdsl.dialects.builtin import UNKNOWN_LOC, FusedLoc, LocationAttr, NameLoc, NoneAttr, StringAttr, UnknownLoc
from xdsl.ir import BlockArgument, Operation, SSAValue
from xdsl.ir import core as xdsl_core
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern
from xdsl.utils.exceptions import DiagnosticException

from ..support.errors import MeshloomError

P = ParamSpec("P")
R = TypeVar("R")
E = TypeVar("E", bound=BaseException)
Origin = Operation | SSAValue | Sequence[Operation] | LocationAttr
"""What an operation is created for: another operation, a value, several operations, or a location."""

_current: ContextVar[LocationAttr] = ContextVar("location", default=UNKNOWN_LOC)
_written: WeakKeyDictionary[Operation, LocationAttr] = WeakKeyDictionary()
"""Operation -> its position in the text that was read, for operations whose text gives another location."""


def _location_of_new_operations() -> LocationAttr:
    return _current.get()


# xDSL asks this function for the location of an operation that is built without one: its only hook for all operations,
# including those of other dialects and those that `create` and folding build.
xdsl_core._unknown_loc = _location_of_new_operations  # pyright: ignore[reportPrivateUsage]


def named(name: str | bytes) -> LocationAttr:
    """The location of operations for a node, or another part of a network, of this name (bytes, if it is not UTF-8)."""
    return NameLoc(StringAttr(name if isinstance(name, str) else name.decode(errors="replace")), NoneAttr())


def is_known(location: LocationAttr) -> bool:
    """Whether a location is not unknown."""
    return not isinstance(location, UnknownLoc)


def fused(locations: Iterable[LocationAttr]) -> LocationAttr:
    """The location of an operation that is created for several: their common location, or all known ones, fused."""
    known = list(dict.fromkeys(filter(is_known, locations)))
    if len(known) < 2:
        return known[0] if known else UNKNOWN_LOC
    return FusedLoc(tuple(known), NoneAttr())


def location_of(origin: Origin) -> LocationAttr:
    """The location of operations that are created for `origin`; unknown if it has none."""
    if isinstance(origin, Operation):
        return origin.location
    if isinstance(origin, BlockArgument):
        return origin.location
    if isinstance(origin, SSAValue):
        return origin.owner.location if isinstance(origin.owner, Operation) else UNKNOWN_LOC
    if isinstance(origin, Sequence):
        return fused(op.location for op in origin)
    return origin


class at:
    """
    Context manager: operations that are built in the block without an explicit location get the location of `origin`.

    It records this location for a MeshloomError, or an error of xDSL, that leaves the block. An origin without a
    location has no effect; in nested blocks, the innermost applies.
    """

    __slots__ = ("_origin", "_token")

    def __init__(self, origin: Origin) -> None:
        self._origin = origin

    def __enter__(self) -> None:
        location = location_of(self._origin)
        self._token: Token[LocationAttr] = _current.set(location if is_known(location) else _current.get())

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        _current.reset(self._token)
        if error is not None:
            located(error, self._origin)


def keeps_location(function: Callable[P, R]) -> Callable[P, R]:
    """
    Decorator of a function that builds operations: they get the location of the first argument that is an operation, or
    a sequence of operations (see `at`).
    """

    @wraps(function)
    def located(*args: P.args, **kwargs: P.kwargs) -> R:
        with at(next(arg for arg in args if _is_origin(arg))):
            return function(*args, **kwargs)

    return located


def _is_origin(argument: Any) -> TypeGuard[Operation | Sequence[Operation]]:
    if isinstance(argument, list | tuple):
        return any(isinstance(one, Operation) for one in argument)  # pyright: ignore[reportUnknownVariableType]
    return isinstance(argument, Operation)


class KeepLocations(RewritePattern):
    """Applies a pattern; operations that it builds get the location of the operation that it matched."""

    def __init__(self, pattern: RewritePattern) -> None:
        self.pattern = pattern

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        """Match an operation and rewrite it."""
        with at(op):
            self.pattern.match_and_rewrite(op, rewriter)


# ---- errors ----


def note_text_location(op: Operation, location: LocationAttr) -> None:
    """Record the position in the text of an operation whose text gives another location: errors show this position."""
    _written[op] = location


def located(error: E, origin: Origin) -> E:
    """Record `origin` as the location of an error, unless it has one; for `raise located(InputError(...), op)`."""
    if isinstance(error, MeshloomError | DiagnosticException) and error_location(error) is None:
        written = _written.get(origin) if isinstance(origin, Operation) else None
        location = location_of(origin) if written is None else written
        if is_known(location):
            error.__dict__["location"] = location
    return error


def error_location(error: BaseException) -> LocationAttr | None:
    """The location of an error, or of the error that it was raised from; None if unknown."""
    inner: BaseException | None = error
    while inner is not None:
        location: LocationAttr | None = inner.__dict__.get("location")
        if location is not None:
            return location
        inner = inner.__cause__
    return None
