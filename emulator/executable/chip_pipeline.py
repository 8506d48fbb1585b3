"""
Networks on several equal chips: one executable for each chip, and the tensors that chips pass to each other.

Each chip has its own memory and its own link to the host. A tensor for a later chip is copied to host memory, from
where the later chip reads it: it stays in place there, so the cost is that of both links. Alternatively it remains in
the DRAM of its chip (an output without a host address), and each reader copies it from there: once over both links,
while the chip that has it starts no further input. Chips run concurrently, each on another input of the network.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from ...chips.chip import Chip
from ...support.errors import InputError
from .executable import Executable, TensorInfo

NETWORK = -1
"""Stands for the network's inputs where the number of a chip is expected."""


@dataclass(frozen=True)
class Feed:
    """The source of a tensor."""

    chip: int
    """Number of the chip with this output, or `NETWORK`."""
    name: str


@dataclass(frozen=True)
class ChipPipeline:
    """A network in stages, each on its own chip."""

    chips: tuple[Executable, ...]
    """The executables in a topological order."""
    feeds: tuple[dict[str, Feed], ...]
    """The sources of each chip's inputs, by name."""
    inputs: tuple[str, ...]
    """The network's inputs; each is read by a chip."""
    outputs: tuple[tuple[str, int], ...]
    """The network's outputs: name, and number of the chip with an output of this name."""

    @property
    def chip(self) -> Chip:
        """The chip description, which is the same for all chips."""
        return self.chips[0].chip

    def input_tensors(self) -> list[TensorInfo]:
        """The network's inputs with their names in the network, as tensors of the first chip that reads each."""
        found: dict[str, TensorInfo] = {}
        for exe, feeds in zip(self.chips, self.feeds, strict=True):
            for info in exe.inputs:
                if (feed := feeds[info.name]).chip == NETWORK:
                    found.setdefault(feed.name, replace(info, name=feed.name))
        return [found[name] for name in self.inputs]

    def stays(self, feed: Feed) -> bool:
        """Whether a tensor remains in the memory of the chip that computes it."""
        return feed.chip != NETWORK and output_of(self.chips[feed.chip], feed.name).host_address < 0

    def output_tensors(self) -> list[TensorInfo]:
        """The network's outputs, as tensors of the chips that compute them."""
        return [output_of(self.chips[chip], name) for name, chip in self.outputs]


def output_of(exe: Executable, name: str) -> TensorInfo:
    """The output of this name. Raises KeyError if there is none."""
    for info in exe.outputs:
        if info.name == name:
            return info
    raise KeyError(name)


def check_chip_pipeline(pipeline: ChipPipeline, location: str) -> None:
    """Raises InputError, naming `location`, if the feeds do not match the chips."""

    def wrong(what: str) -> InputError:
        return InputError(f"{location} is damaged: {what}")

    if not pipeline.chips or len(pipeline.feeds) != len(pipeline.chips):
        raise wrong("it has no chips, or a chip has no description of its inputs")
    read: set[str] = set()
    for number, (exe, feeds) in enumerate(zip(pipeline.chips, pipeline.feeds, strict=True)):
        if exe.chip != pipeline.chip:
            raise wrong(f"chip {number} differs from chip 0")
        if set(feeds) != {info.name for info in exe.inputs}:
            raise wrong(f"inputs of chip {number} have no source")
        for info in exe.inputs:
            feed = feeds[info.name]
            if feed.chip == NETWORK:
                read.add(feed.name)
                continue
            if not 0 <= feed.chip < number:
                raise wrong(f"input '{info.name}' of chip {number} does not come from an earlier chip")
            source = _output(pipeline, feed.chip, feed.name)
            if source is None or (source.dtype, source.nbytes) != (info.dtype, info.nbytes):
                raise wrong(f"input '{info.name}' of chip {number} does not match the output of chip {feed.chip}")
    if len(set(pipeline.inputs)) != len(pipeline.inputs) or read != set(pipeline.inputs):
        raise wrong("the network's inputs are not those that its chips read")
    names = [name for name, _ in pipeline.outputs]
    if len(set(names)) != len(names):
        raise wrong("two outputs have the same name")
    for name, chip in pipeline.outputs:
        found = _output(pipeline, chip, name)
        if found is None:
            raise wrong(f"chip {chip} has no output '{name}'")
        if found.host_address < 0:
            raise wrong(f"output '{name}' stays in the memory of chip {chip}")
    _check_input_shapes(pipeline, location)


def _output(pipeline: ChipPipeline, chip: int, name: str) -> TensorInfo | None:
    try:
        return output_of(pipeline.chips[chip], name) if 0 <= chip < len(pipeline.chips) else None
    except KeyError:
        return None


def _check_input_shapes(pipeline: ChipPipeline, location: str) -> None:
    first = dict(zip(pipeline.inputs, pipeline.input_tensors(), strict=True))
    for exe, feeds in zip(pipeline.chips, pipeline.feeds, strict=True):
        for info in exe.inputs:
            feed = feeds[info.name]
            if feed.chip != NETWORK:
                continue
            known = first[feed.name]
            if (known.dtype, tuple(known.shape)) != (info.dtype, tuple(info.shape)):
                raise InputError(f"{location} is damaged: chips read input '{feed.name}' in different shapes or types")
