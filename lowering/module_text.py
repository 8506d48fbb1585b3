"""Modules from their text."""

from __future__ import annotations

from xdsl.context import Context
from xdsl.dialects.builtin import Builtin, ModuleOp
from xdsl.dialects.func import Func
from xdsl.parser import Parser

from ..dialects.dataflow import Dataflow
from ..dialects.manycore import Manycore
from ..dialects.memory import Memory
from ..dialects.sparse import Sparse


def module_of_text(text: str) -> ModuleOp:
    """The module that a text of ours stands for; a function alone becomes a module of it."""
    context = Context()
    for dialect in (Builtin, Func, Dataflow, Sparse, Manycore, Memory):
        context.load_dialect(dialect)
    return Parser(context, text).parse_module()
