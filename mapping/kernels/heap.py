"""
A binary min-heap of vertices whose keys may change.

`heap` [n] holds the vertices, `position` [n] the index of each in the heap (-1: not in the heap), `key` [n] the keys.
The caller keeps the number of vertices in the heap.
"""

from __future__ import annotations

from ...support.jit import Array, jit


@jit
def heap_up(heap: Array, position: Array, key: Array, vertex: int, at: int) -> None:
    """Sift `vertex` up from position `at`."""
    own = key[vertex]
    while at > 0:
        up = (at - 1) >> 1
        other = heap[up]
        if key[other] <= own:
            break
        heap[at] = other
        position[other] = at
        at = up
    heap[at] = vertex
    position[vertex] = at


@jit
def heap_down(heap: Array, position: Array, key: Array, count: int, vertex: int, at: int) -> None:
    """Sift `vertex` down from position `at`."""
    own = key[vertex]
    low = 2 * at + 1
    while low < count:
        if low + 1 < count and key[heap[low + 1]] < key[heap[low]]:
            low += 1
        other = heap[low]
        if key[other] >= own:
            break
        heap[at] = other
        position[other] = at
        at = low
        low = 2 * at + 1
    heap[at] = vertex
    position[vertex] = at


@jit
def heap_fix(heap: Array, position: Array, key: Array, count: int, vertex: int) -> None:
    """Restore the heap of `count` vertices after the key of `vertex` has changed."""
    at = position[vertex]
    if at > 0 and key[vertex] < key[heap[(at - 1) >> 1]]:
        heap_up(heap, position, key, vertex, at)
    else:
        heap_down(heap, position, key, count, vertex, at)


@jit
def heap_make(heap: Array, position: Array, key: Array, count: int) -> None:
    """Make a heap of the first `count` entries of `heap`."""
    for at in range(count):
        position[heap[at]] = at
    for at in range(count // 2 - 1, -1, -1):
        heap_down(heap, position, key, count, heap[at], at)


@jit
def heap_remove(heap: Array, position: Array, key: Array, count: int, vertex: int) -> int:
    """Remove `vertex` from the heap of `count` vertices. Returns the new count."""
    at = position[vertex]
    position[vertex] = -1
    count -= 1
    last = heap[count]
    if at < count:
        position[last] = at
        heap[at] = last
        heap_fix(heap, position, key, count, last)
    return count
