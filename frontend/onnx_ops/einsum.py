"""Einstein summation by transpositions, batched matrix products and sums."""

from __future__ import annotations

import math
import string
from collections.abc import Sequence

from ..builder import Builder
from ..tensors import NodeError, Tensor


def einsum(b: Builder, equation: str, operands: Sequence[Tensor]) -> Tensor:
    """The value of an equation; operands are contracted from left to right. Raises NodeError for bad equations."""
    terms, output = _parse(equation.replace(" ", ""), operands)
    values = [_take_diagonals(b, labels, x) for labels, x in zip(terms, operands, strict=True)]
    labels, result = values[0]
    for position, (other_labels, other) in enumerate(values[1:], 2):
        later = set(output).union(*(one for one, _ in values[position:]))
        labels, result = _contract(b, labels, result, other_labels, other, later)
    gone = [axis for axis, label in enumerate(labels) if label not in output]
    result = b.reduce("sum", result, gone, keepdims=False)
    labels = [label for label in labels if label in output]
    return b.transpose(result, [labels.index(label) for label in output])


def _parse(equation: str, operands: Sequence[Tensor]) -> tuple[list[str], str]:
    """The labels of each operand and of the output; every ellipsis is replaced by upper-case or unused letters."""
    left, arrow, right = equation.partition("->")
    terms = left.split(",")
    if len(terms) != len(operands):
        raise NodeError(f"equation {equation!r} has {len(terms)} terms for {len(operands)} operands")
    free = [c for c in string.ascii_letters if c not in equation]
    widths = [x.rank - len(t.replace("...", "")) for t, x in zip(terms, operands, strict=True) if "..." in t]
    dots = "".join(free[: max(widths, default=0)])
    spelt: list[str] = []
    for term, x in zip(terms, operands, strict=True):
        width = x.rank - len(term.replace("...", ""))
        term = term.replace("...", dots[len(dots) - width :] if width else "")
        if len(term) != x.rank:
            raise NodeError(f"term {term!r} of equation {equation!r} does not fit rank {x.rank}")
        spelt.append(term)
    if arrow:
        return spelt, right.replace("...", dots)
    every = "".join(spelt)
    once = sorted(c for c in set(every) if every.count(c) == 1 and c not in dots)
    return spelt, dots + "".join(once)


def _take_diagonals(b: Builder, labels: str, x: Tensor) -> tuple[list[str], Tensor]:
    """The operand reduced to the diagonal of every repeated label, and its labels, which are then unique."""
    names = list(labels)
    while len(set(names)) < len(names):
        first = next(axis for axis, name in enumerate(names) if names.count(name) > 1)
        second = names.index(names[first], first + 1)
        order = [axis for axis in range(x.rank) if axis not in (first, second)]
        x = b.transpose(x, [*order, first, second])
        size, rest = x.shape[-1], x.shape[:-2]
        flat = b.reshape(x, [*rest, size * size])
        starts, sizes, steps = [0] * flat.rank, [*rest, size], [*[1] * len(rest), size + 1]
        x = b.slice(flat, starts, sizes, steps)
        names = [*(names[axis] for axis in order), names[first]]
    return names, x


def _contract(
    b: Builder, left: list[str], x: Tensor, right: list[str], y: Tensor, later: set[str]
) -> tuple[list[str], Tensor]:
    """
    One product of two operands and its labels. Of the labels of both operands, those that are needed later are batch
    dimensions, and the others are summed.
    """
    x, left = _sum_out(b, x, left, later | set(right))
    y, right = _sum_out(b, y, right, later | set(left))
    sizes: dict[str, int] = {}
    for labels, one in ((left, x), (right, y)):
        for label, size in zip(labels, one.shape, strict=True):
            sizes[label] = sizes.get(label, 1) if size == 1 else size
    x = b.broadcast(x, [sizes[label] for label in left])
    y = b.broadcast(y, [sizes[label] for label in right])
    batch = [label for label in left if label in right and label in later]
    inner = [label for label in left if label in right and label not in later]
    rows = [label for label in left if label not in right]
    columns = [label for label in right if label not in left]

    def count(labels: list[str]) -> int:
        return math.prod(sizes[label] for label in labels)

    x = b.transpose(x, [left.index(label) for label in (*batch, *rows, *inner)])
    y = b.transpose(y, [right.index(label) for label in (*batch, *inner, *columns)])
    x = b.reshape(x, [count(batch), count(rows), count(inner)])
    y = b.reshape(y, [count(batch), count(inner), count(columns)])
    # Sums of narrow integers are wider; the cast wraps them as sums of their own type.
    result = b.cast(b.matmul(x, y), x.dtype) if inner else b.mul(x, y)
    labels = [*batch, *rows, *columns]
    return labels, b.reshape(result, [sizes[label] for label in labels])


def _sum_out(b: Builder, x: Tensor, labels: list[str], keep: set[str]) -> tuple[Tensor, list[str]]:
    gone = [axis for axis, label in enumerate(labels) if label not in keep]
    return b.reduce("sum", x, gone, keepdims=False), [label for label in labels if label in keep]
