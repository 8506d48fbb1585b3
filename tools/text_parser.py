"""xDSL's parser, in which the location of an operation without `loc(...)` is its position in the text."""

from __future__ import annotations

import re
from bisect import bisect_right
from difflib import get_close_matches

from xdsl.context import Context
from xdsl.dialects.builtin import UNKNOWN_LOC, FileLineColLoc, IntAttr, ModuleOp, StringAttr
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation
from xdsl.utils.exceptions import ParseError

from ..dialects.locations import note_text_location
from .guarded_parser import GuardedParser

_SPACE = re.compile(r"\s*")


class LocatingParser(GuardedParser):
    """
    Parser of a file's text.

    Operations, and arguments of functions, without `loc(...)` get a FileLineColLoc with the name of the file as given;
    a column is that of the operation's name. `names_locations`: whether any operation had a `loc(...)`.
    """

    def __init__(self, ctx: Context, text: str, name: str, lines_before: int = 0) -> None:
        """`lines_before`: number of lines of the file before this text."""
        super().__init__(ctx, text, name)
        self._lines_before = lines_before
        self.names_locations = False
        self._text = text
        self._file = StringAttr(name)
        self._columns: dict[int, IntAttr[int]] = {}
        self._line_starts = [0, *(found.end() for found in re.finditer("\n", text))]

    def parse_module(self, allow_implicit_module: bool = True) -> ModuleOp:
        """The module; the location of an implicit one is the beginning of the text."""
        module = super().parse_module(allow_implicit_module)
        if module.location is UNKNOWN_LOC:
            module.location = self._location(0)
        return module

    def parse_operation(self) -> Operation:
        """An operation with its location."""
        start = self.pos
        op = super().parse_operation()
        if self._text[start] == "%":
            equals = self._text.index("=", start)
            found = _SPACE.match(self._text, equals + 1)
            start = equals + 1 if found is None else found.end()
        location = self._location(start)
        # xDSL shares one object for missing locations; `loc(unknown)` makes another.
        if op.location is UNKNOWN_LOC:
            op.location = location
        else:
            self.names_locations = True
            note_text_location(op, location)
        if isinstance(op, FuncOp):
            for block in op.body.blocks:
                for argument in block.args:
                    if argument.location is UNKNOWN_LOC:
                        argument.location = location
        return op

    def _get_op_by_name(self, name: str) -> type[Operation]:
        """Overrides xDSL's method. The error is at the name, not after it, and suggests a similar name."""
        try:
            return super()._get_op_by_name(name)
        except ParseError as error:
            dialect = self.ctx.get_optional_dialect(name.partition(".")[0])
            known = [] if dialect is None else [op.name for op in dialect.operations]
            close = get_close_matches(name, known, n=1)
            start = self._text.rindex(name, 0, error.span.start)
            hint = f": did you mean {close[0]}?" if close else ""
            self.raise_error(f"Operation {name} is not registered{hint}", start, start + len(name))

    def _location(self, position: int) -> FileLineColLoc:
        line = bisect_right(self._line_starts, position)
        column = position - self._line_starts[line - 1] + 1
        number = self._columns.get(column)
        if number is None:
            number = self._columns[column] = IntAttr(column)
        return FileLineColLoc(self._file, IntAttr(line + self._lines_before), number)
