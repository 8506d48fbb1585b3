"""Device memory on the command line: options of `meshloom-compile`, and the table of memory saving."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..lowering.offload.compile_launches import Budget, LaunchCompilation

ROWS = 24
"""Rows of the table on the terminal; the report has all of them."""


def add_memory_options(parser: argparse.ArgumentParser) -> None:
    """Add `--budget`, `--save`, `--compress-to`, `--launch-bytes` and `--offload`."""
    group = parser.add_argument_group("networks that need more device memory than the chip has")
    group.add_argument(
        "--budget",
        metavar="M",
        help="largest use of DRAM: in bytes; up to 1, as a share of the bytes that the network needs without a "
        "budget; 'chip': the DRAM of the chip",
    )
    group.add_argument(
        "--save",
        metavar="LIST",
        help="kinds of offloading to use: swap, compress, recompute; compress changes values (default: swap,recompute)",
    )
    group.add_argument(
        "--compress-to", metavar="FORMAT", help="format of compressed tensors: f16 (default), bf16, f24, f8e4m3, f8e5m2"
    )
    group.add_argument(
        "--launch-bytes", metavar="N", help="largest DRAM of one launch, in bytes (default: chosen for the network)"
    )
    group.add_argument(
        "--offload",
        metavar="THRESHOLDS",
        help="offload by thresholds: 'th-tts=NS,th-size=BYTES,n=COUNT' selects the n largest inputs whose slack "
        "and size exceed the thresholds; with --budget, repeated until the network fits (default: selection "
        "for the least time)",
    )


def read_memory_options(options: argparse.Namespace) -> Budget | None:
    """The budget; None if none is given. Raises InputError for invalid values."""
    if all(getattr(options, name) is None for name in ("budget", "offload", "save", "compress_to", "launch_bytes")):
        return None
    from ..lowering.offload.budget_options import check_saves_memory, parse_budget

    if options.budget is None and options.offload is None:
        check_saves_memory(options.save, options.compress_to, options.launch_bytes)
        return None
    return parse_budget(options.budget, options.save, options.compress_to, options.launch_bytes, options.offload)


def saving_table(saving: LaunchCompilation) -> str:
    """Bytes needed and available, and which tensors are moved when (planned cycles)."""
    from ..lowering.offload.figures import moved, saving_figures

    figures = saving_figures(saving)
    actions = moved(saving)
    text = (
        f"  device memory: {figures['unsaved_bytes']:,} bytes needed, {figures['budget_bytes']:,} available, "
        f"{figures['reserved_bytes']:,} reserved, {figures['peak_bytes']:,} at the peak; "
        f"{figures['launches']} launches, "
        f"{figures['planned_cycles']:,} cycles planned"
    )
    if not actions:
        return text
    rows = [("action", "tensor", "bytes", "from cycle", "to")]
    rows += [(one.purpose, one.name, f"{one.nbytes:,}", f"{one.start:,}", f"{one.end:,}") for one in actions[:ROWS]]
    widths = [max(len(row[column]) for row in rows) for column in range(5)]
    lines = [
        "  " + "  ".join([*(c.ljust(w) for c, w in zip(row[:2], widths[:2], strict=True)),
                           *(c.rjust(w) for c, w in zip(row[2:], widths[2:], strict=True))])
        for row in rows
    ]  # fmt: skip
    if len(actions) > ROWS:
        lines.append(f"  and {len(actions) - ROWS} more")
    return "\n".join([text, *lines])
