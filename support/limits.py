"""
The largest tensor that is taken from a file or computed for one.

A few bytes of a model, of textual IR or of an executable can claim a tensor of any size. Each reader asks here before
it allocates memory for a tensor, so that such a claim is one error and not the end of the machine's memory.
"""

from __future__ import annotations

from collections.abc import Sequence

LARGEST_TENSOR = 1 << 32
"""Bytes of a tensor, or of what is computed to make one."""
MOST_UNROLLED = 1 << 16
"""Steps that one operator of a model becomes, each with operations of its own: the rest stems from claims as well."""
MOST_DIMENSIONS = 64
"""Of a tensor: NumPy has no more, and the interpreter and the emulator hold tensors as its arrays."""


def size_problem(shape: Sequence[int], element_bytes: int) -> str | None:
    """What is wrong with a tensor of this shape and of elements of so many bytes, as a sentence; None: nothing."""
    if len(shape) > MOST_DIMENSIONS:
        return f"a tensor has {len(shape)} dimensions, at most {MOST_DIMENSIONS} are supported"
    nbytes = element_bytes
    for size in shape:
        # A size of 0 counts as 1: the other sizes of an empty tensor must be sizes of some tensor all the same.
        nbytes *= max(int(size), 1)
    if nbytes <= LARGEST_TENSOR:
        return None
    sizes = "x".join(str(size) for size in shape) or "one element"
    return f"a tensor of {sizes} elements takes {nbytes:,} bytes, at most {LARGEST_TENSOR:,} are supported"
