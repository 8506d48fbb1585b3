"""
Finds the types of files with Magika, a small trained network, on the emulated chip.

    python examples/what_file_is_this.py README.md tools/run.py

The network reads the first and the last 1024 bytes of a file and distinguishes 214 types. `make models` downloads it.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import meshloom

MODELS = Path(__file__).resolve().parent.parent / "models"
EDGE_BYTES = 1024
PADDING = 256
"""The value for "no byte" in short files."""
BLOCK = 4096
"""White space is stripped from this many bytes at either end."""


def features(content: bytes) -> NDArray[np.int32]:
    """The network's input [1, 2048]: the first and last bytes of `content`, as magika's own package prepares them."""
    first = content[:BLOCK].lstrip()[:EDGE_BYTES]
    last = content[-BLOCK:].rstrip()[-EDGE_BYTES:]
    row = np.full((1, 2 * EDGE_BYTES), PADDING, np.int32)
    row[0, : len(first)] = list(first)
    row[0, 2 * EDGE_BYTES - len(last) :] = list(last)
    return row


def bar(share: float, width: int = 24) -> str:
    """A number from 0 to 1 as a bar of text."""
    filled = round(share * width)
    return "#" * filled + "." * (width - filled)


def main(paths: Sequence[str]) -> None:
    """Print the type of each file, then the cycles and the utilisation of the units."""
    labels: list[str] = json.loads((MODELS / "magika.json").read_text())["target_labels_space"]
    types: dict[str, dict[str, Any]] = json.loads((MODELS / "magika-types.json").read_text())
    print("compiling magika (what type of file is this?) for the chip 'edge'")
    print("  the first time, Meshloom's own kernels are compiled as well: half a minute, kept for later runs")
    network = meshloom.compile(
        MODELS / "magika.onnx",
        chip="edge",
        shapes={"bytes": (1, 2 * EDGE_BYTES)},
        progress=lambda stage: print(f"  {stage} ...", flush=True),
    )
    result = None
    for path in paths:
        result = network.run({"bytes": features(Path(path).read_bytes())})
        scores = result.outputs["target_label"][0]
        best = int(np.argmax(scores))
        kind = types[labels[best]]["description"]
        print(f"  {path} is {kind} ({100 * scores[best]:.1f}% sure)")
    if result is None:
        return
    chip, stats = network.executable.chip, result.stats
    print(
        f"each answer took {result.cycles:,} cycles = {stats['time_us']:.1f} us on {chip.cores} cores; they were busy:"
    )
    for unit, entry in stats["units"].items():
        if entry["instructions"]:
            print(f"  {unit:6} {bar(entry['utilisation'])} {100 * entry['utilisation']:5.1f}%")
    part = stats["busiest"][0]
    print(f"a lower bound for this program is {part['cycles']:,.0f} cycles: {part['name']} is busy for that long")


if __name__ == "__main__":
    main(sys.argv[1:] or ["README.md"])
