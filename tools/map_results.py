"""The files that `meshloom-map` writes."""

from __future__ import annotations

import argparse
import io
import json

import numpy as np

from ..emulator.executable.executable import write_executable
from ..mapping.picture.heat import heat_map
from ..mapping.picture.png import to_png
from ..mapping.picture.svg import to_svg
from ..support.files import all_or_none, write_atomically
from .map_network import Result


def write_results(options: argparse.Namespace, result: Result) -> None:
    """Write the mapping and the other requested files: all of them, or none."""
    with all_or_none():
        _write(options, result)


def _write(options: argparse.Namespace, result: Result) -> None:
    core_of = result.mapping.core_of_vertex
    if options.text is not None:
        write_atomically(options.text, "".join(f"{core}\n" for core in core_of.tolist()))
    if options.stats is not None:
        write_atomically(options.stats, json.dumps(result.stats, indent=1) + "\n")
    if options.picture is not None:
        multicast = result.topology.src_indptr is not None
        title = f"{options.topology.name} on {result.mesh}, method {result.method}"
        heat = heat_map(result.load_of, result.mesh, core_of, result.capacity, title, multicast=multicast)
        write_atomically(options.picture, to_svg(heat) if options.picture.suffix == ".svg" else to_png(heat))
    if options.program is not None and result.step is not None:
        write_executable(result.step.executable, options.program)
    data = io.BytesIO()
    np.save(data, core_of)
    write_atomically(options.output, data.getvalue())
