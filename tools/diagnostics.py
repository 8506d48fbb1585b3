"""Diagnostics: the location, a message of one line, and the line of the text with a caret."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects.builtin import CallSiteLoc, FileLineColLoc, FusedLoc, LocationAttr, ModuleOp, NameLoc
from xdsl.ir import Attribute
from xdsl.utils.exceptions import ArgSpecParseError, DiagnosticException, ParseError, VerifyException

from ..dialects.locations import error_location, located
from ..support.errors import shortened
from .source_text import excerpt


@dataclass(frozen=True)
class Place:
    """The location of an error."""

    text: str
    """`FILE:LINE:COLUMN`, or `loc("NODE")` for a node of a network."""
    excerpt: str | None
    """The line of the text, with a caret below."""


def describe(error: BaseException) -> str | None:
    """
    One line for an error in the user's IR, without its location; None if the exception is a defect of the program.
    """
    match error:
        case ParseError():
            return shortened(one_line(error.msg), 500)
        case ArgSpecParseError() | DiagnosticException():
            return one_line(str(error)) or type(error).__name__
        case _:
            return None


def one_line(text: str) -> str:
    """`text` with line breaks and runs of spaces replaced by single spaces."""
    return " ".join(text.split())


def report(message: str, error: BaseException | None = None) -> str:
    """The diagnostic of an error: `LOCATION: error: MESSAGE`, and below it the line of the text if there is one."""
    location = None if error is None else location_of(error)
    if location is None:
        return f"error: {message}"
    return f"{location.text}: error: {message}" + ("" if location.excerpt is None else f"\n{location.excerpt}")


def in_file(name: str, error: BaseException) -> str:
    """An error of xDSL as one line that names the file, unless its location does."""
    message = describe(error) or one_line(str(error))
    return message if _in_text(error) is not None else f"{name}: {message}"


def location_of(error: BaseException) -> Place | None:
    """The location of an error, or of its cause; None if it is not known."""
    if (text := _in_text(error)) is not None:
        name, line, column = text
        shown = "".join(char if char.isprintable() else "?" for char in name)  # a text may name any file
        return Place(f"{shown}:{line}:{column}", excerpt(name, line, column))
    location = error_location(error)
    return None if location is None else Place(one_line(str(_innermost(location))), None)


def line_of(error: BaseException) -> int | None:
    """The line of the text of an error, from 1; None if it has none."""
    text = _in_text(error)
    return None if text is None else text[1]


def verify(module: ModuleOp) -> None:
    """Verify a module. Raises xDSL's VerifyException, with the first invalid operation as location."""
    try:
        module.verify()
    except VerifyException as error:
        for op in module.walk(region_first=True):
            try:
                op.verify(verify_nested_ops=False)
            except VerifyException:
                raise located(error, op) from None
        raise


def _in_text(error: BaseException) -> tuple[str, int, int] | None:
    """File, line and column of an error in a text."""
    inner: BaseException | None = error
    while inner is not None:
        if isinstance(inner, ParseError):
            found = inner.span.get_location()
            return found.file, found.line, found.col
        inner = inner.__cause__
    location = error_location(error)
    found = None if location is None else _line_of(location)
    return None if found is None else (found.filename.data, found.line.data, found.column.data)


def _line_of(location: Attribute) -> FileLineColLoc | None:
    """The first position in a text that a location names."""
    match location:
        case FileLineColLoc():
            return location
        case NameLoc():
            inner = [location.location]
        case CallSiteLoc():
            inner = [location.callee, location.caller]
        case FusedLoc():
            inner = list(_parts(location))
        case _:
            inner = []
    return next((found for one in inner if (found := _line_of(one)) is not None), None)


def _innermost(location: LocationAttr) -> Attribute:
    """The first part of a fused location, or the location itself."""
    return _innermost(_parts(location)[0]) if isinstance(location, FusedLoc) else location


def _parts(location: FusedLoc) -> tuple[LocationAttr, ...]:
    return tuple(location.locations)  # pyright: ignore[reportUnknownVariableType, reportArgumentType, reportUnknownArgumentType]
