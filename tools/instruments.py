"""Instrumentation of pass pipelines: dumps of the IR, times, statistics."""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass


class Instrument:
    """Called around every pass of a pipeline. None of the methods may change the module."""

    def before(self, one: ModulePass, module: ModuleOp) -> None:
        """A pass begins."""

    def after(self, one: ModulePass, module: ModuleOp) -> None:
        """A pass has ended, and the module is valid."""

    def failed(self, one: ModulePass, module: ModuleOp) -> None:
        """A pass raised an error, or left a module that is not valid."""

    def finish(self) -> None:
        """All passes have ended, or a pass has failed."""
