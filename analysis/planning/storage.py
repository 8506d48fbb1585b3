"""Where the values of a network live: in DRAM, or spread over the cores as the tiles that computed them."""

from __future__ import annotations

from dataclasses import dataclass

from ...dialects.dataflow.tiling import Box


@dataclass(frozen=True)
class Distribution:
    """A value in the cores' memories: each core holds the dense row-major tile `boxes[core]`, all at one address."""

    boxes: dict[int, Box]
    tile_bytes: int
    """Bytes of the largest tile."""

    def reshaped(self, old: tuple[int, ...], new: tuple[int, ...]) -> Distribution | None:
        """The same memory seen in another shape that differs in dimensions of size 1 only; None for other shapes."""
        kept = [dim for dim, size in enumerate(old) if size != 1]
        if [old[dim] for dim in kept] != [size for size in new if size != 1]:
            return None
        boxes: dict[int, Box] = {}
        for core, box in self.boxes.items():
            empty = box.volume == 0
            source = iter(kept)
            picked = [next(source) if size != 1 else -1 for size in new]
            offsets = tuple(box.offsets[dim] if dim >= 0 else 0 for dim in picked)
            sizes = tuple(0 if empty else (box.sizes[dim] if dim >= 0 else 1) for dim in picked)
            boxes[core] = Box(offsets, sizes)
        return Distribution(boxes, self.tile_bytes)


def contains(outer: Box, inner: Box) -> bool:
    """Whether all positions of `inner` lie in `outer` (an empty box lies in any)."""
    if inner.volume == 0:
        return True
    return all(
        low <= offset and offset + size <= low + extent
        for low, extent, offset, size in zip(outer.offsets, outer.sizes, inner.offsets, inner.sizes, strict=True)
    )
