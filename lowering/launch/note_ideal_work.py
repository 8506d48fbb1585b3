"""Record the minimal work of the network in the module, before the compiler changes its operators."""

from __future__ import annotations

import json

from xdsl.dialects.builtin import ModuleOp

from ...dialects.dataflow.entry_function import find_main
from ...emulator.reports.network_layers import NOTE as LAYERS
from ...emulator.reports.network_layers import layers_as_json
from .ideal_work import ideal_work
from .layer_work import network_layers
from .program_notes import IDEAL, add_note, noted_ideal


def note_ideal(module: ModuleOp) -> dict[str, int]:
    """The work recorded in a module; if there is none, that of its `@main`, then recorded with its layers."""
    ideal = noted_ideal(module)
    if ideal is None:
        ideal = ideal_work(find_main(module))
        add_note(module, IDEAL, json.dumps(ideal))
        add_note(module, LAYERS, layers_as_json(network_layers(find_main(module))))
    return ideal
