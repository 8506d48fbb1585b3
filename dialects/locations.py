"""
Where operations come from: the node of the network, or the line of the text, that each was made for.

An operation has xDSL's location. `at` sets the one that operations get which are built inside of it, so that rewrites
need not hand it on to each; it also tells errors that are raised inside where they arose. `KeepLocations` and
`keeps_location` do the same for patterns and for functions that rewrite an operation.
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
"""What operations are made for: another one, one that computes a value, several at once, or a location itself."""

_current: ContextVar[LocationAttr] = ContextVar("location", default=UNKNOWN_LOC)
_written: WeakKeyDictionary[Operation, LocationAttr] = WeakKeyDictionary()
"""Where operations stand in the text that was read, for those whose text names another location."""


def _location_of_new_operations() -> LocationAttr:
    return _current.get()


# xDSL asks this function for the location of an operation that is built without one: its only hook for all operations,
# those of other dialects and those that `create` and folding make included.
xdsl_core._unknown_loc = _location_of_new_operations  # pyright: ignore[reportPrivateUsage]


def named(name: str | bytes) -> LocationAttr:
    """The location of what is made for a node, or for another part of a network, of this name (bytes: no UTF-8)."""
    return NameLoc(StringAttr(name if isinstance(name, str) else name.decode(errors="replace")), NoneAttr())


def is_known(location: LocationAttr) -> bool:
    """Whether a location says anything."""
    return not isinstance(location, UnknownLoc)


def fused(locations: Iterable[LocationAttr]) -> LocationAttr:
    """The location of what is made for several operations: the one that they share, or all that are known."""
    known = list(dict.fromkeys(filter(is_known, locations)))
    if len(known) < 2:
        return known[0] if known else UNKNOWN_LOC
    return FusedLoc(tuple(known), NoneAttr())


def location_of(origin: Origin) -> LocationAttr:
    """The location that operations made for `origin` get; unknown where it has none."""
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
    Context manager: operations that are built inside, without a location of their own, get that of `origin`.

    A MeshloomError, or an error of xDSL, that leaves the block is noted to have arisen there. An origin without a
    location changes nothing; of nested blocks the innermost counts.
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
    Decorator of a function that builds operations for its first argument which is an operation, or several: they get
    its location (see `at`).
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
    """Apply a pattern; operations that it builds get the location of the operation that it matched."""

    def __init__(self, pattern: RewritePattern) -> None:
        self.pattern = pattern

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        """Match an operation and rewrite it."""
        with at(op):
            self.pattern.match_and_rewrite(op, rewriter)


# ---- errors ----


def note_text_location(op: Operation, location: LocationAttr) -> None:
    """Note where the text of an operation stands which names another location: errors show the text."""
    _written[op] = location


def located(error: E, origin: Origin) -> E:
    """The error, noted to have arisen at `origin`, unless it is known where: `raise located(InputError(...), op)`."""
    if isinstance(error, MeshloomError | DiagnosticException) and error_location(error) is None:
        written = _written.get(origin) if isinstance(origin, Operation) else None
        location = location_of(origin) if written is None else written
        if is_known(location):
            error.__dict__["location"] = location
    return error


def error_location(error: BaseException) -> LocationAttr | None:
    """Where an error arose, or the one that it was raised from; None where that is not known."""
    inner: BaseException | None = error
    while inner is not None:
        location: LocationAttr | None = inner.__dict__.get("location")
        if location is not None:
            return location
        inner = inner.__cause__
    return None
