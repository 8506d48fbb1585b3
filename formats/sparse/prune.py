"""
Pruning: setting weights (or neurons) to zero, so that an encoding need not store them.

The pruning functions return a mask of the values that are kept; `apply` sets the others to +0.
"""

from __future__ import annotations

from typing import Literal

import numpy as np

from .bits import Array, Ints
from .encode import Mask, counts

Method = Literal["magnitude", "balanced"]
"""How the values to keep are chosen: the largest of the tensor, or the largest of each output neuron."""


def contiguous_groups(count: int, groups: int) -> Ints:
    """The group of each of `count` elements: `groups` contiguous groups, whose sizes differ by at most one."""
    bounds = np.arange(1, groups) * count // max(1, groups)
    return np.searchsorted(bounds, np.arange(count), side="right").astype(np.int64)


def fiber_groups(fibers: int, length: int, size: int) -> Ints:
    """The group of each element of [fibers, length]: groups of `size` neighbours of one fiber (fewer at its end)."""
    per_fiber = -(-length // size)
    return (np.arange(fibers)[:, None] * per_fiber + np.arange(length) // size).astype(np.int64)


def group_pruning(values: Array, groups: Ints, threshold: float, limit: int) -> Mask:
    """
    Claims 11 and 16: a group is deleted when more than `limit` of its values have |x| <= `threshold`.

    `groups`, of the values' shape, is the number of each value's group. In the claims these are M groups of neurons,
    with the third and fourth threshold, and N groups of weights, with the fifth and sixth.
    """
    small = ~counts(values, threshold)
    in_group = np.bincount(groups.reshape(-1), small.reshape(-1))
    return (in_group <= limit)[groups]


def magnitude_pruning(values: Array, density: float) -> Mask:
    """Keep the round(density * size) values of greatest magnitude; among equal ones, the first."""
    keep = round(density * values.size)
    order = np.argsort(-np.abs(values.reshape(-1).astype(np.float64)), kind="stable")
    mask = np.zeros(values.size, np.bool_)
    mask[order[:keep]] = True
    return mask.reshape(values.shape)


def balanced_pruning(fibers: Array, density: float) -> Mask:
    """
    Load-balance-aware pruning: of each fiber ([fibers, length]), keep the values of greatest magnitude. The numbers of
    kept values differ by at most one between fibers, and add up to round(density * size).

    The fibers that keep one more are those whose next value has the greatest magnitude.
    """
    count = len(fibers)
    keep = round(density * fibers.size)
    each, more = divmod(keep, max(1, count))
    magnitudes = np.abs(fibers.astype(np.float64))
    order = np.argsort(-magnitudes, axis=1, kind="stable")
    mask = np.zeros(fibers.shape, np.bool_)
    np.put_along_axis(mask, order[:, :each], True, axis=1)
    if more:
        following = order[:, each]
        neurons = np.argsort(-magnitudes[np.arange(count), following], kind="stable")[:more]
        mask[neurons, following[neurons]] = True
    return mask


def n_m_pruning(fibers: Array, n: int, m: int) -> Mask:
    """Of each `m` neighbours in a fiber ([fibers, length]; fewer at its end), keep the `n` of greatest magnitude."""
    rows, length = fibers.shape
    padded = np.full((rows, -(-length // m) * m), -1.0)
    padded[:, :length] = np.abs(fibers.astype(np.float64))
    blocks = padded.reshape(-1, m)
    order = np.argsort(-blocks, axis=1, kind="stable")
    mask = np.zeros(blocks.shape, np.bool_)
    np.put_along_axis(mask, order[:, :n], True, axis=1)
    return mask.reshape(padded.shape)[:, :length]


def apply(values: Array, mask: Mask) -> Array:
    """The values in the mask, and +0 elsewhere."""
    return np.where(mask, values, values.dtype.type(0))
