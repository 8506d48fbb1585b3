"""Initial contents of an executable's memories: bytes by reference or by value, with their addresses."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from ...emulator.executable.executable import Buffer, as_view
from ...formats.weights import STORE, WeightRef

Space = Literal["dram", "host"]


@dataclass(frozen=True)
class DataSection:
    """A section of the initial contents of DRAM or of the host's memory."""

    space: Space
    address: int
    content: WeightRef | Buffer
    room: int = 0
    """Bytes from `address` on that the section covers, if more than the content has: the rest is zero."""
    inline: bool = False
    """Whether the text of a module holds the bytes, not a reference to them."""

    @property
    def nbytes(self) -> int:
        """Bytes of the content."""
        return self.content.bytes if isinstance(self.content, WeightRef) else as_view(self.content).nbytes

    @property
    def end(self) -> int:
        """One past the last byte of the image that the section covers."""
        return self.address + max(self.room, self.nbytes)

    def load(self) -> NDArray[np.uint8]:
        """The content, read-only, not copied. Raises InputError as `WeightStore.get`."""
        if isinstance(self.content, WeightRef):
            return STORE.get(self.content)
        return np.frombuffer(as_view(self.content), np.uint8)
