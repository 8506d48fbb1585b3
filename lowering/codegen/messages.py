"""
The messages of an exchange as arrays, since an exchange among hundreds of cores has tens of thousands of messages.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...analysis.planning.transfers import Transfers
from ...formats.sparse.nonzero import ALL_NONZERO, Nonzero
from .view import View


class Form(NamedTuple):
    """The form of a message without its addresses: views at address 0 with equal shapes and types."""

    source: View
    target: View
    nonzero: Nonzero = ALL_NONZERO
    """Expected share of its elements that are not zero."""


@dataclass(frozen=True)
class Messages:
    """
    Messages. Each is read at its address of `sources` in the SRAM of its sender, and written to its address of
    `targets` in the SRAM of all its receivers.
    """

    transfers: Transfers
    """The bytes from each sender to each receiver."""
    sources: NDArray[np.int64]
    """[messages] address"""
    targets: NDArray[np.int64]
    """[messages] address"""
    form: NDArray[np.int64]
    """[messages] index into `forms`"""
    forms: tuple[Form, ...]

    def __len__(self) -> int:
        return len(self.transfers)

    @staticmethod
    def of(messages: Sequence[tuple[int, Sequence[int], View, View]]) -> Messages:
        """Messages as (sender, receivers, source, target)."""
        forms: dict[Form, int] = {}
        form = [
            forms.setdefault(Form(source._replace(address=0), target._replace(address=0)), len(forms))
            for *_, source, target in messages
        ]
        return Messages(
            Transfers.of((sender, receivers, source.nbytes) for sender, receivers, source, _ in messages),
            np.array([source.address for *_, source, _ in messages], np.int64),
            np.array([target.address for *_, target in messages], np.int64),
            np.array(form, np.int64),
            tuple(forms),
        )

    @staticmethod
    def joined(parts: Sequence[Messages]) -> Messages:
        """The messages of several exchanges, concatenated."""
        if len(parts) == 1:
            return parts[0]
        before = np.cumsum([0, *(len(part.forms) for part in parts)])
        return Messages(
            Transfers.joined([part.transfers for part in parts]),
            np.concatenate([part.sources for part in parts]),
            np.concatenate([part.targets for part in parts]),
            np.concatenate([part.form + start for part, start in zip(parts, before, strict=False)]),
            tuple(chain.from_iterable(part.forms for part in parts)),
        )

    def by_distance(self, cores: int) -> Messages:
        """
        Order by distance: each sender begins with its nearest neighbour, so that cores with the same work have the same
        program.
        """
        distance = (self.transfers.receivers[self.transfers.first[:-1]] - self.transfers.senders) % cores
        order = np.argsort(distance, kind="stable")
        return replace(
            self,
            transfers=self.transfers.ordered(order),
            sources=self.sources[order],
            targets=self.targets[order],
            form=self.form[order],
        )

    @cached_property
    def written(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """([messages] first byte that is written, [messages] one past the last)"""
        extents = np.array([form.target.extent for form in self.forms], np.int64).reshape(-1, 2)[self.form]
        return self.targets + extents[:, 0], self.targets + extents[:, 1]
