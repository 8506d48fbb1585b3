"""
Storage of sparse weights in every format against the closed formulas, one JSON line a format and density.

    python bench/sparse_storage.py [--rows 512] [--length 4096] [--group 16] [--picture FILE.svg]

8-bit weights drawn at random at densities 0.01 to 1.

bits                    an element of the really encoded tensor
counted                 bytes by the histogram of gaps over bytes encoded (1: equal to the byte)
formula                 bits over those expected, header included
formula_without_header  bits over d (1 + q^R / (1 - q^R)) (w + s), R = 2^s - 1 for strides, 2^s for runs of zeros
of_runs                 bits over the same with R = 2^s in any case

Lines of format `chosen` give the smallest of those that a mapping unit reads (dense, direct, strides), how many times
smaller than dense it is, and its bytes over the least of all formats (runs of zeros and compressed rows are peers:
the former reach one position further, which saves up to 1% at some densities); for `chosen/G`, whole groups of
G are drawn, and formats with and without groups tried.
"""

from __future__ import annotations

import argparse
import json
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from meshloom.analysis.sparse.smallest_encoding import smallest
from meshloom.formats.sparse.encode import decode, encode
from meshloom.formats.sparse.fibers import Fibers
from meshloom.formats.sparse.index_formats import DIRECT, Format, Kind, candidates, csr, run_length, stride
from meshloom.formats.sparse.sizes import encoded_bytes, expected_bits, gap_histogram
from numpy.typing import NDArray

DENSITIES = (0.01, 0.02, 0.03, 0.05, 0.075, 0.1, 0.14, 0.2, 0.24, 0.33, 0.5, 0.667, 0.8, 0.875, 0.95, 1.0)
WIDTH = 8


def draw(rows: int, length: int, density: float, group: int = 1) -> NDArray[np.int8]:
    """Random weights, zero in groups of neighbours."""
    generator = np.random.default_rng(0)
    mask = np.repeat(generator.random((rows, -(-length // group))) < density, group, axis=1)[:, :length]
    weights: NDArray[np.int8] = generator.integers(1, 127, (rows, length)).astype(np.int8) * mask
    return weights


def line_of(weights: NDArray[np.int8], format: Format, density: float) -> dict[str, Any]:
    """Measured, counted and expected size in one format."""
    encoded = encode(weights, format)
    assert np.array_equal(decode(encoded), weights)
    bits = encoded.nbytes * 8 / weights.size
    real = np.count_nonzero(weights) / weights.size
    line = {
        "format": str(format),
        "density": density,
        "bits": round(bits, 4),
        "smaller_than_dense": round(WIDTH / bits, 3),
        "counted": encoded_bytes(gap_histogram(weights != 0, format.group), format, 1) / encoded.nbytes,
        "formula": round(bits / expected_bits(format, real, WIDTH, weights.shape[1]), 4),
    }
    if format.kind in (Kind.STRIDE, Kind.RUN_LENGTH):
        line["formula_without_header"] = round(bits / expected_bits(format, real, WIDTH), 4)
        line["of_runs"] = round(bits / expected_bits(run_length(format.bits), real, WIDTH), 4)
    return line


def main() -> None:
    """Print the lines; draw the picture where it is asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=512)
    parser.add_argument("--length", type=int, default=4096)
    parser.add_argument("--group", type=int, default=16)
    parser.add_argument("--picture", type=Path)
    options = parser.parse_args()
    formats = [DIRECT, *(stride(bits) for bits in range(2, 9)), run_length(4), run_length(5), csr(16)]
    curves: dict[str, list[float]] = {}
    for density in DENSITIES:
        weights = draw(options.rows, options.length, density)
        for format in formats:
            line = line_of(weights, format, density)
            curves.setdefault(str(format), []).append(line["bits"])
            print(json.dumps(line), flush=True)
        choice = smallest(weights, Fibers(weights.shape))
        peers = [*candidates(), *(run_length(bits) for bits in range(2, 9)), csr(16)]
        least = smallest(weights, Fibers(weights.shape), peers)
        over = {"least": str(least.format or "dense"), "over_least": round(choice.nbytes / least.nbytes, 4)}
        print(json.dumps(_chosen("chosen", density, choice.format, choice.ratio) | over), flush=True)
        grouped = draw(options.rows, options.length, density, options.group)
        choice = smallest(grouped, Fibers(grouped.shape), candidates((1, options.group)))
        print(json.dumps(_chosen(f"chosen/{options.group}", density, choice.format, choice.ratio)), flush=True)
    if options.picture is not None:
        _draw(options.picture, curves)


def _chosen(name: str, density: float, format: Format | None, ratio: float) -> dict[str, Any]:
    return {"format": name, "density": density, "is": str(format or "dense"), "smaller_than_dense": round(ratio, 3)}


def _draw(path: Path, curves: dict[str, list[float]]) -> None:
    """Bits an element over the density, dense as a line across."""
    pyplot: Any = import_module("matplotlib.pyplot")
    figure, axes = pyplot.subplots()
    for name, bits in curves.items():
        axes.loglog(DENSITIES, bits, label=name)
    axes.axhline(WIDTH, color="black", linestyle="--", label="dense")
    axes.set_xlabel("density")
    axes.set_ylabel("bits an element")
    axes.legend(fontsize="small")
    figure.savefig(path)


if __name__ == "__main__":
    main()
