"""How a network is cut into subgraphs and fused again: the options of the compile driver, and how they are written."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from ..analysis.subgraphs.data_outputs import AtDataOutputs
from ..analysis.subgraphs.fuse_bidirectional import FuseBidirectional, FuseBidirectionalGrowing
from ..analysis.subgraphs.fuse_doubling import FuseForwardDoubling
from ..analysis.subgraphs.fuse_forward import FuseForward, FuseForwardGrowing
from ..analysis.subgraphs.fuse_grouped import FuseGrouped, FusePairs, GroupBounds, PartSize
from ..analysis.subgraphs.fuse_optimal import FuseOptimal
from ..analysis.subgraphs.fusion import FusionStrategy
from ..analysis.subgraphs.least_cut import AtFewestBytes
from ..analysis.subgraphs.rules import RULES, RuleSettings, make_rule
from ..analysis.subgraphs.split_rule import FirstThatSplits, SplitRule
from ..support.errors import InputError
from .effort import EFFORTS, Effort

LONGEST = 6
"""Subgraphs that the optimal fusion tries as one at most."""
GROUP_TASKS = 64
"""Tasks of a group at most, where no bounds are given."""

FUSIONS: dict[str, Callable[[Sequence[PartSize]], FusionStrategy] | None] = {
    "auto": lambda parts: FuseForwardDoubling(),
    "none": None,
    "grouped": lambda parts: FuseGrouped(tuple(parts), GroupBounds(mapped_nodes=(0, GROUP_TASKS))),
    "pairs": lambda parts: FusePairs(),
    "forward": lambda parts: FuseForward(),
    "bidirectional": lambda parts: FuseBidirectional(),
    "grow": lambda parts: FuseForwardGrowing(),
    "grow-bidirectional": lambda parts: FuseBidirectionalGrowing(),
    "optimal": lambda parts: FuseOptimal(LONGEST),
}
"""Fusion strategies by name, made from the sizes of the subgraphs that are there."""


def find_fusion(name: str) -> str:
    """The name of a fusion strategy. Raises InputError for another one."""
    if name not in FUSIONS:
        raise InputError(f"no fusion strategy is named '{name}': choose from {', '.join(FUSIONS)}")
    return name


ON_FAILURE: tuple[SplitRule, ...] = (AtDataOutputs(), AtFewestBytes(2))
"""The rules that cut what does not compile, where no other is given or that one does not cut."""


@dataclass(frozen=True)
class SubgraphOptions:
    """
    Without `rule`, the network is tried whole. With `split_failures`, what does not compile is cut; otherwise that is
    an error. Nothing here but `jobs` and `cache` may change without the executable changing.
    """

    rule: SplitRule | None = None
    """Cuts the network before anything is tried."""
    split_failures: bool = True
    fuse: str = "auto"
    """One of `FUSIONS`; `auto`: what was split because it failed grows again unless all together gets slower."""
    jobs: int = 1
    """Processes that compile parts side by side."""
    cache: Path | None = None
    """Folder that keeps compiled parts."""
    effort: Effort = EFFORTS["default"]
    """How much is tried for each part."""

    def __post_init__(self) -> None:
        find_fusion(self.fuse)
        if self.jobs < 1:
            raise InputError(f"--jobs must be at least 1, got {self.jobs}")

    @property
    def again(self) -> SplitRule:
        """Cuts what does not compile: by the same rule, then by the others."""
        return FirstThatSplits(ON_FAILURE if self.rule is None else (self.rule, *ON_FAILURE))


def parse_subgraphs(text: str) -> tuple[SplitRule | None, bool]:
    """
    `auto`, `whole`, or rules and their settings: `fewest-bytes,parts=4`, `by-hand,names=conv1,names=conv5`.

    Returns rule and `split_failures`. Raises InputError for unknown rules and settings.
    """
    if text in ("auto", "whole"):
        return None, text == "auto"
    names: list[str] = []
    numbers: dict[str, int] = {}
    operators: list[str] = []
    for item in text.split(","):
        key, given, value = item.strip().partition("=")
        if not given:
            names.append(key)
        elif key == "names":
            operators.append(value)
        elif key in ("parts", "weight-bytes", "macs", "nodes", "at-least", "span") and value.isdecimal():
            numbers[key.replace("-", "_")] = int(value)
        else:
            raise InputError(
                f"--subgraphs: cannot read '{item}'; settings are parts, weight-bytes, macs, nodes, at-least and span "
                f"(numbers) and names"
            )
    if not names:
        raise InputError(f"--subgraphs: give auto, whole, or a rule of {', '.join(RULES)}, got '{text}'")
    return make_rule(tuple(names), RuleSettings(names=tuple(operators), **numbers)), True


def default_jobs() -> int:
    """As many processes as there are processors for this one."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
