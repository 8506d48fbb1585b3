"""Modules from their text, and operations as text."""

from __future__ import annotations

from functools import cached_property
from io import StringIO

from xdsl.context import Context
from xdsl.dialects.builtin import Builtin, ModuleOp
from xdsl.dialects.func import Func
from xdsl.ir import Operation
from xdsl.parser import Parser
from xdsl.printer import Printer

from ...dialects import added
from ...dialects.dataflow import Dataflow
from ...dialects.manycore import Manycore
from ...dialects.memory import Memory
from ...dialects.sparse import Sparse


def module_of_text(text: str) -> ModuleOp:
    """Parse a module that the compiler printed; a function alone is wrapped in a module."""
    context = Context()
    for dialect in (Builtin, Func, Dataflow, Sparse, Manycore, Memory, *added.DIALECTS.values()):
        context.load_dialect(dialect)
    return Parser(context, text).parse_module()


class KeptModule:
    """A module as IR or as text; the other form is made on demand."""

    def __init__(self, kept: ModuleOp | str) -> None:
        self._kept = kept

    @property
    def text(self) -> str:
        """The text with locations."""
        return self._kept if isinstance(self._kept, str) else located_text(self._kept)

    @cached_property
    def module(self) -> ModuleOp:
        """The module, which must not be changed; clone it first."""
        return self._kept if isinstance(self._kept, ModuleOp) else module_of_text(self._kept)


def located_text(op: Operation) -> str:
    """The text of an operation, with locations."""
    stream = StringIO()
    Printer(stream=stream, print_debuginfo=True).print_op(op)
    return stream.getvalue()
