"""
Limits on the sizes of tensors that are read from a file or computed for one.

A few bytes of a model, of textual IR or of an executable can declare a tensor of any size. Each reader checks the size
here before it allocates memory, so that such a declaration causes an error instead of exhausting the machine's memory.
"""

from __future__ import annotations

from collections.abc import Sequence

LARGEST_TENSOR = 1 << 32
"""Maximum number of bytes of a tensor, or of the intermediate values from which one is computed."""
MOST_UNROLLED = 1 << 16
"""Maximum number of steps into which one operator of a model is unrolled, each with operations of its own."""
MOST_DIMENSIONS = 64
"""Maximum rank of a tensor: that of NumPy's arrays, in which the interpreter and the emulator keep tensors."""


def size_problem(shape: Sequence[int], element_bytes: int) -> str | None:
    """Why a tensor of this shape, with elements of `element_bytes`, exceeds a limit, as a sentence; else None."""
    if len(shape) > MOST_DIMENSIONS:
        return f"a tensor has {len(shape)} dimensions, at most {MOST_DIMENSIONS} are supported"
    nbytes = element_bytes
    for size in shape:
        # A size of 0 counts as 1: the other sizes of an empty tensor must be within the limit as well.
        nbytes *= max(int(size), 1)
    if nbytes <= LARGEST_TENSOR:
        return None
    sizes = "x".join(str(size) for size in shape) or "one element"
    return f"a tensor of {sizes} elements takes {nbytes:,} bytes, at most {LARGEST_TENSOR:,} are supported"
