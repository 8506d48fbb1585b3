"""Memory over time against sums by hand; figure 4: without control edges nothing is saved."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from meshloom.analysis.offload_steps.memory_profile import memory_profile
from meshloom.dialects.dataflow.entry_function import find_main
from meshloom.dialects.dataflow.tiling import TilingInterface

from .functions import parse

T, D, W = "tensor<8x16xf32>", "tensor<16x16xf32>", "tensor<4x16xf32>"
"""512, 1,024 and 256 bytes."""
STASH = f"!memory.stash<{T}, host>"


@dataclass(frozen=True)
class Simple:
    """100 ns an operation; bytes a nanosecond to and from the host; four to be compressed."""

    link: int = 8

    def compute(self, op: TilingInterface) -> tuple[str, int]:
        return "MPU", 100

    def copy_ns(self, nbytes: int) -> int:
        return nbytes // self.link

    def pack_ns(self, nbytes: int) -> int:
        return nbytes // 4


def figure(leave: str, early: str, middle: str, back: str, late: str) -> str:
    """300 -> 302 -> 304 -> 306 -> 308, 300's tensor read again by 308; 304 and 306 have twice the bytes."""
    return f"""
    func.func @main(%x: {T}) -> {T} {{
      %n300 = dataflow.neg %x : ({T}) -> {T}
      {leave}
      %n302 = dataflow.neg {early} : ({T}) -> {T}
      %n304 = dataflow.concat %n302, %n302 axis 0 : ({T}, {T}) -> {D}
      {middle}
      %n306 = dataflow.slice %n304 starts [0, 0] sizes [8, 16] steps [1, 1] : ({D}) -> {T}
      {back}
      %n308 = dataflow.add %n306, {late} : ({T}, {T}) -> {T}
      func.return %n308 : {T}
    }}
    """


PLAIN = figure("", "%n300", "", "", "%n300")
OUT = f"%s, %gone = memory.swap_out %n300 : {T} to {STASH}"
FIGURE_4 = figure(
    OUT + f"\n%k = memory.await %n300 : {T}", "%k", "", f"%b, %t = memory.swap_in %s : {STASH} to {T}", "%b"
)
WITH_EDGES = figure(
    OUT + f"\n%k = memory.await %n300 after(%gone) : {T}",
    "%k",
    "",
    f"%q = memory.completion %n306 : {T}\n%b, %t = memory.swap_in %s after(%q) : {STASH} to {T}",
    "%b",
)


def test_before() -> None:
    """300 and 302 and 304 lie in memory together, 300 and 304 and 306 too: 2,048 bytes; 308 with 300 and 306: 1,536."""
    profile = memory_profile(find_main(parse(PLAIN)), Simple())
    assert profile.time_ns == 500
    assert profile.times.tolist() == [0, 100, 200, 300, 400, 500]
    assert profile.device.tolist() == [512, 1024, 2048, 2048, 1536, 0]
    assert (profile.peak, profile.host_peak) == (2048, 0)


def test_figure_4_without_control_edges_nothing_is_saved() -> None:
    """300 leaves until 164 and is back from then on, on its way until 228, where 304 runs from 200 on."""
    profile = memory_profile(find_main(parse(FIGURE_4)), Simple())
    assert profile.peak == memory_profile(find_main(parse(PLAIN)), Simple()).peak == 2048
    assert profile.host_peak == 512
    assert profile.device[np.searchsorted(profile.times, 200)] == 512 + 512 + 1024


def test_figure_5_with_control_edges() -> None:
    """302 waits for the copy to the host, the copy back for 306."""
    profile = memory_profile(find_main(parse(WITH_EDGES)), Simple(link=1))
    # 300 until its copy is done, at 612, and until 302 is, at 712; 302 and 304; 304 and 306; 306 and 300; with 308.
    steps = {0: 512, 612: 1024, 712: 1536, 812: 1536, 912: 1024, 1424: 1536, 1524: 0}
    assert dict(zip(profile.times.tolist(), profile.device.tolist(), strict=True)) == steps
    assert profile.peak == 1536


def test_compression_and_what_runs_again() -> None:
    """f16 halves 512 bytes; the vector unit takes 128 ns each way. A chain of two takes its inner result meanwhile."""
    stash = f"!memory.stash<{T}, dram, f16>"
    packed = figure(
        f"%s, %gone = memory.compress %n300 : {T} to {stash}\n%k = memory.await %n300 after(%gone) : {T}",
        "%k",
        "",
        f"%q = memory.completion %n306 : {T}\n%b, %t = memory.decompress %s after(%q) : {stash} to {T}",
        "%b",
    )
    profile = memory_profile(find_main(parse(packed)), Simple())
    assert profile.peak == 256 + 512 + 1024
    assert profile.time_ns == 100 + 128 + 3 * 100 + 128 + 100
    again = figure(
        "",
        "%n300",
        "",
        f"""%b, %t = memory.recompute(%x) : ({T}) -> {T} {{
        ^bb0(%a: {T}):
          %0 = dataflow.neg %a : ({T}) -> {T}
          %1 = dataflow.abs %0 : ({T}) -> {T}
          %2 = dataflow.neg %1 : ({T}) -> {T}
          memory.yield %2 : {T}
        }}""",
        "%b",
    )
    profile = memory_profile(find_main(parse(again)), Simple())
    assert profile.time_ns == 4 * 100 + 300 + 100
    # From 400 on 306, the result of the chain and one more beside it (two results of the chain at a time).
    at = int(np.searchsorted(profile.times, 400))
    assert profile.device[at] == 3 * 512
