"""The costs of memory saving: times of copies and of compression, and sizes after compression."""

from __future__ import annotations

from dataclasses import dataclass

from ..cost_graphs.graph import Ints


@dataclass(frozen=True)
class Model:
    """The host link, and the vector unit as a compressor."""

    link: float
    """Bytes per second in each direction; both directions are used concurrently."""
    compress_rate: float = 200e9
    """Bytes (before compression) per second."""
    ratio: int = 2
    """Bytes before compression over those after: 2 for f16, 4 for f8."""

    def copy_ns(self, size: Ints) -> Ints:
        """[c] ns to copy this many bytes, rounded up."""
        return -(-size * 1_000_000_000 // int(self.link))

    def pack_ns(self, size: Ints) -> Ints:
        """[c] ns to compress or decompress tensors of this size, rounded up."""
        return -(-size * 1_000_000_000 // int(self.compress_rate))

    def packed(self, size: Ints) -> Ints:
        """[c] bytes after compression, rounded up."""
        return -(-size // self.ratio)
