"""Pass `dataflow-note-loops`: record the work of loops in the module, for the reference time of a run."""

from __future__ import annotations

from typing import ClassVar

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from ..analysis.recurrent_work import recurrent_layers
from ..analysis.semantic_effect import EXACT, SemanticEffect
from ..dialects.dataflow.entry_function import find_main
from ..dialects.module_notes import add_note, notes_of
from ..emulator.reports.recurrent_layers import NOTE, layers_as_json


class DataflowNoteLoopsPass(ModulePass):
    """
    Record for each loop of @main its number of steps, the bytes of the weights that each step reads, the bytes of the
    carried values that products read, and the vector operations between the carried values of two steps. `meshloom-run`
    prints the time that is derived from these with the roofline; the note stays when loops are unrolled.

    A module that has the note already, or no loop, does not change.
    """

    name = "dataflow-note-loops"
    semantic_effect: ClassVar[SemanticEffect] = EXACT

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        note_loops(op)


def note_loops(module: ModuleOp) -> None:
    """Add the note. Raises InputError if there is no @main."""
    if NOTE not in notes_of(module) and (layers := recurrent_layers(find_main(module))):
        add_note(module, NOTE, layers_as_json(layers))
